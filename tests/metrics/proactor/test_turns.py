"""The metrics of turns: worked by hand, and their laws."""

import random
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.proactor.judged import Turn, opportunities, opportunity, turns
from timeful.dialogues.opportunity import Inputs, Opportunity, Value
from timeful.metrics.proactor.matching import best_match, match, normal
from timeful.metrics.proactor.turns import (
    TurnScores,
    mean_scores,
    relative_difference,
    score_turn,
)


def scored(turn: Turn) -> TurnScores | None:
    return score_turn(turn.turn, turn.predictions, turn.references, turn.ready_ranges)


BY_HAND = Turn(
    turn=5,
    predictions=[
        # Two of the four parameters match: x by value, z since neither side has it.
        opportunity("refund", "ready_to_trigger", x=79, y="red", z=...),
        opportunity("refund", "pending", x="80"),  # only z, which it does not mention
        opportunity("mail", "triggered", to="Ada"),  # known, but its time is over
        opportunity("call", "triggered"),  # nowhere
        opportunity("wait", "repeatable"),  # ready later, but not said to be ready
    ],
    references=[
        opportunity("refund", "pending", x="79.0", y="blue", z=..., w="?"),
        opportunity("mail", "triggered", to=" ada "),
    ],
    ready_ranges={"refund": [9, 7], "mail": [3, 4], "wait": [5], "call": []},
)


def test_a_turn_worked_by_hand() -> None:
    assert scored(BY_HAND) == TurnScores(
        ac=(2 / 4 + 1 / 4 + 1 + 0 + 0) / 5,
        max_ac=1.0,
        pt=1 / 5,  # refund; mail is late, call never ready, wait and the other refund not ready
        pt_all=3 / 5,  # and they as well
        ftr=1 / 3,  # call, of refund, mail and call
        ftr_per_prediction=1 / 5,
        rar=3 / 5,
        atr=1 / 5,  # mail
        false_triggered=1 / 5,  # call
        frr=1 / 5,  # call
    )


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Ada  Wu ", "ada wu", True),
        ("79", 79, True),
        (79.0, "79", True),
        (0.1, "0.10", True),
        (-3, "-3.0", True),
        ("01234", "1234", False),  # a zip code
        ("01234", 1234, False),
        ("1e3", 1000, False),  # an account
        ("$5", 5, False),
        (True, "TRUE", True),
        (True, 1, False),
        (None, "none", False),
        (None, "", False),
        (["A", 1.0], ["a", "1"], True),
        (["a", "b"], ["b", "a"], False),
        ({"k": "X"}, {"k": "x"}, True),
        ({}, [], False),
        (float("nan"), float("nan"), True),
    ],
)
def test_values_are_equal_after_normalising(one: Value, other: Value, equal: bool) -> None:
    assert (normal(one) == normal(other)) is equal
    assert normal(one) != normal(other) or hash(normal(one)) == hash(normal(other))


def test_a_reference_without_parameters_matches() -> None:
    assert match(opportunity("a", x=1), opportunity("a")) == 1
    assert match(opportunity("b"), opportunity("a")) == 0
    assert best_match(opportunity("a"), []) == 0


def test_a_parameter_matches_in_whichever_list_it_stands() -> None:
    required = opportunity("a", x=1, y=2)
    optional = replace_inputs(required, Inputs(optional=required.inputs.required))
    assert match(required, optional) == match(optional, required) == 1


def replace_inputs(one: Opportunity, inputs: Inputs) -> Opportunity:
    return Opportunity(name=one.name, status=one.status, inputs=inputs)


