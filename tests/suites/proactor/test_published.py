"""What was typed from the paper; that its PRI follows, `test_ranking` holds."""

from timeful.suites.proactor.published import PUBLISHED, READY, nearest_data


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
