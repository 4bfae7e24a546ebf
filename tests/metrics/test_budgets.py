"""Metrics of episodes under a time budget."""

from math import pi, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.suites.timely.synthetic import row
from timeful.metrics.budgets import by_budget, right_in_time, utilisation


def test_a_late_answer_is_wrong() -> None:
    assert right_in_time(row()) == 1
    assert right_in_time(row(reason="deadline")) == 0
    assert right_in_time(row(value=0.0)) == 0


@given(st.lists(st.sampled_from(["0.75x", "1x", "2x", "3x"])))
def test_budgets_divide_the_rows(budgets: list[str]) -> None:
    groups = by_budget([row(budget=budget) for budget in budgets])
    assert list(groups) == list(dict.fromkeys(budgets))
    assert {name: len(rows) for name, rows in groups.items()} == {
        b: budgets.count(b) for b in groups
    }


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.integers(1, 10**14))
def test_more_time_is_more_utilisation_until_it_is_all_used(a: int, b: int, budget: int) -> None:
    least, most = sorted((a, b))
    assert 0 <= utilisation(least, budget) <= utilisation(most, budget) <= 1
    assert utilisation(budget, budget) == utilisation(budget + a, budget) == 1


def test_utilisation_is_equation_10() -> None:
    assert utilisation(0, 5) == 0
    assert utilisation(1, 3) == pytest.approx(sin(pi / 6)) == pytest.approx(0.5)
