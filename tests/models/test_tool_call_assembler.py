"""Calls of tools in a stream, however a server sends them: joined, and as text."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.agents.tool_user import find_calls
from timeful.errors import ModelError
from timeful.models.sse import CallPiece, Function, decode_chunk
from timeful.models.tool_call_assembler import ToolCallAssembler
from timeful.tools import BadCallError, ToolCall, read_call


def piece(
    arguments: Any = None,
    *,
    name: str | None = None,
    call: str | None = None,
    index: int | None = 0,
) -> CallPiece:
    return CallPiece(index=index, id=call, function=Function(name=name, arguments=arguments))


def joined(pieces: Sequence[CallPiece]) -> list[str]:
    """What comes out after each fragment, and at the end."""
    joiner = ToolCallAssembler()
    return [*(joiner.feed([one]) for one in pieces), joiner.flush()]


def calls(pieces: Sequence[CallPiece]) -> list[ToolCall]:
    return [read_call(text) for text in find_calls("".join(joined(pieces)))]


STEP = ToolCall(name="step", arguments={"action": "go\n <north>"}, id="c1")
ASK = ToolCall(name="get_duration", id="c2")
GO = json.dumps(STEP.arguments)


# --- servers and their ways ------------------------------------------------------------------


@pytest.mark.parametrize(
    "pieces",
    [
        # as OpenAI: the name first, then fragments of arguments
        [
            piece("", name="step", call="c1"),
            *map(piece, [GO[:4], GO[4:9], GO[9:]]),
            piece("", name="get_duration", call="c2", index=1),
            piece("{}", index=1),
        ],
        # each call in one fragment
        [piece(GO, name="step", call="c1"), piece("{}", name="get_duration", call="c2", index=1)],
        # the second without arguments, or with an object
        [piece(GO, name="step", call="c1"), piece(name="get_duration", call="c2", index=1)],
        [
            piece(dict(STEP.arguments), name="step", call="c1"),
            piece({}, name="get_duration", call="c2", index=1),
        ],
        # interleaved
        [
            piece(name="step", call="c1"),
            piece(GO[:5]),
            piece(name="get_duration", call="c2", index=1),
            piece("{", index=1),
            piece(GO[5:]),
            piece("}", index=1),
        ],
        # every index is 0, and every call has its id
        [piece(GO, name="step", call="c1"), piece("{}", name="get_duration", call="c2")],
        # no index at all
        [
            piece(GO[:5], name="step", call="c1", index=None),
            piece(GO[5:], index=None),
            piece("{}", name="get_duration", call="c2", index=None),
        ],
        # a new id with every fragment, as some servers make them up
        [
            piece(name="step", call="c1"),
            piece(GO[:5], call="x1"),
            piece(GO[5:], call="x2"),
            piece("{}", name="get_duration", call="c2", index=1),
        ],
        # the name again with every fragment
        [
            piece(GO[:5], name="step", call="c1"),
            piece(GO[5:], name="step", call="c1"),
            piece("{}", name="get_duration", call="c2", index=1),
        ],
        # {} before the true arguments
        [
            piece("{}", name="step", call="c1"),
            piece(GO[:5]),
            piece(GO[5:]),
            piece("{}", name="get_duration", call="c2", index=1),
        ],
        # the whole arguments once more at the end
        [
            piece(GO, name="step", call="c1"),
            piece(GO),
            piece("{}", name="get_duration", call="c2", index=1),
        ],
        # the id comes late
        [
            piece(name="step"),
            piece(call="c1"),
            piece(GO),
            piece("{}", name="get_duration", call="c2", index=1),
        ],
    ],
)
def test_the_same_calls_come_out_however_a_server_sends_them(pieces: list[CallPiece]) -> None:
    assert calls(pieces) == [STEP, ASK]


def test_calls_without_ids_have_none() -> None:
    pieces = [piece("{}", name="look"), piece(GO, name="step"), piece(GO, name="step")]
    assert [(one.name, one.id) for one in calls(pieces)] == [("look", ""), *2 * [("step", "")]]


@pytest.mark.parametrize("arguments", ['{"action": "no', "north", "[1]", '"{}"', '{"a": 1}}', "}"])
def test_arguments_that_are_no_json_object_come_as_text_with_the_id(arguments: str) -> None:
    [text] = find_calls("".join(joined([piece(arguments, name="step", call="c1")])))
    assert json.loads(text) == {"name": "step", "arguments": arguments, "id": "c1"}
    with pytest.raises(BadCallError, match=r"arguments (are no valid JSON|must be a JSON object)"):
        read_call(text)


# --- when a call is known --------------------------------------------------------------------


def test_a_call_comes_out_with_the_last_character_of_its_arguments() -> None:
    pieces = [piece(name="step", call="c1"), *map(piece, GO), piece("{}", name="look", index=1)]
    out = joined(pieces)
    assert [bool(text) for text in out] == [*[False] * len(GO), True, False, True]


def test_a_call_without_arguments_is_known_when_something_follows_or_at_the_end() -> None:
    out = joined([piece("{}", name="look"), piece(GO, name="step", index=1)])
    assert [len(find_calls(text)) for text in out] == [0, 2, 0]
    assert [len(find_calls(text)) for text in joined([piece("{}", name="look")])] == [0, 1]


def test_calls_come_out_in_the_order_of_their_start() -> None:
    out = joined(
        [piece(name="first"), piece(GO, name="second", index=1), piece(GO, name="third", index=2)]
    )
    assert [len(find_calls(text)) for text in out] == [0, 0, 0, 3]


def test_what_comes_after_whole_arguments_changes_them_no_more() -> None:
    pieces = [piece(name="first"), piece(GO, name="second", index=1), piece(" so", index=1)]
    assert [one.arguments for one in calls(pieces)] == [{}, STEP.arguments]


NAMES = st.sampled_from(["step", "look", "execute"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
TAGGED = st.sampled_from(["</tool_call>", "<tool_call>", "<think>", "</think>"])
ARGUMENTS = st.dictionaries(st.text(), VALUES | TAGGED)
CALLS = st.lists(
    st.builds(lambda n, a: ToolCall(name=n, arguments=a), NAMES, ARGUMENTS), max_size=4
)


@given(calls_=CALLS, places=st.lists(st.integers(0, 300), max_size=20), data=st.data())
def test_calls_are_the_same_however_the_fragments_are_cut_and_mixed(
    calls_: list[ToolCall], places: list[int], data: st.DataObject
) -> None:
    queues = []
    for index, call in enumerate(calls_):
        text = json.dumps(dict(call.arguments), ensure_ascii=data.draw(st.booleans()))
        bounds = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
        parts = [piece(text[begin:end], index=index) for begin, end in pairwise(bounds)]
        queues.append([piece(name=call.name, call=f"c{index}", index=index), *parts])
    mixed = [queue.pop(0) for queue in queues]
    while any(queues):
        mixed.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    said = "".join(joined(mixed))
    read = [read_call(text) for text in find_calls(f"so be it {said}")]
    assert [(one.name, one.arguments) for one in read] == [(c.name, c.arguments) for c in calls_]
    assert [one.id for one in read] == [f"c{number}" for number in range(len(calls_))]
    assert re.sub(r"<tool_call>.*?</tool_call>", "", said, flags=re.DOTALL) == ""


# --- what is read of an event ----------------------------------------------------------------


def test_an_event_says_what_is_new_of_calls_and_what_of_it_costs_tokens() -> None:
    event = decode_chunk(
        b'{"choices": [{"delta": {"content": null, "tool_calls": [{"index": 0, "id": "c1", '
        b'"type": "function", "function": {"name": "step", "arguments": "{\\"a"}}, '
        b'{"index": 1}]}}]}'
    )
    assert event.has_news
    assert event.text == 'step{"a'
    assert [(one.index, one.id) for one in event.calls] == [(0, "c1"), (1, None)]


def test_calls_of_another_shape_are_refused() -> None:
    with pytest.raises(ModelError, match="malformed event"):
        decode_chunk(b'{"choices": [{"delta": {"tool_calls": "step"}}]}')
    assert not decode_chunk(b'{"choices": [{"delta": {"tool_calls": null}}]}').has_news
    assert not decode_chunk(b'{"choices": [{"delta": {"tool_calls": []}}]}').has_news
