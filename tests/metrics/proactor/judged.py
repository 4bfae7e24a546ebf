"""Turns made by hand and by hypothesis, small enough that names and values meet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from timeful.dialogues.opportunity import STATUSES, Input, Inputs, Opportunity


@dataclass(frozen=True)
class Turn:
    turn: int
    predictions: Sequence[Opportunity]
    references: Sequence[Opportunity]
    ready_ranges: Mapping[str, Sequence[int]]


def opportunity(name: str, status: str = "pending", **values: Any) -> Opportunity:
    """An opportunity with one required input a value; `...` is for what is not provided."""
    given = tuple(
        Input(name=key, provided=value is not ..., value=None if value is ... else value)
        for key, value in values.items()
    )
    return Opportunity(name=name, status=status, inputs=Inputs(required=given))  # type: ignore[arg-type]


values = st.sampled_from(
    ["a", " A ", "b", "a  b", "A b", "7", 7, 7.0, "7.0", "07", 1, True, "true", None, [7], ["7.0"]]
)
inputs = st.builds(
    lambda given, cut: Inputs(required=tuple(given[:cut]), optional=tuple(given[cut:])),
    st.lists(
        st.builds(Input, name=st.sampled_from("xyz"), provided=st.booleans(), value=values),
        unique_by=lambda one: one.name,
    ),
    st.integers(0, 3),
)
opportunities = st.lists(
    st.builds(
        Opportunity, name=st.sampled_from("pqr"), status=st.sampled_from(STATUSES), inputs=inputs
    ),
    max_size=4,
)
ranges = st.dictionaries(st.sampled_from("pqr"), st.lists(st.integers(1, 6), max_size=3))
turns = st.builds(
    Turn,
    turn=st.integers(1, 6),
    predictions=opportunities,
    references=opportunities,
    ready_ranges=ranges,
)
