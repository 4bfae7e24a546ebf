"""Rewards of tasks, worked by hand."""

from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rewards.material import CODE, GAME, RIGHT, SILENT, WRONG, task
from timeful.errors import RecordError
from timeful.rewards.budget import correctness, ep_aware, timely
from timeful.rewards.outcome import read_outcome


def of(reward: Any, facts: dict[str, Any], **changes: Any) -> float:
    found = read_outcome(task(facts, **changes))
    assert found is not None
    return float(reward(found))


# --- correctness and EP-aware ----------------------------------------------------------------


def test_correctness_is_one_or_zero_whatever_time_it_took() -> None:
    assert of(correctness, RIGHT, counted=10**12) == 1.0
    assert of(correctness, WRONG, counted=1) == 0.0


@pytest.mark.parametrize(
    ("facts", "counted", "reward"),
    [(RIGHT, 20, 1.0), (RIGHT, 21, 0.0), (WRONG, 20, 0.0), (RIGHT, 0, 1.0)],
)
def test_ep_aware_wants_both_right_and_within_the_time(
    facts: dict[str, Any], counted: int, reward: float
) -> None:
    assert of(ep_aware, facts, counted=counted, budget=20) == reward


def test_ep_aware_of_the_papers_budgets_of_tokens() -> None:
    # Appendix F: B = 1000. A solution of 600 + 400 tokens is within it, one of 1001 is not.
    paper = {"budget": None, "budget_tokens": 1000}
    assert of(ep_aware, RIGHT, tokens=(600, 400), **paper) == 1.0
    assert of(ep_aware, RIGHT, tokens=(600, 401), **paper) == 0.0
    assert of(correctness, RIGHT, tokens=(600, 401), **paper) == 1.0


def test_ep_aware_without_a_budget_would_silently_be_correctness_and_is_refused() -> None:
    with pytest.raises(RecordError, match="no budget"):
        of(ep_aware, RIGHT, budget=None)
    assert of(ep_aware, WRONG, budget=1) == 0.0


@pytest.mark.parametrize("facts", [GAME, CODE])
def test_what_has_no_right_and_wrong_has_no_such_reward(facts: dict[str, Any]) -> None:
    for reward in (correctness, ep_aware):
        with pytest.raises(RecordError, match="'timely'"):
            of(reward, facts)


# --- Timely-RL -------------------------------------------------------------------------------


def test_equation_9_of_a_right_answer() -> None:
    # t = T / 2: U = sin(pi / 4) = 1 / sqrt(2); R = 0.1 + 0.5 + 0.4 / sqrt(2) = 0.88284...
    assert of(timely, RIGHT, counted=10, budget=20) == pytest.approx(0.6 + 0.4 / sqrt(2))
    # t = T / 3: U = sin(pi / 6) = 0.5; R = 0.1 + 0.5 + 0.4 x 0.5 = 0.8
    assert of(timely, RIGHT, counted=10, budget=30) == pytest.approx(0.8)
    # t = 0: U = 0; R = 0.6. t = T: U = 1; R = 1, the most there is, and still in time.
    assert of(timely, RIGHT, counted=0) == pytest.approx(0.6)
    assert of(timely, RIGHT, counted=20, budget=20) == pytest.approx(1.0)


def test_equation_9_of_a_wrong_answer_is_the_fixed_part_however_long_it_took() -> None:
    assert of(timely, WRONG, counted=1) == of(timely, WRONG, counted=20) == 0.1


def test_equation_9_is_zero_when_late_however_right() -> None:
    assert of(timely, RIGHT, counted=21, budget=20) == 0.0
    assert of(timely, WRONG, counted=21, budget=20) == 0.0
    assert of(timely, {**GAME, "final_score": 64}, counted=20, reason="deadline") == 0.0


def test_without_an_answer_there_is_no_fixed_part() -> None:
    assert of(timely, SILENT, counted=1) == 0.0
    assert of(timely, {**CODE, "reward_accuracy": 0.0, "metric": None}) == 0.0


