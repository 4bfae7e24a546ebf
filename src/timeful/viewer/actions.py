"""The actions that a conversation could use, over time: when each is ready, and its predictions.

An action is ready by the reference in some turns; a turn is open from its end until the next turn
begins. The state of an action is the status of its latest prediction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from timeful.dialogues.opportunity import BadOpportunityError
from timeful.dialogues.prediction import read_prediction
from timeful.records.events import Acted, Entry, Happened

_NAMES: Mapping[str, str] = {"ready_to_trigger": "ready"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyRange:
    """A stretch in which an action is ready; `event` is the position of its turn."""

    name: str
    start: int
    end: int
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """A prediction with another status of an action; it is "absent" once it is left out."""

    name: str
    status: str
    event: int


def read_ranges(events: Sequence[Entry]) -> Iterator[ReadyRange]:
    """The stretches in which the actions of a conversation are ready; none without a reference."""
    reference: dict[str, list[int]] = {}
    opened: dict[int, int] = {}
    closed: dict[int, int] = {}
    last: int | None = None
    for position, event in enumerate(events):
        if not isinstance(event, Happened) or event.what not in ("begins", "turn", "over"):
            continue
        if last is not None:
            closed[last] = event.at
        turn = event.data.get("turn")
        last = turn if event.what == "turn" and isinstance(turn, int) else None
        if last is not None:
            opened[last] = position
        ranges = event.data.get("ready_ranges")
        reference = ranges if isinstance(ranges, dict) else reference
    for name, turns in reference.items():
        known = [turn for turn in turns if turn in closed] if isinstance(turns, list) else []
        for first, last in _runs(known):
            start = opened[first]
            end = closed[last]
            yield ReadyRange(name=name, start=events[start].at, end=end, event=start)


def _runs(turns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each run of successive numbers."""
    starts = [turn for turn in turns if turn - 1 not in turns]
    return zip(starts, (turn for turn in turns if turn + 1 not in turns), strict=True)


def read_changes(events: Sequence[Entry]) -> Iterator[StateChange]:
    """The changes of the state of each action, in the order of the record."""
    states: dict[str, str] = {}
    for position, event in enumerate(events):
        if not isinstance(event, Acted) or not event.legal:
            continue
        try:
            prediction = read_prediction(event.action)
        except BadOpportunityError:
            continue
        current = {o.name: _NAMES.get(o.status, o.status) for o in prediction.opportunities}
        for name in {**states, **current}:
            status = current.get(name, "absent")
            if states.get(name, "absent") != status:
                yield StateChange(name=name, status=status, event=position)
        states = {**dict.fromkeys(states, "absent"), **current}
