"""How well a time budget was used (Timely Machine, sections 4.3 and 5).

Everything is a pure function of runs, which are rows of a suite; a run that was late or failed to
answer is wrong, however right its answer would have been (section 5.2.2).
"""

from collections.abc import Callable, Iterable, Sequence
from math import pi, sin
from statistics import fmean
from typing import Protocol, TypeVar


class Timed(Protocol):
    """What is asked of a run: an attempt at a case under a budget."""

    @property
    def budget(self) -> str:
        """The budget by its name; runs of one name are averaged together."""
        ...

    @property
    def is_on_time(self) -> bool:
        """Whether it came to its end before the deadline."""
        ...

    @property
    def value(self) -> float:
        """How well it was done; of a question, 1 for the right answer and 0 for another."""
        ...

    @property
    def tokens(self) -> int:
        """The tokens that were generated."""
        ...

    @property
    def used_tool(self) -> bool:
        """Whether it called a tool at all, the timer included."""
        ...


T = TypeVar("T", bound=Timed)


def right_in_time(run: Timed) -> float:
    """The value of a run for an accuracy: nothing if it was late (section 5.2.2)."""
    return run.value if run.is_on_time else 0.0


def accuracy(runs: Iterable[Timed]) -> float:
    """The mean of what was right and in time (Table 2, ACC). At least one run."""
    return fmean(right_in_time(run) for run in runs)


def on_time_rate(runs: Iterable[Timed]) -> float:
    """The share of runs that ended before their deadline (Tables 2 and 3). At least one run."""
    return fmean(run.is_on_time for run in runs)


def tool_use_rate(runs: Iterable[Timed]) -> float:
    """The share of runs that called a tool at least once (Table 2). At least one run."""
    return fmean(run.used_tool for run in runs)


def by_budget(runs: Iterable[T]) -> dict[str, list[T]]:
    """The runs of each budget, in the order in which budgets come."""
    groups: dict[str, list[T]] = {}
    for run in runs:
        groups.setdefault(run.budget, []).append(run)
    return groups


def averaged(runs: Iterable[T], measure: Callable[[Sequence[T]], float]) -> float:
    """A measure under each budget, averaged over budgets (section 5.2.2, Table 1)."""
    return fmean(measure(group) for group in by_budget(runs).values())


def length_by_budget(runs: Iterable[T]) -> dict[str, float]:
    """The mean number of generated tokens under each budget (Figure 3)."""
    return {name: fmean(run.tokens for run in group) for name, group in by_budget(runs).items()}


def value_by_budget(runs: Iterable[T]) -> dict[str, float]:
    """The mean value under each budget (Figures 2 and 4)."""
    return {name: fmean(run.value for run in group) for name, group in by_budget(runs).items()}


def utilisation(counted: float, budget: float) -> float:
    """How much of a budget was used, from 0 to 1: U(t) = sin(pi / 2 * min(t / T, 1)) (eq. 10).

    Args:
        counted: The time t that counted, 0 or more, in any unit.
        budget: The budget T, above 0, in the same.
    """
    return sin(pi / 2 * min(counted / budget, 1.0))
