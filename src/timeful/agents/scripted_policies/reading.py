"""Read transcripts of interactive fiction: typed commands, replies, and the remaining time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from timeful.agents.scripted_policies import call_tool, conclude
from timeful.agents.tool_user import Reply, Round, Transcript
from timeful.core.units import in_seconds
from timeful.environments.fiction.task import ACTIONS, LISTED, SCORE, STEP
from timeful.models.rules import Answer

_TIME = re.compile(r"\n?You have (?:spent \S+ seconds|\S+ seconds left)\.(?: .*)?\Z")
_POINTS = re.compile(r"-?\d+")
_RESERVE = 2.5
"""Rounds reserved for the end: one to request the score, one to report it."""

_HARMFUL = frozenset({"drop", "throw", "attack", "break", "eat", "drink", "pour", "quit"})
_UNDOING = frozenset({"lock", "close", "shut", "extinguish", "off", "kill", "burn", "cut"})


Mind = TypeVar("Mind")


@dataclass(slots=True)
class Folding(Generic[Mind]):
    """A fold over the rounds of a transcript.

    The result depends on the rounds alone. A cache of the latest result makes the work of a game
    linear in its rounds, not quadratic.
    """

    start: Callable[[str], Mind]
    learn: Callable[[Mind, Round], None]
    _cache: tuple[str, tuple[Round, ...], Mind] | None = None

    def __call__(self, transcript: Transcript) -> Mind:
        """Fold all rounds of a transcript."""
        opening, rounds = transcript.view.opening, transcript.rounds
        cache, self._cache = self._cache, None
        if cache and cache[0] == opening and rounds[: len(cache[1])] == cache[1]:
            mind, since = cache[2], len(cache[1])
        else:
            mind, since = self.start(opening), 0
        for round_ in rounds[since:]:
            self.learn(mind, round_)
        self._cache = (opening, rounds, mind)
        return mind


def read_typed(reply: Reply) -> str:
    """The typed command; empty if the call was refused or called another tool."""
    call = reply.call
    if call is None or call.name != STEP.name or reply.text.startswith("Error"):
        return ""
    return str(call.arguments.get("action", ""))


def read_text(reply: Reply) -> str:
    """The text of the game, without the line about time."""
    return _TIME.sub("", reply.text).strip()


def read_commands(reply: Reply) -> tuple[str, ...] | None:
    """The commands in a reply; None if the reply contains no list of commands."""
    if reply.call is None or reply.call.name != ACTIONS.name or reply.text.startswith("Error"):
        return None
    text = read_text(reply)
    return tuple(text.removeprefix(LISTED).split("; ")) if text.startswith(LISTED) else ()


def is_way(action: str) -> bool:
    """Whether a command is an exit: a direction, or the name of a room."""
    return " " not in action and action not in ("yes", "no", "look", "wait")


def is_harmful(action: str) -> bool:
    """Whether a command loses things, undoes progress, or endangers the player."""
    return action.split(maxsplit=1)[0] in _HARMFUL | _UNDOING


def title(text: str) -> str:
    """The name of a room: the first line of its description."""
    return next((line.strip().lower() for line in text.splitlines() if line.strip()), "")


def first_title(opening: str) -> str:
    """The name of the first room, from the last paragraph; earlier ones introduce the game."""
    return title(re.split(r"\n\s*\n", opening.strip())[-1])


def type_in(action: str, thought: str, tokens: int) -> Answer:
    """Answer with a thought and a typed command."""
    return call_tool(STEP.name, {"action": action}, thought, tokens)


def ending(transcript: Transcript, tokens: int, *, bored: bool = False) -> Answer | None:
    """The last two answers: request the score, then report score and time.

    Args:
        transcript: The conversation so far.
        tokens: The tokens of an answer.
        bored: Whether all commands are tried.

    Returns:
        None while there is time for another move.
    """
    view, rounds = transcript.view, transcript.rounds
    last = rounds[-1].replies[-1] if rounds and rounds[-1].replies else None
    elapsed = in_seconds(view.elapsed)
    if last is not None and last.call is not None and last.call.name == SCORE.name:
        points = _POINTS.search(last.text)
        return conclude(elapsed, f"<score>{points.group() if points else 0}</score>", tokens)
    if not bored:
        if view.budget is None or not rounds:
            return None
        if in_seconds(view.budget) - elapsed > _RESERVE * elapsed / len(rounds):
            return None
    return call_tool(SCORE.name, {}, "That has to be enough.", tokens)
