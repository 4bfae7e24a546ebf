"""Bootstrap intervals of ratios of aggregate counts, as the paper takes them (Appendix C).

A resample draws episodes with replacement and computes the ratio from their summed counts
again; it does not average ratios. Each training seed's episodes are resampled alike, and a
resample's number is the mean over the seeds. So the interval tells how sure evaluation is about
these policies, and not how much policies differ from seed to seed: that is the spread.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from timeful.suites.engagement.comparison import Metric

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


def resample(counts: Counts, weights: NDArray[np.float64]) -> Counts:
    """The sum of each column in each resample."""
    sums = weights @ np.column_stack(list(counts.values()))
    return {name: sums[:, place] for place, name in enumerate(counts)}


def value(metric: Metric, counts: Counts) -> float:
    """A metric of some episodes; nan where it divides by nothing."""
    episodes = len(counts[metric.count])
    sums = {name: np.array([column.sum()]) for name, column in counts.items()}
    return float(_of_sums(metric, sums, episodes)[0])


def interval(
    metric: Metric, by_seed: Sequence[Counts], episodes: int, *, level: float = 0.95
) -> tuple[float, float]:
    """The percentile interval of the mean over seeds of a metric.

    Args:
        metric: What to compute.
        by_seed: The resampled sums of each seed, from `resample`.
        episodes: How many episodes each seed was evaluated in.
        level: The share of resamples that the interval holds, between 0 and 1.
    """
    means = np.mean([_of_sums(metric, sums, episodes) for sums in by_seed], axis=0)
    tail = 100 * (1 - level) / 2
    # Resamples without anything to divide by say nothing.
    low, high = np.nanpercentile(means, [tail, 100 - tail])
    return float(low), float(high)


def _of_sums(metric: Metric, sums: Counts, episodes: int) -> NDArray[np.float64]:
    part = sums[metric.count]
    whole = np.full(part.shape, float(episodes)) if metric.of is None else sums[metric.of]
    nothing = np.full(part.shape, np.nan)
    ratios: NDArray[np.float64] = np.divide(part, whole, out=nothing, where=whole > 0)
    return metric.scale * ratios
