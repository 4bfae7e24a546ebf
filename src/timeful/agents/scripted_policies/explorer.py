"""Two offline players for games of words, which stand in for a quick and a thorough model.

Both know of a game only what the transcript says. The hasty one asks what can be done where it
has not been, does any of that at random, and wanders on. The careful one keeps a map, asks again
wherever something may have changed, does all that is harmless, and then goes to the nearest thing
not yet tried.
Their numbers say how time and tools are counted, and nothing about language models.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from timeful.agents.scripted_policies import Player
from timeful.agents.scripted_policies.mapping import careful
from timeful.agents.scripted_policies.reading import (
    Folding,
    call,
    ending,
    first_title,
    is_harmful,
    is_way,
    listed,
    said,
    title,
    type_in,
    typed,
)
from timeful.agents.tool_user import Round, Transcript
from timeful.core.units import milliseconds
from timeful.environments.fiction.task import ACTIONS
from timeful.models.pace import Pace
from timeful.models.rules import Answer, Rule

TOKENS = 40
"""What a move of the hasty player costs."""

_AGAIN = 0.25
"""How likely it is to ask again rather than to wander on, where it has tried all it knows of."""


@dataclass(slots=True)
class _Glance:
    """What the hasty player has before its eyes: where it seems to be, and what it did there."""

    place: str
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tried: dict[str, set[str]] = field(default_factory=dict)


def _notice(glance: _Glance, one: Round) -> None:
    for reply in one.replies:
        found, action = listed(reply), typed(reply)
        if found is not None:
            glance.lists[glance.place] = found
        if action:
            glance.tried.setdefault(glance.place, set()).add(action)
            if is_way(action):
                glance.place = title(said(reply))


def hasty() -> Rule:
    """A new hasty player: something it has not tried here, at random, else a way at random."""
    glances = Folding(start=lambda opening: _Glance(first_title(opening)), learn=_notice)

    def rule(transcript: Transcript, rng: np.random.Generator) -> Answer:
        end = ending(transcript, TOKENS)
        if end is not None:
            return end
        glance = glances(transcript)
        known = glance.lists.get(glance.place)
        if known is None:
            return call(ACTIONS.name, {}, "What now?", TOKENS)
        tried = glance.tried.get(glance.place, set())
        ideas = [one for one in known if one not in tried and not is_harmful(one)]
        if not ideas and rng.random() < _AGAIN:
            return call(ACTIONS.name, {}, "Anything new here?", TOKENS)
        ideas = ideas or [one for one in known if is_way(one)] or list(known) or ["look"]
        return type_in(ideas[int(rng.integers(len(ideas)))], "Quick, the next thing.", TOKENS)

    return rule


PLAYERS: Mapping[str, Player] = {
    player.name: player
    for player in (
        Player(
            name="hasty",
            says="a stand-in for a small, fast model: the first thing at random (no model at all)",
            pace=Pace(per_token=milliseconds(10)),
            make=hasty,
        ),
        Player(
            name="careful",
            says="a stand-in for a large, slow model: maps, asks, tries all (no model at all)",
            pace=Pace(per_token=milliseconds(25)),
            make=careful,
        ),
    )
}