def test_equation_13_of_games() -> None:
    # 8 of 64 points: r = (8 / 64)^(1/3) = 1/2. t = T / 3: U = 1/2; R = 0.1 + 0.5 + 0.2 = 0.8
    third = {"counted": 10, "budget": 30, "reason": "ended"}
    assert of(timely, {**GAME, "final_score": 8}, **third) == pytest.approx(0.8)
    # All 64: r = 1; R = 0.1 + 1 + 0.2 = 1.3, and 1.5 at T.
    assert of(timely, {**GAME, "final_score": 64}, **third) == pytest.approx(1.3)
    at_the_end = {**third, "counted": 30}
    assert of(timely, {**GAME, "final_score": 64}, **at_the_end) == pytest.approx(1.5)


def test_points_that_a_game_begins_with_are_not_gained() -> None:
    third = {"counted": 10, "budget": 30, "reason": "ended"}
    idle = {**GAME, "start_score": 36, "final_score": 36}
    assert of(timely, idle, **third) == 0.1
    # 44 - 36 = 8 of 64 again.
    assert of(timely, {**idle, "final_score": 44}, **third) == pytest.approx(0.8)
    # Points that were lost, and more than there should be.
    assert of(timely, {**idle, "final_score": 30}, **third) == 0.1
    assert of(timely, {**GAME, "final_score": 80}, **third) == pytest.approx(1.3)


@pytest.mark.parametrize("most", [None, 0, -5])
def test_a_game_that_does_not_say_how_many_points_there_are_is_refused(most: int | None) -> None:
    with pytest.raises(RecordError, match="maximum score"):
        of(timely, {**GAME, "max_score": most})


def test_half_the_accuracy_of_a_program() -> None:
    # r = 0.5 x 0.8 = 0.4; t = T / 3: R = 0.1 + 0.4 + 0.2 = 0.7
    assert of(timely, CODE, counted=10, budget=30) == pytest.approx(0.7)
    # A submission of accuracy 0 is well formed and earns no more than that.
    assert of(timely, {**CODE, "reward_accuracy": 0.0, "metric": 0.0}) == 0.1


def test_time_has_to_be_named() -> None:
    with pytest.raises(RecordError, match="no time"):
        of(timely, RIGHT, budget=None)


def test_other_constants() -> None:
    found = read_outcome(task(RIGHT, counted=10, budget=30))
    assert found is not None
    weights = {"reasoning": 0.9, "fiction": 0.0, "coding": 0.0}
    # 0.3 + 0.9 + 0.2 x 0.5 = 1.3
    assert timely(found, r_f=0.3, lam=0.2, weights=weights) == pytest.approx(1.3)


counts = st.integers(0, 10**12)
budgets = st.integers(1, 10**12)
facts = st.one_of(
    st.sampled_from([RIGHT, WRONG, SILENT]),
    st.floats(0, 1).map(lambda share: {**CODE, "reward_accuracy": share}),
    st.integers(-10, 64).map(lambda points: {**GAME, "final_score": points}),
)


@given(facts, counts, budgets)
def test_rewards_stay_within_their_bounds(some: dict[str, Any], counted: int, budget: int) -> None:
    most = 1.5 if "final_score" in some else 1.0
    reward = of(timely, some, counted=counted, budget=budget)
    assert 0.0 <= reward <= most + 1e-12
    assert (reward == 0.0) >= (counted > budget)
    if "correct" in some:
        ep, right = (
            of(one, some, counted=counted, budget=budget) for one in (ep_aware, correctness)
        )
        assert ep in (0.0, 1.0)
        assert ep <= right
        assert ep == (right if counted <= budget else 0.0)


@given(counts, counts, budgets)
def test_of_right_answers_in_time_the_one_that_used_more_earns_no_less(
    one: int, other: int, budget: int
) -> None:
    less, more = sorted(min(span, budget) for span in (one, other))
    assert of(timely, RIGHT, counted=less, budget=budget) <= of(
        timely, RIGHT, counted=more, budget=budget
    )


@given(counts, budgets, budgets)
def test_a_longer_budget_never_makes_ep_aware_less(counted: int, one: int, other: int) -> None:
    short, long = sorted((one, other))
    assert of(ep_aware, RIGHT, counted=counted, budget=short) <= of(
        ep_aware, RIGHT, counted=counted, budget=long
    )


@given(st.integers(-5, 64), st.integers(-5, 64))
def test_more_points_never_earn_less(one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert of(timely, {**GAME, "final_score": less}) <= of(timely, {**GAME, "final_score": more})
