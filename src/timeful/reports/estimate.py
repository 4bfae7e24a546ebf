"""Estimates of metrics with 95 % bootstrap intervals.

A resample draws episodes with replacement and computes each ratio from the summed columns again;
it does not average ratios (Engagement Process, Appendix C). Where episodes form sets, such as
training seeds, each set is resampled alike and the estimate is the mean over sets: the interval
is about evaluation, and the spread is the standard deviation over sets.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from timeful.metrics.statistics import Estimate, bootstrap_grand_mean
from timeful.reports.metric import Metric, read_column
from timeful.reports.results import Where
from timeful.seeding import child

RESAMPLES = 1_000

Floats = NDArray[np.float64]


class Estimator(Protocol):
    """Computes the metrics of one cell from the rows of its episodes that did not fail."""

    def __call__(
        self, metrics: Sequence[Metric], rows: Sequence[Any], where: Where
    ) -> dict[str, Estimate]:
        """Estimate metrics; a metric that is unknown for these episodes is left out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeBootstrap:
    """The percentile bootstrap over episodes.

    Attributes:
        seed: The seed of the resamples.
        purpose: Names that set these resamples apart from others of the same seed.
        sets: The column that splits episodes into sets; None for a single set.
        resamples: The number of resamples.
    """

    seed: int = 0
    purpose: tuple[str, ...] = ("bootstrap",)
    sets: str | None = None
    resamples: int = RESAMPLES

    def __call__(
        self, metrics: Sequence[Metric], rows: Sequence[Any], where: Where
    ) -> dict[str, Estimate]:
        """Estimate metrics; see `Estimator`."""
        sets = split_sets(rows, self.sets)
        weights: dict[int, Floats] = {}
        samples: list[tuple[Floats, Floats]] = []
        for group in sets:
            n = len(group)
            if n not in weights:
                rng = child(self.seed, *self.purpose, n)
                weights[n] = draw_weights(rng, n, resamples=self.resamples)
            samples.append((sums := read_sums(metrics, group), weights[n] @ sums))
        estimates = {}
        for index, metric in enumerate(metrics):
            pair = slice(2 * index, 2 * index + 2)
            pairs = [(sums.sum(axis=0)[pair, None], draws[:, pair].T) for sums, draws in samples]
            estimate = estimate_sets(metric, pairs, n=len(rows))
            if not np.isnan(estimate.mean):
                estimates[metric.name] = estimate
        return estimates


def estimate_sets(metric: Metric, sets: Sequence[tuple[Floats, Floats]], *, n: int) -> Estimate:
    """Estimate a metric over sets of `n` episodes in all.

    Args:
        metric: The metric.
        sets: Of each set, the sums of the metric's columns: those of its episodes, and those of
            each resample.
        n: The number of episodes.
    """
    values = [float(_ratio(sums, metric)[0]) for sums, _ in sets]
    low = high = math.nan
    if not np.isnan(values).any():
        draws = np.mean([_ratio(resampled, metric) for _, resampled in sets], axis=0)
        low, high = np.nanpercentile(draws, [2.5, 97.5])
    return Estimate(
        mean=fmean(values),
        low=float(low),
        high=float(high),
        n=n,
        clusters=len(sets),
        spread=stdev(values) if len(values) > 1 else None,
    )


def split_sets(rows: Sequence[Any], column: str | None) -> list[list[Any]]:
    """Group rows by a column, in order of appearance; one group if there is no column."""
    sets: dict[object, list[Any]] = {}
    for row in rows:
        sets.setdefault(None if column is None else getattr(row, column), []).append(row)
    return list(sets.values())


def read_sums(metrics: Sequence[Metric], rows: Sequence[Any]) -> Floats:
    """The numerator and the denominator of each metric (columns) for each row."""
    columns = []
    for metric in metrics:
        values = read_column(rows, metric.value)
        is_known = ~np.isnan(values)
        per = is_known.astype(np.float64) if metric.per is None else read_column(rows, metric.per)
        columns += [np.where(is_known, values, 0.0), np.where(is_known, np.nan_to_num(per), 0.0)]
    return np.column_stack(columns)


def draw_weights(rng: np.random.Generator, episodes: int, *, resamples: int = RESAMPLES) -> Floats:
    """How often each episode (columns) is drawn in each resample (rows)."""
    indices = rng.integers(0, episodes, size=(resamples, episodes))
    indices += np.arange(resamples)[:, np.newaxis] * episodes
    counts = np.bincount(indices.ravel(), minlength=resamples * episodes)
    return counts.reshape(resamples, episodes).astype(np.float64)


def _ratio(sums: Floats, metric: Metric) -> Floats:
    """A metric of pairs of sums (rows: numerators, denominators); nan where it divides by 0."""
    numerators, denominators = sums
    ratios = np.full(numerators.shape, np.nan)
    np.divide(numerators, denominators, out=ratios, where=denominators > 0)
    scaled: Floats = metric.scale * ratios
    return scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMeans:
    """The mean over sets, such as repeated runs, with its standard deviation and no interval.

    Attributes:
        sets: The column that splits episodes into sets; a set without a value is left out.
    """

    sets: str

    def __call__(
        self, metrics: Sequence[Metric], rows: Sequence[Any], where: Where
    ) -> dict[str, Estimate]:
        """Estimate metrics; see `Estimator`."""
        sums = [read_sums(metrics, group).sum(axis=0) for group in split_sets(rows, self.sets)]
        estimates = {}
        for index, metric in enumerate(metrics):
            pair = slice(2 * index, 2 * index + 2)
            ratios = [float(_ratio(each[pair, None], metric)[0]) for each in sums]
            values = [ratio for ratio in ratios if not np.isnan(ratio)]
            if values:
                estimates[metric.name] = Estimate(
                    mean=fmean(values),
                    low=None,
                    high=None,
                    n=len(values),
                    clusters=len(values),
                    spread=stdev(values) if len(values) > 1 else None,
                )
        return estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBootstrap:
    """The two-stage bootstrap: over clusters, such as cases, and over repetitions within them.

    The value of a repetition is the mean over its episodes, so that all its settings count alike.
    A single cluster is resampled over its repetitions.

    Attributes:
        cluster: The column whose values are the clusters.
        repetition: The column whose values are the repetitions of a cluster.
        seed: The seed of the resamples.
        purpose: Names that set these resamples apart from others of the same seed; the name of
            the metric is added.
        resamples: The number of resamples.
    """

    cluster: str
    repetition: str
    seed: int = 0
    purpose: tuple[str, ...] = ("bootstrap",)
    resamples: int = 2 * RESAMPLES

    def __call__(
        self, metrics: Sequence[Metric], rows: Sequence[Any], where: Where
    ) -> dict[str, Estimate]:
        """Estimate metrics; see `Estimator`. Metrics are means, without a denominator."""
        estimates = {}
        for metric in metrics:
            values = metric.scale * read_column(rows, metric.value)
            clusters: dict[object, dict[object, list[float]]] = {}
            for row, value in zip(rows, values, strict=True):
                if not np.isnan(value):
                    repetitions = clusters.setdefault(getattr(row, self.cluster), {})
                    repetitions.setdefault(getattr(row, self.repetition), []).append(float(value))
            groups = [[fmean(v) for v in repetitions.values()] for repetitions in clusters.values()]
            if groups:
                if len(groups) == 1:
                    groups = [[value] for value in groups[0]]
                rng = child(self.seed, *self.purpose, metric.name)
                estimates[metric.name] = bootstrap_grand_mean(
                    [groups], rng=rng, resamples=self.resamples
                )
        return estimates
