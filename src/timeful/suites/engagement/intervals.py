"""Bootstrap intervals of ratios of aggregate counts, as the paper takes them (Appendix C).

A resample draws episodes with replacement and computes the ratio from their summed counts
again; it does not average ratios. Each training seed's episodes are resampled alike, and a
resample's number is the mean over the seeds. So the interval tells how sure evaluation is about
these policies, and not how much policies differ from seed to seed: that is the spread.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from timeful.suites.engagement.evaluated import Metric

RESAMPLES = 1_000

Counts = Mapping[str, NDArray[np.float64]]


def draw_weights(
    rng: np.random.Generator, episodes: int, *, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """How often each episode (columns) was drawn in each resample (rows).

    One such matrix serves every policy that was evaluated in as many episodes.
    """
    drawn = rng.integers(0, episodes, size=(resamples, episodes))
    drawn += np.arange(resamples)[:, np.newaxis] * episodes
    counted = np.bincount(drawn.ravel(), minlength=resamples * episodes)
    return counted.reshape(resamples, episodes).astype(np.float64)


def value(metric: Metric, counts: Counts) -> float:
    """A metric of some episodes; nan where it divides by nothing."""
    if metric.of is None:
        return metric.scale * float(counts[metric.count].mean())
    whole = float(counts[metric.of].sum())
    return metric.scale * float(counts[metric.count].sum()) / whole if whole else float("nan")


def interval(
    metric: Metric, by_seed: Sequence[Counts], weights: NDArray[np.float64], *, level: float = 0.95
) -> tuple[float, float]:
    """The percentile interval of the mean over seeds of a metric.

    Args:
        metric: What to compute.
        by_seed: The episodes of each seed, as many as `weights` has columns.
        weights: From `draw_weights`.
        level: The share of resamples that the interval holds, between 0 and 1.
    """
    means = np.mean([_resampled(metric, counts, weights) for counts in by_seed], axis=0)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return float(low), float(high)


def _resampled(metric: Metric, counts: Counts, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The metric in each resample; a resample without anything to divide by counts as 0."""
    parts = weights @ counts[metric.count]
    if metric.of is None:
        of_all: NDArray[np.float64] = metric.scale * parts / weights.shape[1]
        return of_all
    whole = weights @ counts[metric.of]
    return metric.scale * np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0)
