"""Frames: how the world looked, as pictures or as text, from the states in a record."""

from typing import Any

import msgspec

from timeful.environments.pictures import find_drawing
from timeful.records.events import Observed
from timeful.viewer.reading import RawRecord
from timeful.viewer.schema import Frames

MOST_FRAMES = 5_000
_LONGEST_TEXT = 16 << 10
_MOST_OPERATIONS = 2_000


def pack_frames(record: RawRecord, *, most: int = MOST_FRAMES) -> Frames:
    """Pack the states of a record; of more than `most`, evenly spaced ones are kept."""
    pairs = [
        (line, event)
        for line, event in zip(record.lines, record.entries, strict=True)
        if isinstance(event, Observed) and event.state is not None
    ]
    frames = Frames()
    if not pairs:
        frames.reason = "The states of the world were not kept in this record."
        return frames
    if len(pairs) > most:
        frames.reason = f"{most} of {len(pairs)} states are shown, evenly spaced."
        last = len(pairs) - 1
        pairs = [pairs[index * last // (most - 1)] for index in range(most)]
    draw = find_drawing(record.settings)
    writer = _Writer(frames)
    for line, event in pairs:
        frames.line.append(line)
        frames.turn.append(event.turn)
        writer.write(event, None if draw is None else _draw(draw, event.state))
    return frames


def _draw(draw: Any, state: Any) -> list[tuple[Any, ...]] | None:
    """The operations of a state; None if it is not one that its world can draw."""
    try:
        picture = draw(state)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
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

    def write(self, event: Observed, operations: list[tuple[Any, ...]] | None) -> None:
        frames = self._frames
        frames.at.append(event.at - self._at)
        frames.happened.append(event.happened_at - self._happened)
        self._at, self._happened = event.at, event.happened_at
        numbers = [self._number(operation) for operation in operations or ()]
        frames.pictures.append(difference(self._before, numbers))
        self._before = numbers
        frames.text.append(-1 if operations else self._text(event.state))

    def _number(self, operation: tuple[Any, ...]) -> int:
        number = self._operations.setdefault(operation, len(self._operations))
        if number == len(self._frames.operations):
            self._frames.operations.append(operation)
        return number

    def _text(self, state: Any) -> int:
        """The place of a state as indented JSON."""
        text = msgspec.json.format(msgspec.json.encode(state), indent=1).decode()
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}\n… ({len(text)} characters, cut)"
        place = self._texts.setdefault(text, len(self._texts))
        if place == len(self._frames.strings):
            self._frames.strings.append(text)
        return place


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
