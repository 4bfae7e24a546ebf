"""Intervals and paired tests for scores that share game seeds.

numpy only. Chance is an argument; the same generator state gives the same interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, lgamma, log, sqrt

import numpy as np
from numpy.typing import NDArray

Clusters = Sequence[Sequence[float]]
"""Scores grouped by what they share: one inner sequence for each game seed."""

EXACT_PAIRS = 16
"""Up to this many pairs every sign pattern is counted: 2 ** 16 = 65 536 of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean and its interval.

    `low` and `high` are None when there is only one cluster, which tells nothing about how
    clusters differ. `n` counts the values, `clusters` the game seeds that they come from.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    spread: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A one-sided paired test of H1: the mean difference is positive.

    `statistic` and `p` are None where the test is undefined.
    """

    statistic: float | None
    p: float | None
    n: int


def bootstrap_grand_mean(
    groups: Sequence[Clusters],
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """Estimate the mean of several groups' means, with a percentile interval.

    Each resample draws game seeds with replacement, then samples with replacement within each
    drawn seed, in every group on its own. Resampling all episodes as if they were independent
    would be too sure of itself: 32 episodes on 8 game seeds are 8 roads, not 32. The second
    stage makes the interval slightly wider than needed, never narrower.

    A group's mean is the mean of its clusters' means. With as many samples for each seed it is
    the plain average of the paper; where episodes failed, no seed weighs more than another.

    Args:
        groups: One set of clusters for each group, such as one for each game; none empty.
        rng: Where the resamples come from.
        resamples: How many resamples to draw, at least 1.
        level: The share of resampled means that the interval holds, between 0 and 1.

    Raises:
        ValueError: If a group or a cluster is empty.
    """
    if not groups or any(not group or any(not c for c in group) for group in groups):
        raise ValueError("a mean needs at least one value in each group and cluster")
    mean = float(np.mean([np.mean([np.mean(cluster) for cluster in group]) for group in groups]))
    n = sum(len(cluster) for group in groups for cluster in group)
    clusters = sum(len(group) for group in groups)
    if any(len(group) < 2 for group in groups):
        return Estimate(mean=mean, low=None, high=None, n=n, clusters=clusters)
    means = np.mean([_resampled(group, rng, resamples) for group in groups], axis=0)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Estimate(mean=mean, low=float(low), high=float(high), n=n, clusters=clusters)


def _resampled(clusters: Clusters, rng: np.random.Generator, resamples: int) -> NDArray[np.float64]:
    """Draw clusters, then values within them, and return the mean of each resample."""
    counts = np.array([len(cluster) for cluster in clusters])
    widest = int(counts.max())
    values = np.zeros((len(clusters), widest))
    for row, cluster in enumerate(clusters):
        values[row, : len(cluster)] = cluster
    choices = rng.integers(0, len(clusters), size=(resamples, len(clusters)))
    sizes = counts[choices][..., np.newaxis]
    within = (rng.random((resamples, len(clusters), widest)) * sizes).astype(np.intp)
    # A short cluster is read only as often as it has values.
    is_valid = np.arange(widest) < sizes
    sums = np.where(is_valid, values[choices[..., np.newaxis], within], 0.0).sum(axis=2)
    result: NDArray[np.float64] = (sums / sizes[..., 0]).mean(axis=1)
    return result


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Test whether the first of each pair is greater, as in App. C.2 of the real-time paper.

    t = mean(d) / (s_d / sqrt(n)) with n - 1 degrees of freedom, one-sided, H1: mu_d > 0.
    Pairs share a game seed; each score is the mean over that seed's samples.

    Args:
        first: The scores of the agent that should be better.
        second: The scores it is compared with, in the same order.

    Returns:
        The test; t and p are None for fewer than two pairs, and where all differences are
        equal, since t then divides by zero.

    Raises:
        ValueError: If the sequences differ in length.
    """
    differences = _differences(first, second)
    n = len(differences)
    if n < 2 or _is_constant(differences):
        return PairedTest(statistic=None, p=None, n=n)
    t = float(np.mean(differences)) / (float(np.std(differences, ddof=1)) / sqrt(n))
    return PairedTest(statistic=t, p=student_t_tail(t, n - 1), n=n)


def permutation_test(
    first: Sequence[float],
    second: Sequence[float],
    *,
    rng: np.random.Generator,
    resamples: int = 20_000,
) -> PairedTest:
    """Test whether the first of each pair is greater, by flipping the signs of differences.

    p is the share of sign patterns whose mean is at least the observed one. Up to
    `EXACT_PAIRS` pairs all patterns are counted; beyond, `resamples` are drawn, and the
    observed one counts as one more. The smallest p of n pairs is 2 ** -n, so fewer than five
    pairs never reach 0.05.

    Args:
        first: The scores of the agent that should be better.
        second: The scores it is compared with, in the same order.
        rng: Where the patterns come from when not all are counted.
        resamples: How many patterns to draw then, at least 1.

    Returns:
        The test, its statistic the mean difference; both are None without pairs.

    Raises:
        ValueError: If the sequences differ in length.
    """
    differences = _differences(first, second)
    n = len(differences)
    if n == 0:
        return PairedTest(statistic=None, p=None, n=0)
    if n <= EXACT_PAIRS:
        bits = np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1
    else:
        bits = rng.integers(0, 2, size=(resamples, n))
    sums = (1 - 2 * bits) @ differences
    # Equal sums may differ in the last bits, since they add in another order.
    reached = int(np.count_nonzero(sums >= differences.sum() - 1e-9 * np.abs(differences).sum()))
    p = reached / 2**n if n <= EXACT_PAIRS else (reached + 1) / (resamples + 1)
    return PairedTest(statistic=float(differences.mean()), p=p, n=n)


def _differences(first: Sequence[float], second: Sequence[float]) -> NDArray[np.float64]:
    if len(first) != len(second):
        raise ValueError(f"pairs need two equal lengths, got {len(first)} and {len(second)}")
    return np.array([a - b for a, b in zip(first, second, strict=True)], dtype=float)


def _is_constant(differences: NDArray[np.float64]) -> bool:
    """Whether all differences are equal up to rounding."""
    return bool(np.ptp(differences) <= 1e-12 * max(1.0, float(np.abs(differences).max())))


def student_t_tail(t: float, freedom: int) -> float:
    """The probability that Student's t with `freedom` degrees of freedom is at least `t`.

    Raises:
        ValueError: If `freedom` is below 1 or `t` is not finite.
    """
    if freedom < 1 or not isfinite(t):
        raise ValueError(f"need a finite t and at least 1 degree of freedom, got {t}, {freedom}")
    square = t * t
    if square < freedom:
        # Near zero the tail is a half less a little; the little is what must be exact.
        centre = incomplete_beta(0.5, freedom / 2, square / (freedom + square))
        return 0.5 - (0.5 * centre if t >= 0 else -0.5 * centre)
    tail = 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square))
    return tail if t >= 0 else 1 - tail


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) for a, b > 0 and 0 <= x <= 1.

    By its continued fraction (Abramowitz and Stegun, 26.5.8), evaluated with Lentz's method.
    """
    if x in (0.0, 1.0):
        return x
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    # The fraction converges fast below the mean of the distribution; above, use symmetry.
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), to the precision of a float."""
    tiny = 1e-300
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    c, fraction = 1.0, d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d = 1 + term * d
            c = 1 + term / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            change = d * c
            fraction *= change
        if abs(change - 1) < 1e-15:
            break
    return fraction
