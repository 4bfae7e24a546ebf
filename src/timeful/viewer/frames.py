"""Frames: how the world looked, as pictures or as text, from the states in a record."""

from contextlib import suppress
from typing import Any

import msgspec

from timeful.environments.pictures import Drawing, find_drawing, replay_states
from timeful.records.events import Happened, Observed, Turned
from timeful.viewer.reading import RawRecord
from timeful.viewer.schema import Frames

MOST_FRAMES = 5_000
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
    drawing = find_drawing(
        record.settings, (e.what for e in record.entries if isinstance(e, Happened))
    )
    pairs = [
        (line, event, event.state)
        for line, event in zip(record.lines, record.entries, strict=True)
        if isinstance(event, Observed) and event.state is not None
    ]
    frames = Frames()
    if drawing is not None and drawing.prefers_events:
        pairs = _derive(record, drawing)
    elif not pairs:
        pairs = _derive(record, drawing)
        frames.reason = _DERIVED if pairs else _NOTHING
    if len(pairs) > most:
        frames.reason = f"{most} of {len(pairs)} states are shown, evenly spaced."
        last = len(pairs) - 1
        pairs = [pairs[index * last // (most - 1)] for index in range(most)]
    writer = _Writer(frames)
    for line, event, state in pairs:
        frames.line.append(line)
        frames.turn.append(event.turn)
        writer.write(event, state, None if drawing is None else _draw(drawing.draw, state))
    return frames


def _derive(record: RawRecord, drawing: Drawing | None) -> list[tuple[int, Observed, Any]]:
    """The states at each observation: of a game by its actions, else by the world's events."""
    states: dict[int, Any] = {}
    turns = [event for event in record.entries if isinstance(event, Turned)]
    happened = [event for event in record.entries if isinstance(event, Happened)]
    if turns:
        played = replay_states(record.settings, ((turn.action, turn.score) for turn in turns))
        states = dict(zip((turn.turn for turn in turns), played or (), strict=False))
    elif drawing is not None and drawing.fold is not None:
        events = ((event.at, event.what, event.data) for event in happened)
        with suppress(*_ERRORS):  # an invented record keeps the states until then
            for event, state in zip(happened, drawing.fold(record.settings, events), strict=False):
                states[event.number] = state
    return [
        (line, event, states[event.turn])
        for line, event in zip(record.lines, record.entries, strict=True)
        if isinstance(event, Observed) and event.turn in states
    ]


def _draw(draw: Any, state: Any) -> list[tuple[Any, ...]] | None:
    """The operations of a state; None if it is not one that its world can draw."""
    try:
        picture = draw(state)
    except _ERRORS:
        return None
    return None if picture is None else list(picture.operations[:_MOST_OPERATIONS])


class _Writer:
    """Writes frames as changes of the frame before."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._operations: dict[tuple[Any, ...], int] = {}
        self._texts: dict[str, int] = {}
        self._before: list[int] = []
        self._at = self._happened = 0

    def write(self, event: Observed, state: Any, operations: list[tuple[Any, ...]] | None) -> None:
        frames = self._frames
        frames.at.append(event.at - self._at)
        frames.happened.append(event.happened_at - self._happened)
        self._at, self._happened = event.at, event.happened_at
        numbers = [self._number(operation) for operation in operations or ()]
        frames.pictures.append(difference(self._before, numbers))
        self._before = numbers
        frames.text.append(-1 if operations else self._text(state))

    def _number(self, operation: tuple[Any, ...]) -> int:
        number = self._operations.setdefault(operation, len(self._operations))
        if number == len(self._frames.operations):
            self._frames.operations.append(operation)
        return number

    def _text(self, state: Any) -> int:
        """The position of a state as indented JSON."""
        text = msgspec.json.format(msgspec.json.encode(state), indent=1).decode()
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}\n… ({len(text)} characters, cut)"
        index = self._texts.setdefault(text, len(self._texts))
        if index == len(self._frames.strings):
            self._frames.strings.append(text)
        return index


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
