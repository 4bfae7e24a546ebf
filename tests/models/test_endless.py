"""Answers without an end, and answers that are slow to read: all have bounds."""

import json
from itertools import repeat
from typing import Any

import pytest

from tests.models.asking import ask, read, said
from tests.servers.fake import Call, FakeServer, Raw
from timeful.errors import ModelError
from timeful.models import event_loop_thread
from timeful.models.chat import OpenAIModel
from timeful.models.request import Timeouts
from timeful.models.sse import CallPiece, Function, SseParser
from timeful.models.tool_call_assembler import ToolCallAssembler

pytest.importorskip("openai")


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def _open(server: FakeServer, **times: float) -> Any:
    model = OpenAIModel(
        model="fake", base_url=server.base_url, retries=0, timeouts=Timeouts(**times)
    )
    return model, model.open(ask(), max_tokens=None, seed=1)


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_finish_reason_that_is_repeated_ends_the_answer() -> None:
    end = Raw(_event({}, "stop"))
    with FakeServer(lambda _: [Raw(_event({"content": "done"})), *repeat(end, 900)]) as server:
        model, source = _open(server, idle_s=0.05)
        chunks, last = read(source)
        model.close()
    assert (said(chunks), last.finish) == ("done", "stop")


@pytest.mark.parametrize("step", [0, 1])
def test_calls_without_text_have_an_end(step: int) -> None:
    calls = [Call(arguments="", index=step * n) for n in range(1200)]
    with FakeServer(lambda _: calls) as server:
        model, source = _open(server)
        with pytest.raises(ModelError):
            read(source)
        model.close()


def test_an_answer_has_a_limit_of_real_time() -> None:
    text = Raw(_event({"content": "on and on "}))
    with FakeServer(lambda _: repeat(text)) as server:
        model, source = _open(server, answer_s=0.05)
        with pytest.raises(ModelError):
            read(source)
        model.close()


def test_fragments_of_a_call_are_read_once() -> None:
    fragments = [f'"k{n}": {{"a": "}}\\"{{"}},' for n in range(20_000)]
    texts = ["{", *fragments, '"end": 1', "}"]
    pieces = [CallPiece(index=0, function=Function(name="f", arguments=text)) for text in texts]
    joiner = ToolCallAssembler()
    call = "".join(joiner.feed([piece]) for piece in pieces)
    assert json.loads(call.removeprefix("<tool_call>").removesuffix("</tool_call>"))["name"] == "f"
    assert joiner.flush() == ""


def test_an_answer_has_at_most_some_hundred_calls() -> None:
    pieces = [CallPiece(index=n, function=Function(name="f")) for n in range(10_000)]
    with pytest.raises(ModelError):
        ToolCallAssembler().feed(pieces)


def test_a_long_line_is_read_in_linear_time_up_to_a_limit() -> None:
    parser = SseParser()
    assert parser.feed(b"data: ") == []
    for _ in range(7 << 10):
        assert parser.feed(b"x" * 1024) == []
    assert [len(data) for data in parser.feed(b"\n\n")] == [7 << 20]
    with pytest.raises(ModelError):
        feed_for_ever(parser)


def feed_for_ever(parser: SseParser) -> None:
    for _ in range(9 << 10):
        parser.feed(b"x" * 1024)


def test_closing_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop_thread, "CLOSE_S", 0.01)
    background = event_loop_thread.EventLoopThread()
    held = event_loop_thread.threading.Event()

    async def block(_: object) -> None:
        held.wait()  # holds the whole loop, as a bug in a parser would

    background.start(block)
    background.close()
    held.set()
