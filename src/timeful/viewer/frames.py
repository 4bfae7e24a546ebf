"""Frames: how the world looked, as pictures or as text, from the states in a record."""

from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from timeful.environments.picture import Draw, Operation
from timeful.environments.pictures import Drawing, find_drawing, replay_states
from timeful.records.events import Happened, Observed, Turned
from timeful.viewer.reading import RawRecord
from timeful.viewer.schema import Frames

MOST_FRAMES = 5_000

T = TypeVar("T")
Seen = tuple[int, Observed]
"""An observation, after its line."""

View = list[Operation] | str
"""A picture, or the text of a state."""

_LONGEST_TEXT = 16 << 10
_MOST_OPERATIONS = 2_000
_ERRORS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What a picture raises for a state that is not one of its world."""

_NOTHING = "The states of the world were not kept in this record."
_DERIVED = "The states were not kept; these follow from the record's actions or events."


def pack_frames(record: RawRecord, *, most: int = MOST_FRAMES) -> Frames:
    """Pack the states of a record; of more than `most`, evenly spaced ones are kept.

    A record without states has those that follow from its events or its actions.
    """
    words = (event.what for event in record.entries if isinstance(event, Happened))
    drawing = find_drawing(record.settings, words)
    observed = [
        (line, event)
        for line, event in zip(record.lines, record.entries, strict=True)
        if isinstance(event, Observed)
    ]
    shown = [pair for pair in observed if pair[1].state is not None]
    frames = Frames()
    if shown and not (drawing is not None and drawing.prefers_events):
        views = {line: _view(drawing, event.state) for line, event in _spread(shown, most)}
        count = len(shown)
    else:
        views = _derive(record, drawing, _spread(observed, most))
        count = len(observed) if views else 0
        frames.reason = "" if shown else _DERIVED if views else _NOTHING
    if count > len(views) > 0:
        frames.reason = f"{len(views)} of {count} states are shown, evenly spaced."
    writer = _Writer(frames)
    for line, event in observed:
        if line in views:
            writer.write(line, event, views[line])
    return frames


def _spread(items: list[Seen], most: int) -> list[Seen]:
    """All items, or `most` of them, evenly spaced."""
    last = len(items) - 1
    return items if last < most else [items[i * last // (most - 1)] for i in range(most)]


def _view(drawing: Drawing | None, state: Any) -> View:
    """A state as operations, or as text where it cannot be drawn."""
    operations = None if drawing is None else _draw(drawing.draw, state)
    return operations or _text(state)


def _derive(record: RawRecord, drawing: Drawing | None, items: list[Seen]) -> dict[int, View]:
    """The views at observations: of a game by its actions, else by the world's events."""
    views: dict[int, View] = {}
    numbers = {event.turn for _, event in items}
    turns = [event for event in record.entries if isinstance(event, Turned)]
    if turns:
        states = replay_states(record.settings, ((turn.action, turn.score) for turn in turns))
        for turn, state in zip(turns, states or (), strict=False):
            if turn.turn in numbers:
                views[turn.turn] = _view(drawing, state)
    elif drawing is not None and drawing.fold is not None:
        happened = [event for event in record.entries if isinstance(event, Happened)]
        events = ((event.at, event.what, event.data) for event in happened)
        with suppress(*_ERRORS):  # an invented record keeps the states until then
            # The state changes in place: it is drawn before the next event.
            for event, state in zip(happened, drawing.fold(record.settings, events), strict=False):
                if event.number in numbers:
                    views[event.number] = _view(drawing, state)
    return {line: views[event.turn] for line, event in items if event.turn in views}


def _draw(draw: Draw, state: Any) -> list[Operation] | None:
    """The operations of a state; None if it is not one that its world can draw."""
    try:
        picture = draw(state)
    except _ERRORS:
        return None
    return None if picture is None else list(picture.operations[:_MOST_OPERATIONS])


def _text(state: Any) -> str:
    """A state as indented JSON."""
    text = msgspec.json.format(msgspec.json.encode(state), indent=1).decode()
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}\n… ({len(text)} characters, cut)"
    return text


class _Writer:
    """Writes frames as changes of the frame before."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._operations: dict[Operation, int] = {}
        self._texts: dict[str, int] = {}
        self._before: list[int] = []
        self._at = self._happened = 0

    def write(self, line: int, event: Observed, view: View) -> None:
        frames = self._frames
        frames.line.append(line)
        frames.turn.append(event.turn)
        frames.at.append(event.at - self._at)
        frames.happened.append(event.happened_at - self._happened)
        self._at, self._happened = event.at, event.happened_at
        operations: list[Operation] = [] if isinstance(view, str) else view
        positions = self._operations
        numbers = [positions.setdefault(item, len(positions)) for item in operations]
        if len(positions) > len(frames.operations):
            frames.operations += list(positions)[len(frames.operations) :]
        frames.pictures.append(difference(self._before, numbers))
        self._before = numbers
        text = _number(self._texts, frames.strings, view) if isinstance(view, str) else -1
        frames.text.append(text)


def _number(numbers: dict[T, int], table: list[T], item: T) -> int:
    """The position of an item in a table, to which it is added once."""
    number = numbers.setdefault(item, len(numbers))
    if number == len(table):
        table.append(item)
    return number


def difference(before: list[int], after: list[int]) -> list[int]:
    """[head, tail, n, ...]: the parts of a list that it shares with the one before, and the rest.

    The new list is the first `head` numbers of the one before, the numbers n, then its last `tail`.
    """
    most = min(len(before), len(after))
    head = 0
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return [head, tail, *after[head : len(after) - tail]]
