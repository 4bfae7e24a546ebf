"""The cases are as many as published, within the published ranges, and the same every time."""

from collections import Counter

import pytest

from timeful.environments.kitchen.cases import (
    DISHES,
    PROBLEMS,
    multi_dish_cases,
    one_dish_cases,
)
from timeful.environments.kitchen.settings import Case, in_ticks
from timeful.errors import SettingsError

BOTH = [*one_dish_cases(), *multi_dish_cases()]


def test_one_dish_is_4_by_4_by_2_by_4_cases_of_one_dish_one_problem_and_one_slot() -> None:
    cases = one_dish_cases()
    assert len(cases) == len({case.name for case in cases}) == 128
    shape = Counter((case.dishes[0].family, case.problems[0].family) for case in cases)
    assert shape == {(dish, length): 8 for dish in DISHES for length in PROBLEMS}
    assert all((len(c.dishes), len(c.problems), c.stoves) == (1, 1, 1) for c in cases)


def test_multi_dish_is_12_cells_by_3_families_by_2_seeds() -> None:
    cases = multi_dish_cases()
    assert len(cases) == len({case.name for case in cases}) == 72
    shape = Counter((len(c.dishes), len(c.problems), c.stoves, c.family) for c in cases)
    assert len(shape) == 36
    assert set(shape.values()) == {2}


def _follows(case: Case, place: int) -> bool:
    """Whether an offset was laid so that the dish signals right after the one before."""
    paired = case.family in ("soft_vs_critical_conflict", "staggered_criticals")
    return paired and case.stoves == 2 and place == 1


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case.name)
def test_every_number_lies_in_the_range_of_its_family(case: Case) -> None:
    for place, dish in enumerate(case.dishes):
        family = DISHES[dish.family]
        for name in ("prep", "finish", "window"):
            low, high = getattr(family, name)
            assert low <= in_ticks(getattr(dish, name)) <= high, (dish, name)
        if not _follows(case, place):
            assert family.offset[0] <= in_ticks(dish.offset) <= family.offset[1]
        assert (dish.slack is None) == (family.slack is None) == dish.is_critical
        assert dish.is_whistle == dish.is_critical
        if dish.slack is not None and family.slack is not None:
            assert family.slack[0] <= in_ticks(dish.slack) <= family.slack[1]
    for problem in case.problems:
        low, high = PROBLEMS[problem.family]
        assert low <= problem.length <= high


@pytest.mark.parametrize(
    ("family", "gap"), [("soft_vs_critical_conflict", (8, 28)), ("staggered_criticals", (10, 35))]
)
def test_with_two_slots_the_second_signal_of_a_pair_follows_within_the_gap(
    family: str, gap: tuple[int, int]
) -> None:
    cases = [case for case in multi_dish_cases() if case.family == family and case.stoves == 2]
    assert len(cases) == 12
    for case in cases:
        first, second = case.dishes[:2]
        # The second is staged after its preparation and two calls of 12 ticks.
        later = in_ticks(second.offset - first.offset + second.prep) + 24
        assert gap[0] <= later <= gap[1]


def test_case_families_begin_as_published() -> None:
    anchors = {
        "soft_vs_critical_conflict": ["short", "long"],
        "staggered_criticals": ["medium", "long"],
        "resume_pressure": ["long", "medium"],
    }
    for case in multi_dish_cases():
        assert [problem.family for problem in case.problems[:2]] == anchors[case.family]
        kinds = [dish.is_critical for dish in case.dishes]
        match case.family:
            case "soft_vs_critical_conflict":
                assert kinds[:2] == [False, True]
            case "staggered_criticals":
                assert kinds[:2] == [True, True]
            case "resume_pressure":
                assert kinds[:3] == [True, False, True]


def test_cases_are_the_same_every_time_and_another_set_is_another_one() -> None:
    assert one_dish_cases() == one_dish_cases()
    assert multi_dish_cases() == multi_dish_cases()
    pairs = zip(one_dish_cases(), one_dish_cases(sample=1), strict=True)
    assert all(one.name == other.name for one, other in pairs)
    assert one_dish_cases() != one_dish_cases(sample=1)


@pytest.mark.parametrize(
    "arguments", [{"sample": -1}, {"seeds": ()}, {"seeds": (7, 7)}, {"structures": 0}]
)
def test_numbers_that_make_no_cases_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        one_dish_cases(**arguments)  # type: ignore[arg-type]