@settings(max_examples=60, deadline=None)
@given(turns)
def test_every_metric_lies_between_0_and_1_and_below_those_that_hold_it(turn: Turn) -> None:
    found = scored(turn)
    if found is None:
        assert not turn.predictions
        return
    assert all(0 <= value <= 1 for value in asdict(found).values())
    assert found.ac <= found.max_ac + 1e-12
    assert found.pt <= found.pt_all
    # A ready prediction is early, late or a fault.
    assert found.pt + found.ftr_per_prediction <= found.rar + 1e-12
    assert found.ftr_per_prediction <= found.ftr <= 1
    assert found.atr + found.false_triggered <= found.rar + 1e-12
    assert found.false_triggered <= found.frr <= found.rar


@settings(max_examples=60, deadline=None)
@given(turns, st.randoms(use_true_random=False))
def test_the_order_of_predictions_references_and_ranges_does_not_matter(
    turn: Turn, chance: random.Random
) -> None:
    def shuffled(some: object) -> list[object]:
        every = list(some)  # type: ignore[call-overload]
        chance.shuffle(every)
        return every

    other = Turn(
        turn=turn.turn,
        predictions=shuffled(turn.predictions),  # type: ignore[arg-type]
        references=shuffled(turn.references),  # type: ignore[arg-type]
        ready_ranges={name: shuffled(turn.ready_ranges[name]) for name in turn.ready_ranges},  # type: ignore[misc]
    )
    one, two = scored(turn), scored(other)
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        assert asdict(one) == pytest.approx(asdict(two), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(turns, st.integers(2, 3))
def test_saying_everything_twice_changes_nothing(turn: Turn, times: int) -> None:
    again = replace(turn, predictions=[*turn.predictions] * times)
    one, two = scored(turn), scored(again)
    if one is not None:
        assert two is not None
        assert asdict(one) == pytest.approx(asdict(two), abs=1e-12)
    referred = scored(replace(turn, references=[*turn.references] * times))
    assert referred == one


@settings(max_examples=60, deadline=None)
@given(opportunities, st.integers(1, 6))
def test_the_reference_itself_is_a_perfect_prediction(
    references: list[Opportunity], number: int
) -> None:
    ready = {one.name: [number] for one in references if one.is_ready}
    found = scored(Turn(number, references, references, ready))
    if found is None:
        return
    assert found.ac == pytest.approx(1)
    assert found.max_ac == 1
    assert found.pt == found.rar, "each ready one is ready now"
    assert found.ftr == found.ftr_per_prediction == found.false_triggered == found.frr == 0


def test_empty_sets_are_defined() -> None:
    some = [opportunity("a", "triggered", x=1)]
    assert scored(Turn(1, [], some, {"a": [1]})) is None
    alone = scored(Turn(1, some, [], {}))
    assert alone is not None
    assert (alone.ac, alone.max_ac, alone.pt, alone.pt_all) == (0, 0, 0, 0)
    assert (alone.ftr, alone.rar, alone.atr) == (1, 1, 0)
    assert (alone.false_triggered, alone.frr) == (1, 1)
    quiet = scored(Turn(1, [opportunity("a")], [], {}))
    assert quiet is not None
    assert quiet.ftr == 0, "no ready prediction, no fault"


def test_turns_without_predictions_are_in_no_mean_and_counted() -> None:
    empty = replace(BY_HAND, predictions=[])
    other = replace(BY_HAND, predictions=[opportunity("mail", to="ada")])
    means = mean_scores(map(scored, [empty, BY_HAND, other, empty]))
    assert (means.n_turns, means.n_skipped) == (4, 2)
    assert means.means["ac"] == pytest.approx((0.35 + 1) / 2)
    assert means.means["ftr"] == pytest.approx((1 / 3 + 0) / 2)
    assert means.difference == pytest.approx((1 - 0.675) / 0.675)
    nothing = mean_scores([None, None])
    assert (nothing.n_turns, nothing.n_skipped, nothing.difference) == (2, 2, None)
    assert set(nothing.means.values()) == {None}


def test_a_difference_above_nothing_is_undefined() -> None:
    assert relative_difference(0.0, 0.0) is None
    assert relative_difference(None, None) is None
    assert relative_difference(0.4, 0.5) == pytest.approx(0.25)
