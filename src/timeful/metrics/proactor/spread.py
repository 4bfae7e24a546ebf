"""Means over runs, and how far the Difference may be trusted (equation 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from statistics import fmean, stdev

from timeful.metrics.proactor.turns import relative_difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A mean over runs and its standard deviation, None for a single run."""

    mean: float
    std: float | None
    n: int


def over_runs(values: Sequence[float]) -> Spread:
    """The mean over runs, with the sample's standard deviation, n - 1 below **(chosen)**.

    Raises:
        ValueError: If there is no run.
    """
    if not values:
        raise ValueError("a mean over runs needs at least one run")
    std = stdev(values) if len(values) > 1 else None
    return Spread(mean=fmean(values), std=std, n=len(values))


def difference(ac: Spread, max_ac: Spread) -> Spread | None:
    """Difference from the means over runs, its spread by error propagation (equation 3).

    mu = (M - A) / A and delta = sqrt((dM / A)^2 + (M dA / A^2)^2), as if A and M varied
    independently; they do not, so this is too wide where they move together. It is not the mean
    of the runs' own differences. None where A is 0.
    """
    mean = relative_difference(ac.mean, max_ac.mean)
    if mean is None:
        return None
    if ac.std is None or max_ac.std is None:
        return Spread(mean=mean, std=None, n=ac.n)
    std = hypot(max_ac.std / ac.mean, max_ac.mean * ac.std / ac.mean**2)
    return Spread(mean=mean, std=std, n=ac.n)
