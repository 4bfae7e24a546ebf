"""Budgets: their texts and their lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.errors import SettingsError
from timeful.tasks.budgets import Baseline, Budget, read_budget

TOOK = Baseline(counted=8e9, steps=4)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("none", None),
        ("0.75x", 6_000_000_000),
        ("3x", 24_000_000_000),
        ("1steps", 2_000_000_000),
        ("30@careful", 60_000_000_000),
        ("20s", 20_000_000_000),
        ("0.001s", 1_000_000),
    ],
)
def test_a_budget_is_so_long_and_is_written_as_it_was_read(text: str, span: int | None) -> None:
    budget = read_budget(text)
    assert budget.span(TOOK) == span
    assert str(budget) == text


@pytest.mark.parametrize(
    "text", ["", "x", "0x", "-1x", "1", "1y", "infx", "nans", "1..2s", "steps", "5@", "0@a"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="a budget is"):
        read_budget(text)


@pytest.mark.parametrize("text", ["1000000s", "1e300s", "1e30x"])
def test_a_budget_beyond_all_time_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="below a million"):
        read_budget(text)


@given(
    st.floats(0, 1e6, exclude_min=True, exclude_max=True),
    st.sampled_from(["x", "steps", "s", "@a"]),
)
def test_two_budgets_bear_one_name_only_if_they_are_the_same(amount: float, unit: str) -> None:
    budget = read_budget(f"{amount!r}{unit}")
    assert budget.amount == amount
    assert read_budget(str(budget)) == budget


@given(st.floats(0.01, 1000), st.sampled_from(["times", "steps"]), st.integers(1, 10**13))
def test_a_relative_budget_grows_with_the_baseline(amount: float, kind: str, counted: int) -> None:
    budget = Budget(kind, amount)  # type: ignore[arg-type]
    one = budget.span(Baseline(counted=counted, steps=3))
    two = budget.span(Baseline(counted=2 * counted, steps=3))
    assert one is not None
    assert two is not None
    assert 1 <= one <= two


def test_half_a_nanosecond_is_a_nanosecond_not_no_time() -> None:
    assert Budget("times", 0.1).span(Baseline(counted=1, steps=1)) == 1
    assert Budget("times", 0.75).span(Baseline(counted=5, steps=1)) == 4
