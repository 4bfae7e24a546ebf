"""Credit by turn: against a plain reference, and against GRPO's own advantages."""

from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.training.credit import EPSILON, divide_reward, returns, turn_advantages

rewards = st.lists(st.floats(-5, 5), min_size=1, max_size=6)
groups = st.lists(st.one_of(st.none(), rewards), min_size=1, max_size=6)


def reference(
    group: list[list[float] | None], discount: float, *, scale: bool = True
) -> list[list[float]]:
    """The same from the definition, turn by turn, with sums written out."""

    def to_come(rewards: list[float], t: int) -> float:
        return sum(discount ** (k - t) * rewards[k] for k in range(t, len(rewards)))

    found: list[list[float]] = []
    for rewards in group:
        mine: list[float] = []
        for t in range(len(rewards or [])):
            there = [to_come(one, t) for one in group if one is not None and len(one) > t]
            spread = stdev(there) if len(there) > 1 else 0.0
            less = to_come(rewards or [], t) - mean(there)
            mine.append(less / (spread + EPSILON) if scale else less)
        found.append(mine)
    return found


@given(groups, st.floats(0, 1))
def test_it_is_what_the_definition_says(group: list[list[float] | None], discount: float) -> None:
    found = turn_advantages(group, discount=discount)
    for mine, expected in zip(found, reference(group, discount), strict=True):
        assert mine == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=8), st.integers(1, 5))
def test_a_reward_at_the_end_alone_gives_what_grpo_gives(ends: list[float], turns: int) -> None:
    group = [[0.0] * (turns - 1) + [end] for end in ends]
    grpo = [(end - mean(ends)) / (stdev(ends) + EPSILON) for end in ends]
    for mine, expected in zip(turn_advantages(group), grpo, strict=True):
        assert mine == pytest.approx([expected] * turns, rel=1e-6, abs=1e-6)


@given(groups)
def test_who_failed_changes_nothing_for_the_others(group: list[list[float] | None]) -> None:
    alone = turn_advantages([one for one in group if one is not None])
    found = turn_advantages(group)
    assert [mine for mine, one in zip(found, group, strict=True) if one is not None] == list(alone)
    assert all(mine == () for mine, one in zip(found, group, strict=True) if one is None)


def test_a_thought_is_not_blamed_for_what_was_lost_before_it() -> None:
    early, late = turn_advantages([[-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], scale=False)
    assert early == (-0.5, 0.0, 0.0)
    assert late == (0.5, 0.0, 0.0)


def test_returns_worked_by_hand() -> None:
    # 3; 2 + 0.5 * 3 = 3.5; 1 + 0.5 * 3.5 = 2.75
    assert returns([1.0, 2.0, 3.0], 0.5) == (2.75, 3.5, 3.0)


@given(st.floats(-2, 2), st.lists(st.integers(-5, 50).map(float), min_size=1, max_size=8))
def test_what_is_divide_reward_adds_up(reward: float, world: list[float]) -> None:
    shares = divide_reward(reward, world)
    assert sum(shares) == pytest.approx(reward, abs=1e-9)
    if any(one > 0 for one in world):
        assert all(share == 0 for share, one in zip(shares, world, strict=True) if one <= 0)
    else:
        assert not any(shares[:-1])


def test_points_share_a_reward_out() -> None:
    # 5 and 15 of 20 points: a quarter of 0.8, and three quarters of it
    assert divide_reward(0.8, [5.0, -3.0, 15.0]) == pytest.approx((0.2, 0.0, 0.6))
