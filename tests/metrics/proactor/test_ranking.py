"""PRI: worked by hand, its laws, and the published values from the published columns."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeful.errors import SettingsError
from timeful.metrics.proactor.files import read_results
from timeful.metrics.proactor.ranking import Result, rank
from timeful.metrics.proactor.tables import ranking_table
from timeful.metrics.proactor.turns import relative_difference
from timeful.suites.proactor.cells import REFERENCE


def result(name: str, *values: float) -> Result:
    ac, max_ac, difference, pt, ftr, rar = values
    return Result(name=name, ac=ac, max_ac=max_ac, difference=difference, pt=pt, ftr=ftr, rar=rar)


def test_a_group_worked_by_hand() -> None:
    low, middle, high = rank(
        [
            result("low", 0.2, 0.5, 1.0, 0.1, 0.3, 0.4),
            result("middle", 0.4, 0.5, 0.0, 0.2, 0.1, 0.6),
            result("high", 0.6, 0.5, 0.5, 0.3, 0.2, 0.8),
        ]
    )[::-1]
    # All Max AC are equal, so each is 0.5.
    assert (low.ci, low.ti) == pytest.approx(((0 + 0.5 + 0) / 3, 0.001))
    assert (middle.ci, middle.ti) == pytest.approx(((0.5 + 0.5 + 1) / 3, (0.5 + 1 + 0.5) / 3))
    assert (high.ci, high.ti) == pytest.approx(((1 + 0.5 + 0.5) / 3, (1 + 0.5 + 1) / 3))
    assert high.pri == pytest.approx(2 * (2 / 3) * (5 / 6) / (2 / 3 + 5 / 6))
    assert [one.rank for one in (high, middle, low)] == [1, 2, 3]


def test_a_group_of_one_is_in_the_middle() -> None:
    (alone,) = rank([result("alone", 0.9, 0.9, 0.0, 0.9, 0.0, 0.9)])
    assert (alone.pri, alone.ci, alone.ti, alone.rank) == (0.5, 0.5, 0.5, 1)
    assert rank([]) == []


def test_a_rounding_error_is_no_range() -> None:
    third = 0.1 + 0.1 + 0.1
    assert third != 0.3
    one, other = rank([result("a", 0.3, 1, 0, 0.3, 0, 1), result("b", third, 1, 0, third, 0, 1)])
    assert one.pri == other.pri == 0.5


def test_equals_share_a_rank_and_keep_their_order() -> None:
    best, one = result("best", 1, 1, 0, 1, 0, 1), result("a", 0, 0, 1, 0, 1, 0)
    found = rank([one, replace(one, name="b"), best, replace(one, name="c")])
    assert [(each.result.name, each.rank) for each in found] == [
        ("best", 1),
        ("a", 2),
        ("b", 2),
        ("c", 2),
    ]


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, 0.5, 1.0, 5e-324, 1.7e308, -1.7e308]  # whose ranges no float holds, or halves
)
groups = st.lists(
    st.tuples(numbers, numbers, numbers, numbers, numbers, numbers), min_size=1, max_size=5
)


@settings(max_examples=60, deadline=None)
@given(groups)
def test_all_indices_lie_between_0_and_1_and_the_best_comes_first(
    rows: list[tuple[float, ...]],
) -> None:
    found = rank([result(str(place), *row) for place, row in enumerate(rows)])
    for one in found:
        assert 0.001 <= one.ci <= 1 + 1e-12
        assert 0.001 <= one.ti <= 1 + 1e-12
        assert min(one.ci, one.ti) - 1e-12 <= one.pri <= max(one.ci, one.ti) + 1e-12
    assert [one.pri for one in found] == sorted((one.pri for one in found), reverse=True)


@settings(max_examples=60, deadline=None)
@given(groups, st.permutations(range(5)))
def test_the_order_of_the_group_changes_no_index(
    rows: list[tuple[float, ...]], order: list[int]
) -> None:
    group = [result(str(place), *row) for place, row in enumerate(rows)]
    shuffled = [group[place] for place in order if place < len(group)]
    one, other = ({each.result.name: each for each in rank(some)} for some in (group, shuffled))
    assert one == other


PUBLISHED = ("ABCD+", "Home Loan")
NAMES = {
    "AC": "ac",
    "Max AC": "max_ac",
    "Difference": "difference",
    "PT": "pt",
    "FTR": "ftr",
    "RAR": "rar",
}


def published(data: str) -> tuple[list[Result], dict[str, float]]:
    """The rows of Table 5, and their PRI by name."""
    values: dict[str, dict[str, float]] = {}
    pri: dict[str, float] = {}
    for number in REFERENCE.numbers:
        method = str(number.where["method"])
        if number.where["data"] == data and number.source == "Table 5":
            if number.metric in NAMES:
                assert 0 < (number.spread or 0) < 0.2
                values.setdefault(method, {})[NAMES[number.metric]] = number.value
            else:
                pri[method] = number.value
    return [Result(name=method, **numbers) for method, numbers in values.items()], pri


@pytest.mark.parametrize("data", PUBLISHED)
def test_all_published_values_follow_from_the_published_columns(data: str) -> None:
    group, pri = published(data)
    assert len(group) == 17
    for one in rank(group):
        assert one.pri == pytest.approx(pri[one.result.name], abs=5.1e-5), one.result.name


def test_the_values_of_table_1_are_those_of_the_larger_group_of_table_5() -> None:
    """Table 1 leaves three members out and keeps the values that they had a part in."""
    group, pri = published("ABCD+")
    found = rank([one for one in group if not one.name.startswith("GPT-4.1-mini")])
    assert len(found) == 14
    assert not [one for one in found if abs(one.pri - pri[one.result.name]) < 0.001]
    assert [one.result.name for one in found[:2]] == [
        "ProActor-Q4 + Custom RULER",
        "ProActor-Q4 + Adaptive RULER",
    ]


def test_published_differences_follow_from_their_means_but_for_six() -> None:
    wrong = []
    for data in PUBLISHED:
        for one in published(data)[0]:
            found = relative_difference(one.ac, one.max_ac)
            assert found is not None
            # Means are published with three digits.
            if abs(found - one.difference) > 0.005:
                wrong.append((one.name, one.difference, round(found, 3)))
    assert wrong == [
        ("GPT-4.1-mini Non-Reasoning", 0.363, 0.444),  # three times AC again
        ("GPT-4.1-mini Reasoning", 0.315, 0.746),
        ("GPT-4.1-mini Reasoning + ASG", 0.303, 0.772),
        ("GPT-5.1 Non-Reasoning", 0.717, 1.22),  # twice the value of Home Loan
        ("GPT-5.1 Reasoning + ASG", 0.712, 0.745),
        ("ProActor-Q4 + Adaptive RULER", 0.32, 0.36),
    ]


def test_the_table_holds_the_longest_names_in_80_columns() -> None:
    group, _ = published("ABCD+")
    text = ranking_table(rank([*group, result("x" * 90, 1e9, -1e9, 2e5, 0, 0, 0)]))
    assert max(map(len, text.splitlines())) <= 80
    assert "within this group of 18" in text


HEADER = "name,ac,max_ac,difference,pt,ftr,rar\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs the column name once; line 1 has nothing"),
        ("name,ac\n", "needs the column max_ac once"),
        ("name,ac,ac,max_ac,difference,pt,ftr,rar\n", "needs the column ac once"),
        (HEADER, "holds no result"),
        (HEADER + "a,1,1,1,1,1\n", "line 2: 6 values under 7 columns"),
        (HEADER + "a,1,1,1,1,1,1,1\n", "line 2: 8 values under 7 columns"),
        (HEADER + "\na,1,1,1,nan,1,1\n", "line 3: pt must be a finite number, got 'nan'"),
        (HEADER + "a,1,inf,1,1,1,1\n", "line 2: max_ac must be a finite number, got 'inf'"),
        (HEADER + "a,1,1,1,1,1,\n", "line 2: rar must be a finite number, got ''"),
        (HEADER + "a,0.3±0.1,1,1,1,1,1\n", "line 2: ac must be a finite number"),
        (HEADER + ",1,1,1,1,1,1\n", "line 2: there is no name"),
        (HEADER + "a,1,1,1,1,1,1\na,1,1,1,1,1,1\n", "line 3: 'a' stands twice"),
        (HEADER + '"a,1\n', "is no CSV"),
    ],
)
def test_a_table_that_cannot_be_ranked_is_refused_with_line_and_column(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=said):
        read_results(path)


def test_a_table_from_a_spreadsheet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(
        b"\xef\xbb\xbfftr, rar ,note,pt,difference,max_ac,ac,name\r\n"
        b'5,6,x,4,3,2,1,"A, and B"\r\n\r\n'
    )
    assert read_results(path) == [result("A, and B", 1, 2, 3, 4, 5, 6)]
