"""Intervals and tests: against scipy, against hand counts, and at their edges."""

from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.metrics.statistics import (
    Clusters,
    Estimate,
    bootstrap_grand_mean,
    incomplete_beta,
    paired_t_test,
    permutation_test,
    student_t_tail,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_group(clusters: Clusters, **options: Any) -> Estimate:
    return bootstrap_grand_mean([clusters], **options)


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 31, 200])
@pytest.mark.parametrize("t", [-40.0, -2.5, -1e-3, 0.0, 0.3, 1.0, 2.36, 7.0, 60.0])
def test_the_t_tail_agrees_with_scipy(freedom: int, t: float) -> None:
    assert student_t_tail(t, freedom) == pytest.approx(scipy.stats.t.sf(t, freedom), rel=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.floats(0.5, 50), st.floats(0.5, 50), st.floats(0, 1))
def test_the_incomplete_beta_agrees_with_scipy(a: float, b: float, x: float) -> None:
    expected = scipy.special.betainc(a, b, x)
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_the_t_tail_refuses_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match="degree of freedom"):
        student_t_tail(1.0, 0)
    with pytest.raises(ValueError, match="finite"):
        student_t_tail(float("inf"), 3)


def test_the_paired_t_test_agrees_with_scipy() -> None:
    first, second = rng().normal(0.5, 0.2, 8), rng(1).normal(0.4, 0.2, 8)
    ours = paired_t_test(list(first), list(second))
    theirs = scipy.stats.ttest_rel(first, second, alternative="greater")
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p == pytest.approx(theirs.pvalue)
    assert ours.n == 8


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3])
def test_t_is_undefined_when_all_differences_are_equal(shift: float) -> None:
    second = [0.1, 0.2, 0.7, 1.1]
    test = paired_t_test([x + shift for x in second], second)
    assert (test.statistic, test.p, test.n) == (None, None, 4)


def test_t_is_undefined_for_a_single_pair() -> None:
    assert paired_t_test([1.0], [0.0]).p is None


def test_pairs_must_match() -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        paired_t_test([1.0], [])
    with pytest.raises(ValueError, match="equal lengths"):
        permutation_test([1.0], [], rng=rng())


def test_the_exact_permutation_test_counts_sign_patterns() -> None:
    # The sums of +-1 +-2 +-3 are 6, 4, 2, 0, 0, -2, -4, -6: one of eight reaches 6, two reach 4.
    assert permutation_test([1.0, 2.0, 3.0], [0.0] * 3, rng=rng()).p == 1 / 8
    assert permutation_test([0.0, 2.0, 3.0], [1.0, 0.0, 0.0], rng=rng()).p == 2 / 8


def test_the_exact_permutation_test_agrees_with_scipy() -> None:
    first, second = rng(3).random(9), rng(4).random(9)
    theirs = scipy.stats.permutation_test(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    ours = permutation_test(list(first), list(second), rng=rng())
    assert ours.p == pytest.approx(theirs.pvalue)


def test_no_difference_is_no_evidence() -> None:
    test = permutation_test([0.3] * 6, [0.3] * 6, rng=rng())
    assert test.p == 1.0


def test_no_pairs_give_no_permutation_p() -> None:
    assert permutation_test([], [], rng=rng()).p is None


def test_beyond_sixteen_pairs_the_sampled_p_is_near_the_exact_one() -> None:
    differences = list(rng(5).normal(0.15, 0.5, 17))
    signs = 1 - 2 * (np.arange(2**17)[:, None] >> np.arange(17) & 1)
    exact = np.mean(signs @ np.array(differences) >= sum(differences) - 1e-9)
    sampled = permutation_test(differences, [0.0] * 17, rng=rng())
    assert sampled.p == pytest.approx(exact, abs=0.01)
    assert sampled.p is not None
    assert sampled.p > 0


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = rng(6)
    hits = 0
    for trial in range(200):
        seeds = draw.normal(0.5, 0.2, 16)
        clusters = [list(draw.normal(centre, 0.05, 4)) for centre in seeds]
        estimate = one_group(clusters, rng=rng(trial), resamples=800)
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 0.5 <= estimate.high
    assert 0.88 <= hits / 200 <= 0.99


def test_samples_of_one_game_seed_do_not_count_as_independent_games() -> None:
    seeds = list(rng(7).random(8))
    copies = one_group([[score] * 4 for score in seeds], rng=rng())
    singles = one_group([[score] for score in seeds], rng=rng())
    assert copies.low == pytest.approx(singles.low, abs=0.01)
    assert copies.high == pytest.approx(singles.high, abs=0.01)
    assert (copies.n, copies.clusters) == (32, 8)


def test_one_cluster_gives_a_mean_but_no_interval() -> None:
    estimate = one_group([[0.2, 0.4]], rng=rng())
    assert (estimate.mean, estimate.low, estimate.high) == (pytest.approx(0.3), None, None)
    assert (estimate.n, estimate.clusters) == (2, 1)


def test_no_game_seed_weighs_more_because_its_episodes_did_not_fail() -> None:
    estimate = one_group([[1.0], [0.0, 0.0, 0.0]], rng=rng())
    assert estimate.mean == 0.5
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_a_short_cluster_is_never_padded_with_zeros() -> None:
    estimate = one_group([[0.7], [0.7, 0.7, 0.7]], rng=rng())
    assert estimate.low == pytest.approx(0.7)
    assert estimate.high == pytest.approx(0.7)


def test_the_grand_mean_weighs_groups_equally() -> None:
    estimate = bootstrap_grand_mean([[[0.0], [0.0]], [[1.0]] * 6], rng=rng())
    assert estimate.mean == 0.5
    assert (estimate.low, estimate.high) == (0.5, 0.5)


def test_the_grand_mean_has_no_interval_if_one_group_has_none() -> None:
    assert bootstrap_grand_mean([[[0.0], [0.1]], [[1.0]]], rng=rng()).low is None


def test_the_same_generator_gives_the_same_interval() -> None:
    clusters = [[0.1, 0.3], [0.2], [0.9, 0.4, 0.8]]
    assert one_group(clusters, rng=rng(9)) == one_group(clusters, rng=rng(9))
    assert one_group(clusters, rng=rng(9)) != one_group(clusters, rng=rng(10))


@pytest.mark.parametrize("groups", [[], [[]], [[[]]], [[[1.0], []]]])
def test_an_empty_mean_is_refused(groups: list[list[list[float]]]) -> None:
    with pytest.raises(ValueError, match="at least one value"):
        bootstrap_grand_mean(groups, rng=rng())


def test_a_sampled_permutation_test_never_says_that_chance_is_impossible() -> None:
    test = permutation_test([1.0] * 40, [0.0] * 40, rng=rng(), resamples=999)
    assert test.p == 1 / 1000, "the observed pattern counts as one more"
