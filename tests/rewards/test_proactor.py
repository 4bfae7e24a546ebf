"""ProActor's rewards of a turn, worked by hand."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments.dialogue.material import one
from timeful.dialogues.opportunity import Opportunity
from timeful.rewards.proactor import (
    LOST,
    TurnValues,
    adaptive_metric,
    hybrid,
    scheduled,
    stage,
    turn_values,
    weighted,
)

SHARE = st.floats(0, 1)
VALUES = st.builds(TurnValues, rac=SHARE, max_rac=SHARE, pt=SHARE, ftr=SHARE)
SOME = TurnValues(rac=0.5, max_rac=0.75, pt=0.4, ftr=0.2)

REFERENCES = (one("open", "ready_to_trigger", "Ada"), one("pay"))
RANGES = {"open": (2, 3), "pay": (7,)}


def test_the_values_of_a_turn_are_the_metrics() -> None:
    # P: open with the right value, ready, and open is ready at turn 3 >= 3: match 1, in time.
    #    pay with a value that the reference has not, ready, and ready at 7: match 0, in time.
    #    send, ready, which is ready nowhere: no reference, match 0, a fault.
    #    pay without a value, pending: match 1.
    predicted = (
        one("open", "ready_to_trigger", "Ada"),
        one("pay", "triggered", "Ada"),
        one("send", "ready_to_trigger", "Ada"),
        one("pay"),
    )
    values = turn_values(3, predicted, REFERENCES, RANGES)
    # RAC = (1 + 0 + 0 + 1) / 4, Max RAC = 1, PT = 2 / 4 (ready and in time), FTR = 1 of 3 ready.
    assert values == TurnValues(rac=0.5, max_rac=1.0, pt=0.5, ftr=1 / 3)
    # At turn 4 open is ready no more: PT = 1 / 4; the name is still one of the reference's.
    assert turn_values(4, predicted, REFERENCES, RANGES).pt == 0.25


def test_empty_sets() -> None:
    nothing: tuple[Opportunity, ...] = ()
    assert turn_values(1, nothing, nothing, RANGES) == TurnValues(
        rac=1.0, max_rac=1.0, pt=0.0, ftr=0.0
    )
    assert turn_values(1, nothing, REFERENCES, RANGES) == TurnValues(
        rac=0.0, max_rac=0.0, pt=0.0, ftr=0.0
    )
    # Only the reference is empty: no match, but what is to be ready later is early.
    early = turn_values(1, (one("pay", "ready_to_trigger"),), nothing, RANGES)
    assert early == TurnValues(rac=0.0, max_rac=0.0, pt=1.0, ftr=0.0)


def test_a_lost_turn_earns_nothing_by_any_metric() -> None:
    assert weighted(LOST.rac, LOST) == 0.0
    assert {adaptive_metric(LOST, progress) for progress in (0.0, 0.5, 1.0)} == {0.0}


def test_values_do_not_depend_on_the_order_of_predictions() -> None:
    predicted = (
        one("open", "ready_to_trigger", "Ada"),
        one("send", "ready_to_trigger"),
        one("pay"),
    )
    found = {turn_values(3, some, REFERENCES, RANGES) for some in permutations(predicted)}
    assert len(found) == 1


def test_equation_9() -> None:
    # 0.5 + 0.05 x 0.4 - 0.01 x 0.2 = 0.518, and with Max RAC 0.768
    assert weighted(SOME.rac, SOME) == pytest.approx(0.518)
    assert weighted(SOME.max_rac, SOME) == pytest.approx(0.768)
    # 0.5 + 0.5 x 0.4 - 1 x 0.2 = 0.5
    assert weighted(SOME.rac, SOME, w1=0.5, w2=1.0) == pytest.approx(0.5)


def test_equation_10_in_each_third() -> None:
    # 0.8 x 0.75 + 0.2 x 0.4 = 0.68
    assert adaptive_metric(SOME, 0.1) == pytest.approx(0.68)
    # 0.6 x 0.5 + 0.3 x 0.4 - 0.1 x 0.2 = 0.4
    assert adaptive_metric(SOME, 0.5) == pytest.approx(0.4)
    # 0.6 x 0.5 - 0.4 x 0.2 = 0.22
    assert adaptive_metric(SOME, 0.9) == pytest.approx(0.22)


def test_equation_10_with_other_weights() -> None:
    # 0.1 x 0.75 + 0.9 x 0.4 = 0.435; 0.2 x 0.5 + 0.5 x 0.4 - 0.3 x 0.2 = 0.24;
    # 0.9 x 0.5 - 0.1 x 0.2 = 0.43
    weights = {"w1": 0.1, "w2": 0.2, "w3": 0.5, "w4": 0.9}
    found = [adaptive_metric(SOME, progress, **weights) for progress in (0.0, 0.4, 1.0)]
    assert found == pytest.approx([0.435, 0.24, 0.43])


@given(st.integers(1, 10**6).flatmap(lambda most: st.tuples(st.integers(0, most), st.just(most))))
def test_thirds_are_exact_for_every_step(step: tuple[int, int]) -> None:
    u, most = step
    wanted = "exploration" if 3 * u < most else "balanced" if 3 * u < 2 * most else "conservative"
    assert stage(u / most) == wanted


@pytest.mark.parametrize("most", [3, 7, 90, 300, 999_999])
def test_thirds_are_exact_at_their_boundaries(most: int) -> None:
    first, second = -(-most // 3), -(-2 * most // 3)
    assert stage((first - 1) / most) == "exploration"
    assert stage(first / most) == "balanced"
    assert stage((second - 1) / most) == "balanced"
    assert stage(second / most) == "conservative"


def test_equation_11_with_a_fixed_and_a_rising_lambda() -> None:
    # 0.7 x 0.5 + 0.3 x 0.9 = 0.62
    assert hybrid(0.5, 0.9, 0.3) == pytest.approx(0.62)
    # u / U = 0.5: lambda = 0.15; 0.85 x 0.5 + 0.15 x 0.9 = 0.56
    assert scheduled(0.5, 0.3) == pytest.approx(0.15)
    assert hybrid(0.5, 0.9, scheduled(0.5, 0.3)) == pytest.approx(0.56)
    assert (scheduled(0.0, 0.3), scheduled(1.0, 0.3)) == (0.0, 0.3)


@given(VALUES, SHARE)
def test_bounds(values: TurnValues, progress: float) -> None:
    assert -0.01 <= weighted(values.rac, values) <= 1.05
    low, high = {"exploration": (0, 1), "balanced": (-0.1, 0.9), "conservative": (-0.4, 0.6)}[
        stage(progress)
    ]
    assert low - 1e-9 <= adaptive_metric(values, progress) <= high + 1e-9
    assert -1e-9 <= hybrid(values.rac, values.pt, scheduled(progress, 1.0)) <= 1 + 1e-9


@given(VALUES, SHARE, SHARE)
def test_more_false_triggers_never_earn_more_and_better_matches_never_less(
    values: TurnValues, other: float, progress: float
) -> None:
    less, more = sorted((values.ftr, other))
    few = TurnValues(rac=values.rac, max_rac=values.max_rac, pt=values.pt, ftr=less)
    many = TurnValues(rac=values.rac, max_rac=values.max_rac, pt=values.pt, ftr=more)
    assert adaptive_metric(many, progress) <= adaptive_metric(few, progress)
    assert weighted(many.rac, many) <= weighted(few.rac, few)
    low, high = sorted((values.rac, other))
    worse = TurnValues(rac=low, max_rac=low, pt=values.pt, ftr=values.ftr)
    better = TurnValues(rac=high, max_rac=high, pt=values.pt, ftr=values.ftr)
    assert adaptive_metric(worse, progress) <= adaptive_metric(better, progress) + 1e-12
    assert hybrid(low, values.pt, progress) <= hybrid(high, values.pt, progress) + 1e-12


@given(SHARE, SHARE, st.floats(0, 0.5), st.floats(0.5, 1))
def test_a_greater_lambda_moves_the_reward_to_the_judge(
    metric: float, ruler: float, small: float, large: float
) -> None:
    near, far = (abs(hybrid(metric, ruler, lam) - ruler) for lam in (large, small))
    assert near <= far + 1e-12
