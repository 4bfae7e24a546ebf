"""Calls of tools as JSON: what is one, what is none, and why."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.tools import BadCallError, Kind, Parameter, ToolCall, ToolSpec, find_tool, read_call

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)
CALLS = st.builds(
    lambda name, arguments, identity: ToolCall(name=name, arguments=arguments, id=identity),
    st.text(min_size=1),
    st.dictionaries(st.text(), VALUES),
    st.text(),
)


@given(CALLS)
def test_a_call_is_read_as_it_was_written(call: ToolCall) -> None:
    assert read_call(str(call)) == call


@given(CALLS)
def test_arguments_may_come_as_text_of_json_as_endpoints_send_them(call: ToolCall) -> None:
    sent = {"name": call.name, "arguments": json.dumps(dict(call.arguments)), "id": call.id}
    assert read_call(json.dumps(sent)) == call


@pytest.mark.parametrize(
    "arguments", [{}, {"arguments": {}}, {"arguments": None}, {"arguments": ""}]
)
def test_arguments_may_be_missing(arguments: dict[str, object]) -> None:
    assert read_call(json.dumps({"name": "look", **arguments})) == ToolCall(name="look")


def test_an_id_that_is_no_text_is_none() -> None:
    assert read_call('{"name": "look", "id": 7}') == ToolCall(name="look")


@given(st.text() | VALUES.map(json.dumps))
def test_any_text_is_a_call_or_is_refused_in_words(text: str) -> None:
    try:
        said = str(read_call(text))
    except BadCallError as error:
        said = str(error)
    assert said.encode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the call is no valid JSON"),
        ("[" * 100_000, "the call is no valid JSON"),
        ('"look"', "a call is"),
        ('{"name": ""}', "a call is"),
        ('{"name": 3}', "a call is"),
        ('{"name": "look", "arguments": "{"}', "the arguments are no valid JSON"),
        ('{"name": "look", "arguments": [1]}', "the arguments must be a JSON object"),
        ('{"name": "look", "arguments": {"at": -Infinity}}', "there is no -Infinity in JSON"),
        ('{"name": "look", "arguments": "{\\"at\\": NaN}"}', "there is no NaN in JSON"),
        ('{"name": "look", "arguments": {"at": "\\udc80"}}', "surrogates not allowed"),
    ],
)
def test_what_is_no_call_is_refused_with_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(BadCallError, match=why):
        read_call(text)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", ["", "a"], [1, None, True, []]),
        ("integer", [0, -3], [1.0, "1", True, None]),
        ("number", [0, 1.5], ["1", False, None]),
        ("boolean", [True, False], [0, 1, "true", None]),
    ],
)
def test_an_argument_is_of_the_kind_that_was_asked_for(
    kind: Kind, good: list[object], bad: list[object]
) -> None:
    tool = ToolSpec(
        name="go", description="", parameters=(Parameter(name="to", description="", kind=kind),)
    )
    for value in good:
        assert find_tool(ToolCall(name="go", arguments={"to": value}), [tool]) is tool
    for value in bad:
        with pytest.raises(BadCallError, match=f"'to' of go must be of type {kind}, got "):
            find_tool(ToolCall(name="go", arguments={"to": value}), [tool])
