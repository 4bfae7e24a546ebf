"""The columns of a pack: texts that are stored once, and numbers as differences.

An export writes the same part of many episodes as one column of values, in the forms of `Column`.
"""

from collections.abc import Sequence
from typing import Any, Literal

from timeful.viewer.schema import LONGEST_LABEL


class Strings:
    """A table of texts, each once."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._places: dict[str, int] = {}
        self._labels = {"": -1}

    def whole(self, text: str) -> int:
        """The position of a text."""
        number = self._places.setdefault(text, len(self.values))
        if number == len(self.values):
            self.values.append(text)
        return number

    def label(self, text: str) -> int:
        """The position of a text that is cut to the length of a label, on one line; -1 for none."""
        if (number := self._labels.get(text)) is not None:
            return number
        head = text
        if len(text) > LONGEST_LABEL or not text.isprintable() or "  " in f" {text} ":
            head = " ".join(text[: 4 * LONGEST_LABEL].split())
            if len(head) > LONGEST_LABEL:
                head = f"{head[: LONGEST_LABEL - 1]}…"
        number = self.whole(head)
        if len(text) <= LONGEST_LABEL:
            self._labels[text] = number
        return number


def delta(values: Sequence[int]) -> list[int]:
    """The first number, then the difference of each from the one before."""
    return [b - a for a, b in zip((0, *values), values, strict=False)]


Column = (
    tuple[Literal["values"], list[Any]]
    | tuple[Literal["scaled"], list[int | None], int]
    | tuple[Literal["same"], Any, int]
    | tuple[Literal["fields"], dict[str, Any], int]
    | tuple[Literal["groups"], list[Any], list[int]]
    | tuple[Literal["lists"], Any, Any]
)
"""A list of JSON values by what they have in common.

    ["values", values]
    ["scaled", numbers, unit]          each value is a number times the unit, or null
    ["same", value, count]             a text, whole number or flag, or null, that many times
    ["fields", {name: column}, count]  objects with the same names
    ["groups", columns, positions]     objects with other names, by names; then their positions
    ["lists", lengths, items]          lists: a column of their lengths, and one of all their items
"""


def to_column(values: Sequence[Any]) -> Column:
    """JSON values as a column; equal or similar values next to each other compress well."""
    types = set(map(type, values))
    if types == {dict}:
        return _to_fields(values)
    if types == {list}:
        items = [item for value in values for item in value]
        return "lists", to_column([len(value) for value in values]), to_column(items)
    if len(types) == 1 and float not in types and all(value == values[0] for value in values):
        return "same", values[0], len(values)
    if types <= {int, type(None)}:
        for unit in _UNITS:
            if not any(value and value % unit for value in values):
                return "scaled", [value and value // unit for value in values], unit
    return "values", list(values)


def _to_fields(values: Sequence[dict[str, Any]]) -> Column:
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, value in enumerate(values):
        groups.setdefault(tuple(value), []).append(position)
    if len(groups) > 1:
        columns = [
            _to_fields([values[position] for position in positions])
            for positions in groups.values()
        ]
        order = [position for positions in groups.values() for position in positions]
        return "groups", columns, delta(order)
    names = next(iter(groups))
    fields = {name: to_column([value[name] for value in values]) for name in names}
    return "fields", fields, len(values)


_UNITS = (1_000_000_000, 1_000_000, 1000)
