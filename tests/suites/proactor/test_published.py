"""What was typed from the paper is what the tests of the metrics have, and what PRI gives."""

import pytest

from tests.metrics.proactor.published import ABCD_PLUS, HOME_LOAN
from timeful.metrics.proactor.ranking import Result, rank
from timeful.suites.proactor.published import PUBLISHED, READY, nearest_data

TYPED = {"ABCD+": ABCD_PLUS, "Home Loan": HOME_LOAN}


@pytest.mark.parametrize("data", TYPED)
def test_both_copies_of_table_5_are_the_same(data: str) -> None:
    lines = [line.split(",") for line in TYPED[data].strip().splitlines()]
    other = {name.strip(): [float(each) for each in rest] for name, *rest in lines}
    assert {row.name: [row.pri, *row.means.values()] for row in PUBLISHED[data]} == other


@pytest.mark.parametrize("data", TYPED)
def test_printed_pri_is_that_of_the_printed_columns(data: str) -> None:
    ranked = rank([Result(name=row.name, **row.means) for row in PUBLISHED[data]])
    printed = {row.name: row.pri for row in PUBLISHED[data]}
    for one in ranked:
        assert one.pri == pytest.approx(printed[one.result.name], abs=5.1e-5)


def test_deviations_are_typed_of_each_column() -> None:
    for rows in PUBLISHED.values():
        for row in rows:
            assert row.stds.keys() == row.means.keys()
            assert all(0 < each < 0.2 for each in row.stds.values())


def test_table_8_is_in_order() -> None:
    for _, mean, _, least, low, middle, high, most in READY.values():
        assert least <= low <= middle <= high <= most
        assert least < mean < most


def test_a_domain_is_shown_beside_what_is_like_it() -> None:
    assert nearest_data("domain loan, made") == "Home Loan"
    assert nearest_data("domain shop, made") == "ABCD+"
