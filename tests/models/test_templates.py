"""Prompts as settings: what is filled in, and what is left as it is."""

import pytest

from timeful.errors import SettingsError
from timeful.models.templates import check_template, fill, names_in


def test_only_names_that_there_are_are_filled_in() -> None:
    assert fill("{a} {b} {c d} {} { a }", {"a": "1"}) == "1 {b} {c d} {} { a }"


def test_two_braces_are_one_and_three_are_two() -> None:
    assert fill('{{"x": {a}}} {{{ }}}', {"a": "1"}) == '{"x": 1} {{ }}'


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    assert fill("{a}{b}", {"a": "{b}{{", "b": "2"}) == "{b}{{2"


def test_an_empty_value_is_a_value() -> None:
    assert fill("<{a}>", {"a": ""}) == "<>"


def test_a_name_that_is_not_known_is_refused_with_the_nearest() -> None:
    assert names_in("{a_b} {{c}} {D}") == {"a_b"}
    check_template("it", "{a_b}", ("a_b",))
    with pytest.raises(SettingsError, match="Did you mean 'tool_catalog'"):
        check_template("it", "{tool_catalogue}", ("tool_catalog",))
