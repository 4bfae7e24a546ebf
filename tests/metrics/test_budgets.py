"""How well a time budget was used, as properties of any runs."""

from dataclasses import dataclass
from math import pi, sin
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.metrics.budgets import (
    accuracy,
    averaged,
    by_budget,
    length_by_budget,
    on_time_rate,
    tool_use_rate,
    utilisation,
    value_by_budget,
)


@dataclass(frozen=True)
class Run:
    budget: str = "1x"
    is_on_time: bool = True
    value: float = 1.0
    tokens: int = 10
    used_tool: bool = False


RUNS = st.lists(
    st.builds(
        Run,
        budget=st.sampled_from(["0.75x", "1x", "2x", "3x"]),
        is_on_time=st.booleans(),
        value=st.sampled_from([0.0, 1.0]),
        tokens=st.integers(0, 10_000),
        used_tool=st.booleans(),
    ),
    min_size=1,
)


@given(RUNS)
def test_an_accuracy_is_at_most_the_share_that_is_on_time(runs: list[Run]) -> None:
    assert 0 <= accuracy(runs) <= on_time_rate(runs) <= 1
    assert accuracy(runs) == pytest.approx(fmean(run.is_on_time and run.value for run in runs))


@given(RUNS)
def test_what_was_late_is_wrong_however_right_it_is(runs: list[Run]) -> None:
    late = [Run(run.budget, False, 1.0, run.tokens, run.used_tool) for run in runs]
    assert accuracy(late) == 0
    both = len(runs) * accuracy(runs) / (len(runs) + len(late))
    assert accuracy(runs + late) == pytest.approx(both)


@given(RUNS)
def test_every_budget_counts_alike_however_many_runs_it_has(runs: list[Run]) -> None:
    means = [accuracy(group) for group in by_budget(runs).values()]
    assert averaged(runs, accuracy) == pytest.approx(fmean(means))
    more = runs + [run for run in runs if run.budget == runs[0].budget]
    assert averaged(more, accuracy) == pytest.approx(averaged(runs, accuracy))


@given(RUNS)
def test_budgets_divide_the_runs(runs: list[Run]) -> None:
    groups = by_budget(runs)
    assert sorted(map(repr, runs)) == sorted(
        repr(run) for group in groups.values() for run in group
    )
    assert set(length_by_budget(runs)) == set(value_by_budget(runs)) == {r.budget for r in runs}
    weighed = sum(length_by_budget(runs)[name] * len(group) for name, group in groups.items())
    assert weighed == pytest.approx(sum(run.tokens for run in runs))


def test_the_rates_are_shares_of_runs() -> None:
    runs = [Run(used_tool=True), Run(is_on_time=False), Run(value=0.0), Run()]
    assert (tool_use_rate(runs), on_time_rate(runs), accuracy(runs)) == (0.25, 0.75, 0.5)


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.integers(1, 10**14))
def test_more_time_is_more_utilisation_until_it_is_all_used(a: int, b: int, budget: int) -> None:
    least, most = sorted((a, b))
    assert 0 <= utilisation(least, budget) <= utilisation(most, budget) <= 1
    assert utilisation(budget, budget) == utilisation(budget + a, budget) == 1


def test_utilisation_is_equation_10() -> None:
    assert utilisation(0, 5) == 0
    assert utilisation(1, 3) == pytest.approx(sin(pi / 6)) == pytest.approx(0.5)
