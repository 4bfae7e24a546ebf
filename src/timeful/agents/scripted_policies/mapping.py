"""The careful player of games of words: a map from the transcript, and nothing left untried."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

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
from timeful.environments.fiction.task import ACTIONS
from timeful.models.rules import Answer, Rule

TOKENS = 200
"""What a move of the careful player costs: it thinks before it types."""

_TAKING = ("take", "get")


@dataclass(slots=True)
class _Place:
    """What is known of a place.

    Attributes:
        listed: What could be done when it last asked.
        asked: What it had achieved by then; -1 if it never asked.
        stale: Whether it did something here since.
        tried: The commands it typed here.
        ways: Where ways led.
    """

    listed: tuple[str, ...] = ()
    asked: int = -1
    stale: bool = False
    tried: set[str] = field(default_factory=set)
    ways: dict[str, str] = field(default_factory=dict)

    def open_deeds(self) -> list[str]:
        """What can be done here and was not yet tried."""
        return [
            one
            for one in self.listed
            if not is_way(one) and not is_harmful(one) and one not in self.tried
        ]

    def open_ways(self) -> list[str]:
        """Ways not yet gone."""
        return [one for one in self.listed if is_way(one) and one not in self.tried]


@dataclass(slots=True)
class _Map:
    """All that the careful player knows."""

    here: str
    places: dict[str, _Place]
    same: dict[str, str] = field(default_factory=dict)
    had: set[str] = field(default_factory=set)
    achieved: int = 0

    @property
    def place(self) -> _Place:
        """Where it is."""
        return self.places[self.here]


def _begin(opening: str) -> _Map:
    """A map of one place."""
    name = first_title(opening)
    return _Map(here=name, places={name: _Place()})


def _learn(known: _Map, one: Round) -> None:
    for reply in one.replies:
        found = listed(reply)
        if found is not None:
            place = known.place
            place.listed, place.asked, place.stale = found, known.achieved, False
        action = typed(reply)
        if action:
            _learn_step(known, action, said(reply))


def _learn_step(known: _Map, action: str, text: str) -> None:
    place = known.place
    place.tried.add(action)
    if action not in place.listed:
        return
    if not is_way(action):
        _learn_deed(known, action)
        return
    name = known.same.get(title(text), title(text))
    there = place.ways.get(action)
    if there is not None and name not in known.places:
        known.same[name] = name = there  # one place in other words
    place.ways[action] = name
    known.places.setdefault(name, _Place())
    known.here = name


def _learn_deed(known: _Map, action: str) -> None:
    """Taking a thing is an achievement only once."""
    place = known.place
    place.stale = True
    verb, _, thing = action.partition(" ")
    if verb not in _TAKING or thing not in known.had:
        known.achieved += 1
    if verb in _TAKING:
        known.had.add(thing)


def _nearest(known: _Map, wanted: Callable[[_Place], object]) -> list[str] | None:
    """The ways to the nearest place that is wanted; empty if it is here, None if there is none."""
    queue = deque([(known.here, list[str]())])
    seen = {known.here}
    while queue:
        name, path = queue.popleft()
        place = known.places[name]
        if wanted(place):
            return path
        for way, there in place.ways.items():
            if there not in seen:
                seen.add(there)
                queue.append((there, [*path, way]))
    return None


def _rank(known: _Map, action: str) -> int:
    """New things are taken first; what was had before, and lies where it was of use, last."""
    verb, _, thing = action.partition(" ")
    return 1 if verb not in _TAKING else 2 if thing in known.had else 0


def _next(known: _Map) -> tuple[str, str]:
    """What to type next and why; an empty command asks for the list, "end" gives up."""
    place = known.place
    if place.asked < 0:
        return "", "I have not been here. What can be done?"
    deeds = place.open_deeds()
    if deeds:
        return min(deeds, key=lambda one: _rank(known, one)), "This may be of use."
    if place.stale:
        return "", "Something has changed here. What can be done now?"
    path = _nearest(known, lambda one: one.open_ways() or one.open_deeds())
    if path is not None:
        return (path or place.open_ways())[0], "There is something I have not tried."
    path = _nearest(known, lambda one: one.asked < known.achieved)
    if path is not None:
        return path[0] if path else "", "With what I have now, more may be possible there."
    return "end", ""


def careful() -> Rule:
    """A new careful player."""
    maps = Folding(start=_begin, learn=_learn)

    def rule(transcript: Transcript, rng: np.random.Generator) -> Answer:
        action, thought = _next(maps(transcript))
        end = ending(transcript, TOKENS, bored=action == "end")
        if end is not None:
            return end
        if not action:
            return call(ACTIONS.name, {}, thought, TOKENS)
        return type_in(action, thought, TOKENS)

    return rule
