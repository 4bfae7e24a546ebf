"""Pictures of worlds: a few drawings in a box of 100 by 100, from a state in a record.

A world of one's own gets pictures from a function `picture(state) -> Picture | None`, given as an
attribute of the world that is registered.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


def rect(role: Role, x: float, y: float, width: float, height: float) -> Operation:
    """A filled rectangle."""
    return ("rect", role, _short(x), _short(y), _short(width), _short(height))


def box(role: Role, x: float, y: float, width: float, height: float) -> Operation:
    """An outlined rectangle."""
    return ("box", role, _short(x), _short(y), _short(width), _short(height))


def circle(role: Role, x: float, y: float, radius: float) -> Operation:
    """A filled circle around a point."""
    return ("circle", role, _short(x), _short(y), _short(radius))


def line(role: Role, x1: float, y1: float, x2: float, y2: float) -> Operation:
    """A line."""
    return ("line", role, _short(x1), _short(y1), _short(x2), _short(y2))


def label(role: Role, x: float, y: float, size: float, text: str) -> Operation:
    """A text; x and y are the left end of its base line."""
    return ("text", role, _short(x), _short(y), _short(size), text)


def _short(value: float) -> float:
    """A number with at most two digits after the point, so that equal drawings are equal."""
    return round(float(value), 2)
