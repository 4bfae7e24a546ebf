"""How alike two runs are: of one training (appendix M.2.1), or of one agent.

A run of a training is what a metric was at each step; only the last values and the steps that
both runs have are looked at. Of an agent that listens to the same conversations again, the run's
mean is the last value, and the conversations take the place of the steps **(chosen)**.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isclose, sqrt
from statistics import fmean

Series = Mapping[int, float]
"""A metric by training step; finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatability:
    """How alike two runs are over several metrics (equation 42).

    `n_undefined` counts the metrics without a correlation, left out of that mean **(chosen)**.
    """

    final: float
    trajectory: float | None
    n_undefined: int

    @property
    def combined(self) -> float | None:
        """The mean of the two (equation 42), None if no metric has a correlation."""
        return None if self.trajectory is None else (self.final + self.trajectory) / 2


def final_consistency(first: float, second: float) -> float:
    """1 - |v1 - v2| / (|v1| + |v2|), from 0 to 1 (equation 39).

    Two zeros are equal, 1 **(chosen)**. Values of opposite sign give 0, however small they are.
    """
    size = abs(first) + abs(second)
    return 1 - abs(first - second) / size if size else 1.0


def trajectory_correlation(first: Series, second: Series) -> float | None:
    """Pearson's correlation over the steps that both runs have, from -1 to 1 (equation 41).

    None for fewer than two such steps, or where a run does not change over them by more than
    rounding, 1e-12 of its size: that has no shape, and would correlate as fully as any other.
    """
    steps = sorted(first.keys() & second.keys())
    if len(steps) < 2:
        return None
    xs, ys = ([run[step] for step in steps] for run in (first, second))
    if any(isclose(min(values), max(values), rel_tol=1e-12) for values in (xs, ys)):
        return None
    mean, other_mean = fmean(xs), fmean(ys)
    deviations = [(a - mean, b - other_mean) for a, b in zip(xs, ys, strict=True)]
    spread = sqrt(sum(a * a for a, _ in deviations)) * sqrt(sum(b * b for _, b in deviations))
    if not spread:  # too small for a float
        return None
    return max(-1.0, min(1.0, sum(a * b for a, b in deviations) / spread))


def repeatability(first: Mapping[str, Series], second: Mapping[str, Series]) -> Repeatability:
    """Compare two runs over the metrics that both have (equations 39 to 42).

    Raises:
        ValueError: If they have no metric in common, or one of those has no value.
    """
    names = [name for name in first if name in second]
    if not names or not all(first[name] and second[name] for name in names):
        raise ValueError("two runs are compared by metrics that both have, with values")
    finals = [final_consistency(_last(first[name]), _last(second[name])) for name in names]
    every = [trajectory_correlation(first[name], second[name]) for name in names]
    defined = [value for value in every if value is not None]
    return Repeatability(
        final=fmean(finals),
        trajectory=fmean(defined) if defined else None,
        n_undefined=len(every) - len(defined),
    )


Run = Mapping[str, tuple[float, Series]]
"""A run of an agent: each metric's mean, and what it was in each conversation by its number."""


def between_runs(runs: Sequence[Run]) -> Repeatability | None:
    """Compare the runs of one agent, pair by pair (equations 39 to 42, see above).

    Returns:
        Means over all pairs and metrics; None for fewer than two runs or without a metric that
        both of some pair have.
    """
    finals: list[float] = []
    every: list[float | None] = []
    for first, second in combinations(runs, 2):
        for name in first.keys() & second.keys():
            (mean, series), (second_mean, second_series) = first[name], second[name]
            finals.append(final_consistency(mean, second_mean))
            every.append(trajectory_correlation(series, second_series))
    defined = sorted(value for value in every if value is not None)
    if not finals:
        return None
    return Repeatability(
        final=fmean(sorted(finals)),
        trajectory=fmean(defined) if defined else None,
        n_undefined=len(every) - len(defined),
    )


def _last(series: Series) -> float:
    """The value at the last step (equation 40)."""
    return series[max(series)]
