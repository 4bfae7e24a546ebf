"""How one XML action is read from an answer: strictly, and whatever a model says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.agents.action_parser import Outcome
from timeful.agents.xml_actions import parse_tag

FORMS = {"open": {"id": True}, "remind": {"id": True, "after": False}, "return": {}}


@pytest.mark.parametrize(
    "text",
    [
        '<open id="3"/>',
        "<open id='3' />",
        '<open\n  id = "3"></open>',
        'I think it can be done now.\n\n<open id="3"/>\n',
        '```xml\n<open id="3"/>\n```',
        '<think>perhaps <return/></think><open id="3"/>',
        '<open id="3"/> and so: <open id="3"/>',
        'since 2 < 3, <open id="3"/>',
    ],
)
def test_one_action_is_read_whatever_is_said_around_it(text: str) -> None:
    parsed = parse_tag(text, FORMS)
    assert (parsed.outcome, parsed.name, parsed.values) == (Outcome.OK, "open", {"id": "3"})


@pytest.mark.parametrize(
    ("text", "outcome", "detail"),
    [
        ("", Outcome.EMPTY, ""),
        ("open 3", Outcome.NO_ANSWER, "open 3"),
        ('<think><open id="3"/>', Outcome.EMPTY, ""),
        ('<open id="3"', Outcome.UNCLOSED, '<open id="3"'),
        ('<open id="3>', Outcome.UNCLOSED, '<open id="3>'),
        ('<open id="3">', Outcome.ILLEGAL, "<open> is not closed"),
        ('<open id="3">now</open>', Outcome.ILLEGAL, "<open> is not closed"),
        ('<open id="3"></remind>', Outcome.ILLEGAL, "<open> is not closed"),
        ("</open>", Outcome.ILLEGAL, "closes nothing"),
        ('<opne id="3"/>', Outcome.ILLEGAL, "did you mean <open>?"),
        ('<Open id="3"/>', Outcome.ILLEGAL, "<Open> is no action"),
        ("<open/>", Outcome.ILLEGAL, "<open> needs id"),
        ("<open id=3/>", Outcome.ILLEGAL, "cannot read 'id=3'"),
        ('<open id="3" id="4"/>', Outcome.ILLEGAL, "given twice"),
        ('<open id="3" soon="1"/>', Outcome.ILLEGAL, "no attribute 'soon'; it has: id"),
        ('<return id="3"/>', Outcome.ILLEGAL, "no attribute 'id'; it has: none"),
        ('<open id="3"/><return/>', Outcome.SEVERAL, "<open id='3'/>, <return/>"),
        ('<open id="3"/><open id="4"/>', Outcome.SEVERAL, "id='4'"),
        ('<b>now</b> <open id="3"/>', Outcome.ILLEGAL, "<b> is no action"),
    ],
)
def test_anything_else_is_no_action_and_says_why(text: str, outcome: Outcome, detail: str) -> None:
    parsed = parse_tag(text, FORMS)
    assert (parsed.outcome, parsed.name, parsed.values) == (outcome, "", {})
    assert detail in parsed.detail


@given(st.text(alphabet="<>/=\"' openreturnid3\n", max_size=60))
def test_no_answer_breaks_the_parser(text: str) -> None:
    parsed = parse_tag(text, FORMS)
    assert (parsed.outcome is Outcome.OK) == (parsed.name in FORMS)


def test_an_answer_of_half_a_million_signs_is_read_at_once() -> None:
    for text in ("<open " * 80_000, '<open id="' * 50_000, "<a" * 200_000):
        assert parse_tag(text, FORMS).outcome is not Outcome.OK
