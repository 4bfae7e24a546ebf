"""Reading what a server sends, however the network cuts it."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timeful.errors import ModelError
from timeful.models.sse import SseParser, Thinking, ThinkSplitter, decode_chunk
from timeful.models.token_counter import TokenCounter, words


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in pairwise(bounds)]


def cut_text(text: str, places: list[int]) -> list[str]:
    bounds = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[begin:end] for begin, end in pairwise(bounds)]


PLACES = st.lists(st.integers(0, 200), max_size=12)


@given(
    payloads=st.lists(st.binary(min_size=1).filter(lambda b: not set(b"\r\n ") & set(b))),
    ending=st.sampled_from([b"\n", b"\r\n"]),
    places=PLACES,
)
def test_events_are_the_same_however_the_bytes_are_cut(
    payloads: list[bytes], ending: bytes, places: list[int]
) -> None:
    stream = b"".join(b": note%bdata: %b%b%b" % (ending, p, ending, ending) for p in payloads)
    lines = SseParser()
    found = [data for part in cut(stream, places) for data in lines.feed(part)]
    assert found == payloads


@pytest.mark.parametrize("place", range(8))
def test_a_byte_order_mark_before_the_stream_is_ignored(place: int) -> None:
    stream = b"\xef\xbb\xbfdata: x\n\n"
    parser = SseParser()
    assert [*parser.feed(stream[:place]), *parser.feed(stream[place:])] == [b"x"]


def test_an_event_may_have_several_lines_and_no_empty_line_after_the_last() -> None:
    lines = SseParser()
    assert lines.feed(b"id: 1\ndata: a\ndata:b\n\ndata: c") == [b"a\nb"]
    assert lines.flush() == [b"c"]


def test_what_is_no_event_stream_is_refused() -> None:
    with pytest.raises(ModelError, match="event stream"):
        SseParser().feed(b"<html>\n")


def test_an_event_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(ModelError, match=r"malformed.*choices"):
        decode_chunk(b'{"choices": 3}')


def split(parts: list[str], thinking: Thinking) -> tuple[str, str]:
    splitter = ThinkSplitter(thinking)
    pieces = [piece for part in parts for piece in splitter.feed(part)] + splitter.flush()
    assert all(text for _, text in pieces)
    reasoning = "".join(text for channel, text in pieces if channel == "reasoning")
    return reasoning, "".join(text for channel, text in pieces if channel == "answer")


@pytest.mark.parametrize(
    ("text", "thinking", "reasoning", "answer"),
    [
        ("<think>a</think>b", "split", "a", "b"),
        ("\n <think>a</think>\nb", "split", "a", "\nb"),
        ("<think>a</thin b", "split", "a</thin b", ""),
        ("a</think>b", "split", "", "a</think>b"),
        ("a <think>b</think>", "split", "", "a <think>b</think>"),
        ("<thin", "split", "", "<thin"),
        ("a</think>b</think>", "opened", "a", "b</think>"),
        ("<think>a</think>b", "keep", "", "<think>a</think>b"),
        ("<think></think>b", "split", "", "b"),
    ],
)
@given(places=PLACES)
@example(places=list(range(40)))
@example(places=[])
def test_thinking_is_told_apart_however_the_text_is_cut(
    text: str, thinking: Thinking, reasoning: str, answer: str, places: list[int]
) -> None:
    assert split(cut_text(text, places), thinking) == (reasoning, answer)


@given(text=st.text(alphabet="<>/think \n"), places=PLACES)
def test_no_text_is_lost_but_tags(text: str, places: list[int]) -> None:
    reasoning, answer = split(cut_text(text, places), "split")
    assert (reasoning, answer) == split([text], "split")
    kept = text.replace("<think>", "").replace("</think>", "").split()
    both = (reasoning + answer).replace("<think>", "").replace("</think>", "").split()
    assert "".join(both) == "".join(kept)


@given(st.text())
def test_words_are_the_text(text: str) -> None:
    parts = list(words(text))
    assert "".join(parts) == text
    assert len(parts) == max(len(text.split()), bool(text))


@given(st.lists(st.text(min_size=1, max_size=30)), st.none() | st.integers(1, 20))
def test_an_estimate_is_the_larger_of_deltas_and_bytes_but_within_the_budget(
    deltas: list[str], budget: int | None
) -> None:
    meter = TokenCounter(budget)
    for n, delta in enumerate(deltas, start=1):
        size = sum(len(text.encode()) for text in deltas[:n])
        added = meter.add(delta, None)
        if added is None:
            assert budget is not None
            assert n > budget or size > 8 * budget + 32
            return
        by_bytes = -(-size // 4)
        assert meter.total == max(n, by_bytes if budget is None else min(by_bytes, budget))


def test_a_text_too_long_for_its_budget_passes_it_even_in_one_piece() -> None:
    assert TokenCounter(10).add("x" * 112, None) == 10
    assert TokenCounter(10).add("x" * 113, None) is None


def test_a_total_of_zero_is_not_a_count() -> None:
    meter = TokenCounter(None)
    assert [meter.add("a", 0), meter.add("b", 0), meter.add("c", 7), meter.add("d", None)] == [
        *(1, 1, 5, 1)
    ]
