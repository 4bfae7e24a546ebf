"""What players of games read from a transcript: what was typed, what came back, the time left."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from timeful.agents.tool_user import Reply, Round, Transcript
from timeful.core.units import in_seconds
from timeful.environments.fiction.task import ACTIONS, LISTED, SCORE, STEP
from timeful.models.rules import Answer

_TIME = re.compile(r"\n?You have (?:spent \S+ seconds|\S+ seconds left)\.(?: .*)?\Z")
_POINTS = re.compile(r"-?\d+")
_RESERVE = 2.5
"""Rounds of time that are kept for the end: one to ask for the score, one to say it."""

_HARMFUL = frozenset({"drop", "throw", "attack", "break", "eat", "drink", "pour", "quit"})
_UNDOING = frozenset({"lock", "close", "shut", "extinguish", "off", "kill", "burn", "cut"})


Mind = TypeVar("Mind")


@dataclass(slots=True)
class Folding(Generic[Mind]):
    """What was learnt from all rounds, one after the other.

    It is a function of the rounds and of nothing else. That the last one is kept, and only what
    came since is learnt anew, spares a game of 400 rounds 80,000 lessons.
    """

    start: Callable[[str], Mind]
    learn: Callable[[Mind, Round], None]
    _kept: tuple[str, tuple[Round, ...], Mind] | None = None

    def __call__(self, transcript: Transcript) -> Mind:
        """What is known by now."""
        opening, rounds = transcript.view.opening, transcript.rounds
        kept, self._kept = self._kept, None
        if kept and kept[0] == opening and rounds[: len(kept[1])] == kept[1]:
            mind, since = kept[2], len(kept[1])
        else:
            mind, since = self.start(opening), 0
        for one in rounds[since:]:
            self.learn(mind, one)
        self._kept = (opening, rounds, mind)
        return mind


def typed(reply: Reply) -> str:
    """The command that was typed; empty if the call was another, or was refused."""
    call = reply.call
    if call is None or call.name != STEP.name or reply.text.startswith("Error"):
        return ""
    return str(call.arguments.get("action", ""))


def said(reply: Reply) -> str:
    """What the game said, without the time."""
    return _TIME.sub("", reply.text).strip()


def listed(reply: Reply) -> tuple[str, ...] | None:
    """The commands that a list names; None if this is no such reply."""
    if reply.call is None or reply.call.name != ACTIONS.name or reply.text.startswith("Error"):
        return None
    text = said(reply)
    return tuple(text.removeprefix(LISTED).split("; ")) if text.startswith(LISTED) else ()


def is_way(action: str) -> bool:
    """Whether a command leads somewhere: a direction, or the name of a place."""
    return " " not in action and action not in ("yes", "no", "look", "wait")


def is_harmful(action: str) -> bool:
    """Whether a command undoes what one has, or worse; neither player does such things for fun."""
    return action.split(maxsplit=1)[0] in _HARMFUL | _UNDOING


def title(text: str) -> str:
    """The name of a place: the first line of its description."""
    return next((line.strip().lower() for line in text.splitlines() if line.strip()), "")


def first_title(opening: str) -> str:
    """The name of the first place: the last paragraph is its, those before are the game's."""
    return title(re.split(r"\n\s*\n", opening.strip())[-1])


def type_in(action: str, thought: str, tokens: int) -> Answer:
    """Type a command, after a thought."""
    return call(STEP.name, {"action": action}, thought, tokens)


def call(tool: str, arguments: dict[str, str], thought: str, tokens: int) -> Answer:
    """Call a tool, after a thought."""
    text = json.dumps({"name": tool, "arguments": arguments})
    return Answer(f"{thought}\n<tool_call>{text}</tool_call>", tokens)


def ending(transcript: Transcript, tokens: int, *, bored: bool = False) -> Answer | None:
    """The last two rounds: ask for the score, then say it and the time; None while there is time.

    Args:
        transcript: What was said so far.
        tokens: What an answer costs.
        bored: Whether there is nothing more to try.
    """
    view, rounds = transcript.view, transcript.rounds
    last = rounds[-1].replies[-1] if rounds and rounds[-1].replies else None
    spent = in_seconds(view.elapsed)
    if last is not None and last.call is not None and last.call.name == SCORE.name:
        found = _POINTS.search(last.text)
        return Answer(
            f"<conclusion>total duration: {spent:.2f} seconds</conclusion>\n"
            f"<score>{found.group() if found else 0}</score>",
            tokens,
        )
    if not bored:
        if view.budget is None or not rounds:
            return None
        if in_seconds(view.budget) - spent > _RESERVE * spent / len(rounds):
            return None
    return call(SCORE.name, {}, "That has to be enough.", tokens)
