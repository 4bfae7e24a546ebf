"""Deliberation: its settings, its dynamics and its exact optimum."""

from dataclasses import replace
from math import exp, inf, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.core.units import seconds
from timeful.environments.deliberation.dynamics import (
    FAILED,
    SUCCEEDED,
    TIMED_OUT,
    bin_of,
    draw_chances,
    draw_deadlines,
    outcome,
    reward_of,
    success_probability,
)
from timeful.environments.deliberation.optimum import best_return, mean_success
from timeful.environments.deliberation.settings import SEQUENTIAL, SINGLE, DeliberationSettings
from timeful.errors import SettingsError
from timeful.seeding import child


def spans(*values):
    return tuple(seconds(value) for value in values)


# --- settings --------------------------------------------------------------------------------


def test_the_settings_are_those_of_tables_6_and_7():
    for world in (SINGLE, SEQUENTIAL):
        assert world.durations == spans(0.2, 0.8, 1.6, 3.0, 5.0)
        assert world.qualities == (0.0, 0.8, 1.6, 2.4, 3.2)
        assert (world.beta, world.reward, world.penalty) == (3.5, 4.0, -2.0)
    assert (SINGLE.tasks, SINGLE.gaps) == (1, spans(0.3, 1, 2, 4, 8))
    assert (SEQUENTIAL.tasks, SEQUENTIAL.gaps) == (10, spans(0.4, 0.9, 1.6, 3.5, 5.5))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tasks": 0}, "number of tasks"),
        ({"gaps": ()}, "gap"),
        ({"gaps": (0, 1)}, "gap"),
        ({"gaps": (-1,)}, "gap"),
        ({"durations": (-1, 0, 1, 2, 3)}, "duration"),
        ({"durations": (5, 4, 3, 2, 1)}, "sort the modes"),
        ({"durations": (), "qualities": ()}, "duration"),
        ({"durations": (1, 2)}, "2 durations and 5 qualities"),
        ({"qualities": (0.0, nan, 1.0, 2.0, 3.0)}, "nan"),
        ({"beta": inf}, "inf"),
        ({"reward": -1.0}, "reward"),
        ({"penalty": 2.0}, "penalty.*2.0"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        replace(SINGLE, **wrong)


def test_the_step_abstraction_differs_in_the_time_that_thinking_takes_alone():
    step = SEQUENTIAL.as_step()
    assert step.durations == (0, 0, 0, 0, 0)
    assert replace(step, durations=SEQUENTIAL.durations) == SEQUENTIAL


# --- dynamics --------------------------------------------------------------------------------


def test_deadlines_are_sums_of_gaps_and_each_gap_is_as_likely():
    rules = SEQUENTIAL.rules()
    rng = child(1, "deadlines")
    drawn = np.array([draw_deadlines(rng, rules) for _ in range(2_000)])
    gaps = np.diff(drawn, axis=1, prepend=0)
    values, counts = np.unique(gaps, return_counts=True)
    assert tuple(values) == SEQUENTIAL.gaps
    assert counts.max() - counts.min() < 5 * np.sqrt(gaps.size * 0.2 * 0.8)


def test_difficulty_and_luck_are_uniform_and_independent():
    rng = child(1, "chances")
    drawn = np.concatenate([draw_chances(rng, SEQUENTIAL.rules()) for _ in range(2_000)])
    assert drawn.shape == (20_000, 2)
    assert np.allclose(drawn.mean(axis=0), 0.5, atol=0.01)
    assert np.allclose(drawn.var(axis=0), 1 / 12, atol=0.003)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.03


def test_success_is_the_logistic_function_of_quality_less_difficulty():
    rules = SINGLE.rules()
    assert success_probability(rules, 0, 0.0) == 0.5
    assert success_probability(rules, 2, 0.4) == pytest.approx(1 / (1 + exp(3.5 * 0.4 - 1.6)))


def test_an_answer_at_the_very_deadline_counts_and_one_after_it_does_not():
    rules = SINGLE.rules()
    assert outcome(rules, 4, 0, 0.0, 0.0) == SUCCEEDED
    assert outcome(rules, 4, -1, 0.0, 0.0) == TIMED_OUT
    assert outcome(rules, 4, 10, 0.5, 0.999) == FAILED


def test_only_success_is_worth_anything():
    rules = SINGLE.rules()
    assert [reward_of(rules, became) for became in (FAILED, SUCCEEDED, TIMED_OUT)] == [-2, 4, -2]


@given(
    st.lists(st.integers(-50, 50), unique=True, max_size=6).map(sorted),
    st.integers(-60, 60),
)
def test_a_bin_counts_the_edges_that_were_reached(edges, value):
    found = bin_of(value, np.array(edges, dtype=np.float64))
    assert found == np.digitize(value, edges) if edges else found == 0


# --- the optimum -----------------------------------------------------------------------------


def test_mean_success_of_each_mode_is_the_published_constants_integral():
    assert [mean_success(SINGLE, mode) for mode in range(5)] == pytest.approx(
        [0.1895, 0.3160, 0.4699, 0.6284, 0.7673], abs=5e-5
    )


@pytest.mark.parametrize("beta", [3.5, 0.5, 0.0, -2.0])
def test_mean_success_is_the_mean_over_difficulties(beta):
    world = replace(SINGLE, beta=beta)
    rules = world.rules()
    grid = (np.arange(20_000) + 0.5) / 20_000
    for mode in range(world.modes):
        summed = np.mean([success_probability(rules, mode, u) for u in grid])
        assert mean_success(world, mode) == pytest.approx(summed, abs=1e-8)


def test_each_slack_of_the_single_task_has_one_best_mode():
    success = np.mean([mean_success(SINGLE, mode) for mode in range(5)])
    assert 100 * success == pytest.approx(47.42, abs=0.005)
    assert best_return(SINGLE) == pytest.approx(6 * success - 2, abs=1e-5)
    assert best_return(SINGLE) == pytest.approx(0.845, abs=0.0005)


def test_where_thinking_takes_no_time_the_deepest_mode_is_best():
    success = mean_success(SINGLE, 4)
    assert 100 * success == pytest.approx(76.73, abs=0.005)
    assert best_return(SINGLE.as_step()) == pytest.approx(6 * success - 2, abs=1e-5)
    assert best_return(SINGLE.as_step()) == pytest.approx(2.604, abs=0.0005)
    assert best_return(SEQUENTIAL.as_step()) == pytest.approx(10 * (6 * success - 2), abs=1e-4)


def test_the_deepest_mode_alone_times_out_in_four_of_five_single_tasks():
    in_time = [SINGLE.durations[4] <= slack for slack in SINGLE.gaps]
    assert in_time == [False, False, False, False, True]
    assert 100 * mean_success(SINGLE, 4) / 5 == pytest.approx(15.3, abs=0.05)


def by_hand(world, slack, left):
    """The best mean of a few tasks by plain recursion, for one difficulty known to all."""
    if left == 0:
        return 0.0
    total = 0.0
    for gap in world.gaps:
        now = slack + gap
        if now <= 0:
            total += world.penalty + by_hand(world, now, left - 1)
            continue
        best = -inf
        for mode, span in enumerate(world.durations):
            chance = mean_success(world, mode) if span <= now else 0.0
            gain = world.penalty + chance * (world.reward - world.penalty)
            best = max(best, gain + by_hand(world, now - span, left - 1))
        total += best
    return total / len(world.gaps)


@pytest.mark.parametrize(
    ("gaps", "durations", "qualities"),
    [
        ((0.4, 1.5), (0.2, 1.0, 2.4), (-1.0, 0.5, log(9))),
        ((1, 3), (2,), (log(9),)),  # slack is often exactly 0: the task expires at no cost of time
    ],
)
def test_the_optimum_of_a_few_tasks_is_that_of_plain_recursion(gaps, durations, qualities):
    # Without difficulty there is nothing to average, so the recursion is exact.
    world = DeliberationSettings(
        tasks=4, gaps=spans(*gaps), durations=spans(*durations), qualities=qualities, beta=0.0
    )
    assert best_return(world) == pytest.approx(by_hand(world, 0, 4), abs=1e-12)
