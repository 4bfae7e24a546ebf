"""Numbers of many episodes: means with their intervals, and as rows of results."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from timeful.reports.results import ResultRow
from timeful.suites.engagement.comparison import Metric, Published
from timeful.suites.engagement.intervals import Counts, interval, value


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of ours; `by_set` holds that of each set of episodes, of which there is one."""

    metric: Metric
    by_set: tuple[float, ...]
    low: float
    high: float

    @property
    def mean(self) -> float:
        """The mean over sets; nan if there was nothing to count in one of them."""
        return fmean(self.by_set)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return (self.high - self.low) / 2

    @property
    def spread(self) -> float | None:
        """The standard deviation over sets; None for a single one."""
        return stdev(self.by_set) if len(self.by_set) > 1 else None

    @property
    def is_known(self) -> bool:
        """Whether there was anything to count."""
        return not np.isnan(self.mean)


def make_number(metric: Metric, sets: Sequence[Counts], drawn: Sequence[Counts]) -> Number:
    """Sum up a metric.

    Args:
        metric: Which one; a mean over episodes takes sets of equally many.
        sets: The counts of each set, one value an episode.
        drawn: The sums of each set's resamples, from `resample`.
    """
    # A share of nothing has no interval either.
    is_known = metric.of is None or all(counts[metric.of].any() for counts in sets)
    episodes = len(sets[0][metric.count])
    low, high = interval(metric, drawn, episodes) if is_known else (np.nan, np.nan)
    by_set = tuple(value(metric, counts) for counts in sets)
    return Number(metric=metric, by_set=by_set, low=low, high=high)


def result_row(
    number: Number,
    published: Published | None,
    *,
    experiment: str,
    setting: str,
    method: str,
    episodes: int,
    stand_in: bool,
) -> ResultRow:
    """A number as a row of the shape that all suites share."""
    known = number.is_known
    return ResultRow(
        suite="engagement",
        experiment=experiment,
        setting=setting,
        method=method,
        metric=number.metric.name,
        value=number.mean if known else None,
        low=number.low if known else None,
        high=number.high if known else None,
        n=episodes,
        published=published.value if published else None,
        source=published.source if published else None,
        stand_in=stand_in,
        spread=number.spread if known else None,
    )
