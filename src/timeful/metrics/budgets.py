"""Metrics of episodes under a time budget (Timely Machine, sections 4.3 and 5)."""

from collections.abc import Iterable
from math import pi, sin
from typing import Protocol, TypeVar


class Timed(Protocol):
    """The row of an episode under a budget."""

    @property
    def budget(self) -> str:
        """The name of the budget."""
        ...

    @property
    def is_on_time(self) -> bool:
        """Whether it ended before the deadline."""
        ...

    @property
    def value(self) -> float:
        """The quality of the result; of a question, 1 for the right answer and 0 for another."""
        ...


T = TypeVar("T", bound=Timed)


def right_in_time(row: Timed) -> float:
    """The value of an episode for an accuracy: 0 if it was late (section 5.2.2)."""
    return row.value if row.is_on_time else 0.0


def by_budget(rows: Iterable[T]) -> dict[str, list[T]]:
    """The rows of each budget, in order of appearance."""
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(row.budget, []).append(row)
    return groups


def utilisation(counted: float, budget: float) -> float:
    """The used share of a budget, from 0 to 1: U(t) = sin(pi / 2 * min(t / T, 1)) (eq. 10).

    Args:
        counted: The time t that counted, 0 or more, in any unit.
        budget: The budget T, above 0, in the same unit.
    """
    return sin(pi / 2 * min(counted / budget, 1.0))
