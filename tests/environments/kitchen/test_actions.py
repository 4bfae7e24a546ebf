"""The XML protocol is read strictly, and says what is wrong with what it does not take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.environments.kitchen.actions import Action, read_action
from timeful.errors import IllegalActionError

names = st.sampled_from(["D1", "D2", "Q1", "Q17"])
numbers = st.integers(0, 999_999_999)
actions = st.one_of(
    st.builds(Action, verb=st.sampled_from(["prepare", "stage", "finish"]), target=names),
    st.builds(Action, verb=st.just("tutor"), target=names, number=st.none() | numbers),
    st.builds(Action, verb=st.just("wait"), number=st.none() | numbers),
    st.builds(Action, verb=st.sampled_from(["check", "end"])),
    st.builds(Action, verb=st.just("tutored"), target=names, number=numbers, is_done=st.booleans()),
)


@given(actions)
def test_an_action_is_read_back_from_its_own_words(action: Action) -> None:
    assert read_action(str(action)) == action


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not one element"),
        ("wait", "not one element"),
        ("<wait>", "not one element"),
        ("<wait/> <wait/>", "not one element"),
        ("<Wait/>", "not one element"),
        ("<wait ticks=5/>", "not one element"),
        ("<wait ticks='5'/>", "not one element"),
        ('<cook dish="D1"/>', "illegal action '<cook/>'"),
        ("<finish/>", "needs the attribute dish"),
        ('<finish dish=""/>', "needs the attribute dish"),
        ('<finish problem="Q1"/>', "needs the attribute dish"),
        ('<finish dish="D1" tokens="3"/>', "no attribute tokens"),
        ('<finish dish="D1" dish="D2"/>', "twice"),
        ('<tutor problem="Q1" tokens="-3"/>', "no whole number"),
        ('<tutor problem="Q1" tokens="many"/>', "no whole number"),
        ('<tutor problem="Q1" tokens="1.5"/>', "no whole number"),
        ('<tutor problem="Q1" tokens="٣"/>', "no whole number"),
        ('<wait ticks="9999999999"/>', "no whole number"),
        ('<end now="yes"/>', "no attribute now"),
    ],
)
def test_what_is_malformed_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(IllegalActionError, match=reason):
        read_action(text)


@given(st.text(alphabet='<>/="tutorwainfshdQD1 \n', max_size=60))
def test_any_text_is_an_action_or_refused(text: str) -> None:
    try:
        action = read_action(text)
    except IllegalActionError:
        return
    assert read_action(str(action)) == action
