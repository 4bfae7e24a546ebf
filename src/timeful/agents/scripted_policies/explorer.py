"""Two scripted policies for interactive fiction; both know only the transcript.

The hasty player lists the commands of a new room, types an untried one at random, and moves on.
The careful player keeps a map, lists the commands again after each change, types all harmless
ones, and then walks to the nearest untried command.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from timeful.agents.scripted_policies import Player, call_tool
from timeful.agents.scripted_policies.mapping import careful
from timeful.agents.scripted_policies.reading import (
    Folding,
    ending,
    first_title,
    is_harmful,
    is_way,
    read_commands,
    read_text,
    read_typed,
    title,
    type_in,
)
from timeful.agents.tool_user import Round, Transcript
from timeful.core.units import milliseconds
from timeful.environments.fiction.task import ACTIONS
from timeful.models.pace import Pace
from timeful.models.rules import Answer, Rule

TOKENS = 40
"""The tokens of one move of the hasty player."""

_AGAIN = 0.25
"""The probability to list the commands again, rather than to move on, when all are tried."""


@dataclass(slots=True)
class _Glance:
    """The current room, and the listed and the typed commands of each room."""

    room: str
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    attempts: dict[str, set[str]] = field(default_factory=dict)


def _notice(glance: _Glance, round_: Round) -> None:
    for reply in round_.replies:
        commands, action = read_commands(reply), read_typed(reply)
        if commands is not None:
            glance.lists[glance.room] = commands
        if action:
            glance.attempts.setdefault(glance.room, set()).add(action)
            if is_way(action):
                glance.room = title(read_text(reply))


def hasty() -> Rule:
    """Make a hasty player: a random untried command, else a random exit."""
    glances = Folding(start=lambda opening: _Glance(first_title(opening)), learn=_notice)

    def rule(transcript: Transcript, rng: np.random.Generator) -> Answer:
        end = ending(transcript, TOKENS)
        if end is not None:
            return end
        glance = glances(transcript)
        commands = glance.lists.get(glance.room)
        if commands is None:
            return call_tool(ACTIONS.name, {}, "What now?", TOKENS)
        attempts = glance.attempts.get(glance.room, set())
        ideas = [
            command for command in commands if command not in attempts and not is_harmful(command)
        ]
        if not ideas and rng.random() < _AGAIN:
            return call_tool(ACTIONS.name, {}, "Anything new here?", TOKENS)
        exits = [command for command in commands if is_way(command)]
        ideas = ideas or exits or list(commands) or ["look"]
        return type_in(ideas[int(rng.integers(len(ideas)))], "Quick, the next thing.", TOKENS)

    return rule


PLAYERS: Mapping[str, Player] = {
    player.name: player
    for player in (
        Player(name="hasty", pace=Pace(per_token=milliseconds(10)), make=hasty),
        Player(name="careful", pace=Pace(per_token=milliseconds(25)), make=careful),
    )
}
