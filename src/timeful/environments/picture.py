"""Pictures of worlds: a few drawings in a box of 100 by 100, from a state in a record.

A world that is registered by name has pictures if it has an attribute `picture`: a function from
the state of its view to a Picture, or to None.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from textwrap import wrap
from typing import Any, Literal

Role = Literal["ink", "quiet", "good", "bad", "own", "other", "paper"]
"""What a drawing stands for; the page chooses its colour."""

Operation = tuple[str | float, ...]

SIZE = 100.0


@dataclass(frozen=True, slots=True)
class Picture:
    """Drawings in their order, later ones above earlier ones; y grows downwards."""

    operations: tuple[Operation, ...]


Draw = Callable[[Mapping[str, Any]], Picture | None]
"""Draws a state; None where it cannot."""


@lru_cache(maxsize=16_384)  # most drawings are those of the frame before
def rect(role: Role, x: float, y: float, width: float, height: float) -> Operation:
    """A filled rectangle."""
    return ("rect", role, _short(x), _short(y), _short(width), _short(height))


@lru_cache(maxsize=16_384)
def box(role: Role, x: float, y: float, width: float, height: float) -> Operation:
    """An outlined rectangle."""
    return ("box", role, _short(x), _short(y), _short(width), _short(height))


@lru_cache(maxsize=16_384)
def circle(role: Role, x: float, y: float, radius: float) -> Operation:
    """A filled circle around a point."""
    return ("circle", role, _short(x), _short(y), _short(radius))


@lru_cache(maxsize=16_384)
def line(role: Role, x1: float, y1: float, x2: float, y2: float) -> Operation:
    """A line."""
    return ("line", role, _short(x1), _short(y1), _short(x2), _short(y2))


def label(role: Role, x: float, y: float, size: float, text: str) -> Operation:
    """A text; x and y are the left end of its base line."""
    return ("text", role, _short(x), _short(y), _short(size), text)


def _short(value: float) -> float:
    """A number with at most two digits after the point, so that equal drawings are equal."""
    return round(float(value), 2)


def paragraph(
    role: Role, x: float, y: float, size: float, text: str, *, most: int
) -> list[Operation]:
    """A text in lines that fit the box from x to its right edge, at most so many."""
    width = max(int((SIZE - x) / (size * 0.55)), 8)
    step = size * 1.35
    lines = enumerate(_wrapped(text, width, most))
    return [label(role, x, y + index * step, size, part) for index, part in lines if part]


@lru_cache(maxsize=4_096)
def _wrapped(text: str, width: int, most: int) -> list[str]:
    lines = [part for line in text.splitlines() for part in wrap(line, width) or [""]]
    return lines if len(lines) <= most else [*lines[: most - 1], "…"]


def bar(
    role: Role, x: float, y: float, width: float, height: float, share: float
) -> list[Operation]:
    """A bar that is filled by a share from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    return [box("quiet", x, y, width, height), rect(role, x, y, width * share, height)]


def in_seconds(span: object) -> str:
    """An instant or span of a state, in seconds."""
    return f"{span / 1e9:.1f} s" if isinstance(span, int) else "?"
