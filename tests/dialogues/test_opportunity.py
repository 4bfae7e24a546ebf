"""Opportunities are read strictly: what is wrong is named, with its place."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn, ranges_of
from timeful.dialogues.opportunity import (
    LEVELS,
    STATUSES,
    BadOpportunityError,
    Input,
    Inputs,
    Opportunity,
    read_opportunities,
    read_opportunity,
    write_opportunities,
)

PULL_UP: dict[str, Any] = {
    "name": "pull-up-account",
    "description": "Open the account of a customer.",
    "inputs": {
        "required": [{"input_name": "customer_name", "provided": True, "value": "Ada"}],
        "optional": [{"input_name": "account_id", "provided": False, "value": None}],
    },
    "readiness_maturity": "high",
    "trigger_confidence": "medium",
    "action_trigger_status": "ready_to_trigger",
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=3,
)
names = st.text("abc_- ", min_size=1, max_size=4)
inputs = st.lists(
    st.builds(Input, name=names, provided=st.booleans(), value=json_values),
    unique_by=lambda one: one.name,
    max_size=4,
)
opportunities = st.builds(
    lambda given, cut, **fields: Opportunity(
        inputs=Inputs(required=tuple(given[:cut]), optional=tuple(given[cut:])), **fields
    ),
    inputs,
    st.integers(0, 4),
    name=names,
    description=st.text(max_size=5),
    readiness_maturity=st.none() | st.sampled_from(LEVELS),
    trigger_confidence=st.none() | st.sampled_from(LEVELS),
    status=st.sampled_from(STATUSES),
)


def test_an_opportunity_is_read_field_by_field() -> None:
    found = read_opportunity(PULL_UP)
    assert found.name == "pull-up-account"
    assert found.inputs.required == (Input(name="customer_name", provided=True, value="Ada"),)
    assert [one.name for one in found.inputs.all()] == ["customer_name", "account_id"]
    assert (found.readiness_maturity, found.trigger_confidence) == ("high", "medium")


@settings(max_examples=60, deadline=None)
@given(st.lists(opportunities, max_size=3))
def test_what_is_written_is_read_back(given: list[Opportunity]) -> None:
    assert read_opportunities(write_opportunities(given)) == tuple(given)


@pytest.mark.parametrize(
    ("status", "ready"),
    list(zip(STATUSES, [False, True, True, False, False], strict=True)),
)
def test_ready_to_trigger_and_triggered_are_ready_and_nothing_else(
    status: str, ready: bool
) -> None:
    assert read_opportunity({**PULL_UP, "action_trigger_status": status}).is_ready is ready


def _with(**fields: object) -> dict[str, Any]:
    return {**PULL_UP, **fields}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (_with(action_trigger_status="redy"), r"\[1\]\.action_trigger_status.*ready_to_trigger"),
        (
            _with(readiness_maturity="hihg"),
            r"\[1\]\.readiness_maturity`; one of high, low, medium. Did you mean 'high'",
        ),
        (_with(trigger_confidence=3), r"got `int` - at `\$\[1\]\.trigger_confidence"),
        (_with(name=7), r"Expected `str`.*\[1\]\.name"),
        (_with(name=""), r"needs a name - at `\$\[1\]"),
        (_with(inputs=[]), r"\[1\]\.inputs"),
        (_with(inputs={"requird": []}), r"unknown field `requird`.*\[1\]\.inputs"),
        (
            _with(inputs={"required": [{"input_name": "a", "provided": "yes"}]}),
            r"Expected `bool`.*\[1\]\.inputs\.required\[0\]\.provided",
        ),
        (
            _with(
                inputs={
                    "required": [{"input_name": "a", "provided": False}],
                    "optional": [{"input_name": "a", "provided": False}],
                }
            ),
            r"'a' stands twice.*\[1\]\.inputs",
        ),
        ({key: PULL_UP[key] for key in PULL_UP if key != "inputs"}, r"field `inputs`"),
        ("pull-up-account", r"Expected `object`, got `str`"),
    ],
)
def test_what_is_no_opportunity_is_refused_with_what_and_where(bad: object, said: str) -> None:
    with pytest.raises(BadOpportunityError, match=said):
        read_opportunities([PULL_UP, bad])


def test_ready_ranges_follow_from_references() -> None:
    ready = read_opportunity(PULL_UP)
    pending = read_opportunity(_with(action_trigger_status="pending"))
    other = read_opportunity(_with(name="other", action_trigger_status="triggered"))
    references = {4: (ready,), 2: (ready, other, other), 3: (pending,)}
    assert ranges_of(references) == {"pull-up-account": (2, 4), "other": (2,)}


def test_a_dialogue_refuses_what_cannot_be_one() -> None:
    one, two = (Turn(number=n, speaker="agent", text="") for n in (1, 2))
    with pytest.raises(ValueError, match="got 1 after 2"):
        Dialogue(id="d", turns=(two, one))
    with pytest.raises(ValueError, match="turns of 'x' must rise"):
        Dialogue(id="d", turns=(one,), ready_ranges={"x": (1, 1)})
    with pytest.raises(ValueError, match="questions: there is no turn 3"):
        Dialogue(id="d", turns=(one, two), questions={3: ("Why?",)})
    with pytest.raises(ValueError, match="2 values and 1 slots"):
        ObservedAction(name="x", values=("a", "b"), slots=("s",))


def test_observed_actions_come_with_their_turn_and_their_named_values() -> None:
    action = ObservedAction(name="x", values=("a", "b", "c"), slots=("s", None, "s"))
    turns = (
        Turn(number=1, speaker="agent", text="hi"),
        Turn(number=2, speaker="action", text="", observed=(action,)),
    )
    assert Dialogue(id="d", turns=turns).observed == [(2, action)]
    assert action.values_by_slot == {"s": "a"}
