"""Text in pieces: what is let pass, what is held back, and what is a call."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeful.models.sse import overlap_length
from timeful.serving.answers import StopCutter, ToolCallReader
from timeful.tools import ToolCall

TEXTS = st.text(alphabet="ab<", max_size=20)
STOPS = st.lists(st.text(alphabet="ab<", min_size=1, max_size=4), max_size=3)


def cuts(text: str, places: list[int]) -> list[str]:
    ends = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(ends)]


@given(TEXTS, STOPS, st.lists(st.integers(0, 99), max_size=5))
def test_a_text_is_cut_at_the_first_stop_however_it_comes(text, stops, places):
    cutter, said = StopCutter(stops), ""
    is_cut = False
    for piece in cuts(text, places):
        if not is_cut:
            some, is_cut = cutter.feed(piece)
            said += some
    said += "" if is_cut else cutter.flush()
    found = [text.find(stop) for stop in stops if stop in text]
    assert is_cut == bool(found)
    if not found:
        assert said == text
    else:
        # A stop that ends earlier may be met before one that begins earlier.
        assert text.startswith(said)
        assert not any(stop in said for stop in stops)
        assert any(text.startswith(stop, len(said)) for stop in stops)


@given(TEXTS, STOPS)
def test_what_is_held_back_may_begin_a_mark(text, marks):
    count = overlap_length(text, marks)
    assert count == max(
        (n for n in range(len(text) + 1) for m in marks if n < len(m) and text.endswith(m[:n])),
        default=0,
    )


def read(text: str, places: list[int]) -> tuple[str, list[ToolCall]]:
    reader, said, calls = ToolCallReader(), "", []
    for piece in cuts(text, places):
        some, more = reader.feed(piece)
        said, calls = said + some, [*calls, *more]
    some, more = reader.flush()
    return said + some, [*calls, *more]


CALLS = st.builds(
    ToolCall,
    name=st.text(alphabet="ab", min_size=1, max_size=3),
    arguments=st.dictionaries(st.text(alphabet="a<", max_size=2), st.text(alphabet='a"{}<')),
)


@given(
    st.lists(st.tuples(st.text(alphabet="xy <\n", max_size=6), CALLS), max_size=3),
    st.text(alphabet="xy\n", max_size=6),
    st.lists(st.integers(0, 500), max_size=8),
)
def test_calls_come_out_of_a_text_however_it_comes(parts, end, places):
    text = "".join(f"{said}<tool_call>\n{call!s}\n</tool_call>" for said, call in parts) + end
    said, calls = read(text, places)
    assert said == "".join(one for one, _ in parts) + end
    assert [json.loads(str(call)) for call in calls] == [json.loads(str(c)) for _, c in parts]


@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        ('<tool_call>{"name": "a"}', "", ["a"]),
        ('<tool_call>{"name": "a"', '<tool_call>{"name": "a"', []),
        ("<tool_call>a</tool_call>b", "<tool_call>a</tool_call>b", []),
        ("a</tool_call>b", "a</tool_call>b", []),
        ("a <tool_cal", "a <tool_cal", []),
    ],
)
def test_what_is_no_whole_call(text, said, calls):
    assert read(text, [3, 7]) == (said, [ToolCall(name=one) for one in calls])
