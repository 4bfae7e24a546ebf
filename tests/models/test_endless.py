"""Answers without an end, and answers that are slow to read: all have bounds."""

import gc
import json
import zlib
from dataclasses import replace
from itertools import chain, repeat
from types import AsyncGeneratorType
from typing import Any

import pytest

from tests.models.asking import ask, read, said
from tests.servers.fake import Call, FakeServer, Raw, Say, Start, Status
from timeful.errors import ModelError
from timeful.models import answer_stream, event_loop_thread, request
from timeful.models.chat import OpenAIModel
from timeful.models.model import Prompt
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
    text, end = Raw(_event({"content": "done"})), Raw(_event({}, "stop"))
    with FakeServer(lambda _: chain([text], repeat(end))) as server:
        model, source = _open(server)
        chunks, last = read(source)
        model.close()
    assert (said(chunks), last.finish) == ("done", "stop")


def test_text_after_the_finish_reason_ends_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "_AFTER_FINISH_S", 0.05)
    text, end = Raw(_event({"content": "more "})), Raw(_event({}, "stop"))
    with FakeServer(lambda _: chain([end], repeat(text))) as server:
        model, source = _open(server)
        assert read(source)[1].finish == "stop"
        model.close()


@pytest.mark.parametrize(
    ("prompt", "sent"), [(ask(), None), (replace(ask(), most_tokens=30), 30)], ids=["any", "own"]
)
def test_an_answer_without_a_limit_has_a_default_one(
    monkeypatch: pytest.MonkeyPatch, prompt: Prompt, sent: int | None
) -> None:
    monkeypatch.setattr(request, "MOST_TOKENS", 40)
    with FakeServer(lambda _: repeat(Say("word "))) as server:
        model = OpenAIModel(model="fake", base_url=server.base_url)
        chunks, last = read(model.open(prompt, max_tokens=None, seed=1))
        model.close()
    assert (len(chunks), last.finish, last.tokens) == (sent or 40, "length", sent or 40)
    assert server.requests[0].body.get("max_tokens") == sent


def test_a_default_limit_that_a_server_refuses_is_kept_here() -> None:
    def script(body: dict[str, Any]) -> Any:
        is_refused = "max_tokens" in body
        return [Status(400, "max_tokens is too large")] if is_refused else repeat(Say("word "))

    with FakeServer(script) as server:
        model = OpenAIModel(model="fake", base_url=server.base_url)
        chunks, _ = read(model.open(replace(ask(), most_tokens=30), max_tokens=None, seed=1))
        model.close()
    assert len(chunks) == 30


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


def test_a_compressed_answer_is_refused() -> None:
    packed = zlib.compress(bytes(1 << 20))
    with FakeServer([Start({"Content-Encoding": "deflate"}), Raw(packed)]) as server:
        model, source = _open(server)
        with pytest.raises(ModelError, match="deflate"):
            read(source)
        model.close()
    assert server.requests[0].headers["accept-encoding"] == "identity"


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


def test_an_error_leaves_no_generator_of_the_client_open() -> None:
    text = Raw(_event({"content": "more "}))
    with FakeServer(lambda _: chain([text], [Raw(b"data: {{{\n\n")], repeat(text))) as server:
        model, source = _open(server)
        with pytest.raises(ModelError) as error:
            read(source)
        generators = [thing for thing in gc.get_objects() if isinstance(thing, AsyncGeneratorType)]
        assert [thing for thing in generators if thing.ag_frame is not None] == []
        model.close()
        del error
