"""Claude, Gemini and Responses, against servers on loopback that speak their dialects."""

import json
import pickle
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from threading import Event
from traceback import format_exception
from typing import Any
from urllib.parse import quote

import pytest

from tests.models.asking import ask, ask_with_tools, read, said
from tests.servers.fake import (
    Call,
    Die,
    FakeServer,
    Finish,
    Hang,
    Raw,
    Say,
    Start,
    Status,
    Think,
    Usage,
)
from tests.servers.providers import DIALECTS, MODEL
from timeful.core.source import Chunk, End
from timeful.errors import ModelError, ModelRefusedError, ModelTimeoutError, SettingsError
from timeful.models import provider_clients
from timeful.models.counting import PricedSource
from timeful.models.model import Message, Pricing, Prompt
from timeful.models.provider import APIS, ProviderModel
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.models.request import Timeouts
from timeful.models.traffic import TRAFFIC, Limits, Traffic
from timeful.tools import read_call

for package in ("pydantic_ai", "anthropic", "google.genai"):
    pytest.importorskip(package, reason="needs timeful[anthropic,google]")

PATIENCE_S = 10.0
CALL = Call(name="step", arguments='{"action": "go"}', id="c1")

Connect = Callable[..., ProviderModel]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Make models that are closed at the end; no proxy stands between them and loopback."""
    models: list[ProviderModel] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    token = TRAFFIC.set(Traffic(Limits()))

    def connect(
        server: FakeServer, api: str, name: str = MODEL, **settings: object
    ) -> ProviderModel:
        settings = {"timeouts": Timeouts(backoff_s=0.001), "api_key": "key"} | settings
        base_url = server.base_url if api == "responses" else server.address
        model = ProviderModel(model=f"{api}:{name}", base_url=base_url, **settings)  # type: ignore[arg-type]
        models.append(model)
        return model

    yield connect
    for model in models:
        model.close()
    TRAFFIC.reset(token)


def serve(api: str, *scripts: object) -> FakeServer:
    """A server of a dialect, with one script for each request; the last one repeats."""
    left = list(scripts)
    return FakeServer(
        lambda _: left.pop(0) if len(left) > 1 else left[0],  # type: ignore[arg-type,return-value]
        dialect=DIALECTS[api],
    )


pytestmark = pytest.mark.parametrize("api", APIS)


def test_text_and_reasoning_are_told_apart_and_counted(api: str, connect: Connect) -> None:
    script = [Usage(9, reasoning=4, cached=2), Think("hm "), Think("so"), Say("go "), Say("up")]
    with serve(api, script) as server:
        source = connect(server, api).open(ask(), max_tokens=None, seed=1)
        chunks, end = read(source)
    assert said(chunks, "reasoning") == "hm so"
    assert said(chunks) == "go up"
    assert (end.finish, end.tokens, end.prompt_tokens) == ("stop", 9, 7)
    usage = source.usage
    assert usage is not None
    assert (usage.prompt, usage.cached, usage.completion, usage.reasoning) == (7, 2, 9, 4)


def test_hidden_reasoning_takes_its_time_before_the_answer(api: str, connect: Connect) -> None:
    with serve(api, [Usage(3000, reasoning=2988), Say("twelve"), Say(" tokens")]) as server:
        prompt = Prompt(label="react", render=lambda: "Which way?", pricing=Pricing(room=None))
        source = connect(server, api).open(prompt, max_tokens=None, seed=1)
        assert isinstance(source, PricedSource)
        chunks, end = read(source)
    assert chunks[0] == Chunk("", 2988, "reasoning")
    assert sum(chunk.tokens for chunk in chunks[1:]) == 12
    assert end.tokens == 3000


def test_a_provider_that_neither_shows_nor_counts_reasoning_did_none(
    api: str, connect: Connect
) -> None:
    with serve(api, [Usage(100), Say("a"), Say("b")]) as server:
        prompt = Prompt(label="react", render=lambda: "Which way?", pricing=Pricing(room=None))
        chunks, _ = read(connect(server, api).open(prompt, max_tokens=None, seed=1))
    assert chunks == [Chunk("a", 50), Chunk("b", 50)]


def test_a_running_total_prices_each_chunk_as_it_comes(api: str, connect: Connect) -> None:
    """Only Gemini reports one; hidden thoughts are then a part of the first text."""
    script = [Usage(60, reasoning=40), Say("a", tokens=45), Say("b", tokens=60)]
    with serve(api, script) as server:
        prompt = Prompt(label="react", render=lambda: "Which way?", pricing=Pricing(room=None))
        source = connect(server, api).open(prompt, max_tokens=None, seed=1)
        chunks, _ = read(source)
        assert source.usage is not None
    if api == "google":
        assert chunks == [Chunk("a", 45), Chunk("b", 15)]
        assert source.usage.counted == "running"
    else:
        assert chunks[0] == Chunk("", 40, "reasoning")
        assert source.usage.counted == "settled"


def test_calls_of_tools_go_round_with_signed_reasoning(api: str, connect: Connect) -> None:
    name = "o4-mini" if api == "responses" else MODEL  # not every model signs its reasoning
    with serve(api, [Think("hm"), CALL], [Say("done")]) as server:
        model = connect(server, api, name)
        prompt = ask_with_tools()
        chunks, _ = read(model.open(prompt, max_tokens=None, seed=1))
        call = read_call(said(chunks).removeprefix("<tool_call>").removesuffix("</tool_call>"))
        assert (call.name, call.arguments) == ("step", {"action": "go"})
        reply = [Message("assistant", "", (call,)), Message("tool", "You go.", call_id=call.id)]
        later = Prompt(render=lambda: [*prompt.messages, *reply], tools=prompt.tools)
        assert said(read(model.open(later, max_tokens=None, seed=1))[0]) == "done"
        first, second = [request.body for request in server.requests]
    assert "get_duration" in str(first["tools"])
    sent = str(second)
    assert call.id in sent
    assert "You go." in sent
    assert ("c2lnbmVk" if api == "google" else "signed") in sent


def test_the_same_answer_has_the_same_bytes(api: str, connect: Connect) -> None:
    with serve(api, [Say("a"), CALL]) as server:
        model = connect(server, api)
        first, second = (
            read(model.open(ask_with_tools(), max_tokens=None, seed=1))[0] for _ in range(2)
        )
    assert first == second


def test_a_cassette_gives_the_same_answer_again(api: str, connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "cassette.jsonl"
    with serve(api, [Usage(9, reasoning=4), Think("hm"), Say("go "), CALL]) as server:
        model = RecordingModel(connect(server, api), path, scope="s")
        prompt = replace(ask_with_tools(), pricing=Pricing(room=None))
        first = read(model.open(prompt, max_tokens=50, seed=1))
    replay = ReplayModel(path, scope="s")
    assert read(replay.open(prompt, max_tokens=50, seed=1)) == first


def test_the_request_says_what_was_set(api: str, connect: Connect) -> None:
    settings = {"temperature": 0.5, "top_p": 0.9, "extra": {"extra_headers": {"x-mark": "m"}}}
    system = Prompt(render=lambda: [Message("system", "Be brief."), Message("user", "Go?")])
    with serve(api, [Say("L")]) as server:
        read(connect(server, api, **settings).open(system, max_tokens=40, seed=5))
        (request,) = server.requests
    sent = str(request.body)
    assert "Be brief." in sent
    assert "Go?" in sent
    limits = {"anthropic": "max_tokens", "google": "maxOutputTokens"}
    body = request.body.get("generationConfig", request.body)
    assert body[limits.get(api, "max_output_tokens")] == 40
    assert body["temperature"] == 0.5
    assert "key" in str(request.headers)
    assert request.headers["x-mark"] == "m"


def test_nothing_of_the_environment_is_told_to_the_server(
    api: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_BASE_URL", "GEMINI_API_KEY")
    for name in (*names, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "from-the-environment")
    with serve(api, [Say("L")]) as server:
        read(connect(server, api).open(ask(), max_tokens=None, seed=1))
        (request,) = server.requests
    assert "from-the-environment" not in str(request.headers)


@pytest.mark.parametrize("max_tokens", [100, 1500, 9000])
def test_a_budget_of_thinking_stays_below_the_limit(
    api: str, connect: Connect, max_tokens: int
) -> None:
    thinking = "low" if api == "responses" else 2048
    with serve(api, [Say("L")]) as server:
        read(connect(server, api, thinking=thinking).open(ask(), max_tokens=max_tokens, seed=5))
        (request,) = server.requests
    if api == "anthropic":
        budget = request.body.get("thinking", {}).get("budget_tokens")
        assert budget == {100: None, 1500: 1499, 9000: 2048}[max_tokens]


def test_a_budget_by_time_is_left_out_where_it_is_too_large(api: str, connect: Connect) -> None:
    words = {"google": "maxOutputTokens must be at most 9", "anthropic": "max_tokens: 50 > 9"}
    refusal = Status(400, words.get(api, "max_output_tokens is too large"))
    with serve(api, [refusal], [Say("L")]) as server:
        model = connect(server, api)
        prompt = Prompt(label="react", render=lambda: "Which way?", pricing=Pricing(room=5000))
        for _ in range(2):
            assert said(read(model.open(prompt, max_tokens=None, seed=1))[0]) == "L"
        bodies = [str(request.body) for request in server.requests]
    assert ["5000" in body for body in bodies] == [True, False, False]


@pytest.mark.parametrize("script", [[Hang()], [Say("go "), Hang()]])
def test_a_cut_closes_the_connection(api: str, connect: Connect, script: list[Any]) -> None:
    arrival = Event()

    def answer(_: object) -> list[Any]:
        arrival.set()
        return script

    with FakeServer(answer, dialect=DIALECTS[api]) as server:
        source = connect(server, api).open(ask(), max_tokens=None, seed=1)
        assert arrival.wait(PATIENCE_S)
        if len(script) > 1:
            assert source.pull() == Chunk("go ", 1)
        source.close()
        assert server.requests[0].hung_up.wait(PATIENCE_S)
        assert source.pull() == End("closed")


def test_a_stalled_stream_raises(api: str, connect: Connect) -> None:
    with serve(api, [Say("go "), Hang()]) as server:
        model = connect(server, api, timeouts=Timeouts(idle_s=0.05))
        with pytest.raises(ModelTimeoutError):
            read(model.open(ask(), max_tokens=None, seed=1))
        assert server.requests[0].hung_up.wait(PATIENCE_S)


def test_a_rate_limit_is_waited_out(api: str, connect: Connect) -> None:
    limit = Status(429, headers={"Retry-After": "0.2"}, error_code="rate_limit_error")
    with serve(api, [limit], [Say("L")]) as server:
        model = connect(server, api, retries=0, timeouts=Timeouts(backoff_s=30))
        chunks, end = read(model.open(ask(), max_tokens=None, seed=1))
    assert said(chunks) == "L"
    assert end.attempts == 2
    assert 0.2 <= end.waited_s < 30


def test_only_our_own_retries_are_made(api: str, connect: Connect) -> None:
    with serve(api, [Status(500)]) as server:
        with pytest.raises(ModelError):
            read(connect(server, api, retries=1).open(ask(), max_tokens=None, seed=1))
        assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_ends_after_one_request(api: str, connect: Connect, status: int) -> None:
    with serve(api, [Status(status, "not you")]) as server:
        with pytest.raises(ModelRefusedError) as refusal:
            read(connect(server, api).open(ask(), max_tokens=None, seed=1))
        assert len(server.requests) == 1
    assert "not you" in str(refusal.value)


def test_a_content_filter_refuses(api: str, connect: Connect) -> None:
    with (
        serve(api, [Say("I "), Finish("content_filter")]) as server,
        pytest.raises(ModelRefusedError),
    ):
        read(connect(server, api).open(ask(), max_tokens=None, seed=1))


def test_a_limit_of_tokens_ends_the_answer(api: str, connect: Connect) -> None:
    with serve(api, [Say("I "), Finish("length")]) as server:
        _, end = read(connect(server, api).open(ask(), max_tokens=20, seed=1))
    assert end.finish == "length"


@pytest.mark.parametrize("death", [Die(), Die(politely=True), Finish(None)])
def test_a_stream_that_breaks_off_fails(api: str, connect: Connect, death: object) -> None:
    with serve(api, [Say("I "), death]) as server:
        with pytest.raises(ModelError):
            read(connect(server, api).open(ask(), max_tokens=None, seed=1))
        assert len(server.requests) == 1


def test_a_connection_that_breaks_before_the_answer_is_tried_again(
    api: str, connect: Connect
) -> None:
    with serve(api, [Die()], [Say("L")]) as server:
        chunks, end = read(connect(server, api).open(ask(), max_tokens=None, seed=1))
    assert said(chunks) == "L"
    assert end.attempts == 2


def test_garbage_in_the_stream_is_an_error(api: str, connect: Connect) -> None:
    with serve(
        api, [Say("I "), Raw(b"event: content_block_delta\ndata: {nonsense\n\n"), Hang()]
    ) as server:
        with pytest.raises(ModelError):
            read(connect(server, api).open(ask(), max_tokens=None, seed=1))
        assert server.requests[0].over.wait(PATIENCE_S)


def test_no_server_is_an_error(api: str, connect: Connect) -> None:
    with serve(api, [Say("L")]) as server:
        model = connect(server, api)
    with pytest.raises(ModelError):
        read(model.open(ask(), max_tokens=None, seed=1))


def test_answers_share_connections(api: str, connect: Connect) -> None:
    count = 6
    with serve(api, [Say("left")]) as server:
        model = connect(server, api)
        model.warm_up()
        for _ in range(count):
            read(model.open(ask(), max_tokens=None, seed=1))
            assert server.requests[-1].over.wait(PATIENCE_S)
        assert server.connections < count


def test_answers_are_requested_and_read_as_they_are(api: str, connect: Connect) -> None:
    packed = zlib.compress(bytes(1 << 20))
    script = [Start({"Content-Encoding": "deflate"}), Raw(packed)]
    with serve(api, script) as server:
        with pytest.raises(ModelError, match="deflate"):
            read(connect(server, api, retries=0).open(ask(), max_tokens=None, seed=1))
        assert server.requests[0].headers["accept-encoding"] == "identity"


def test_an_event_without_an_end_is_an_error(
    api: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_clients, "LONGEST_EVENT", 1 << 16)
    script = chain([Raw(b'data: {"x": "')], repeat(Raw(bytes(1 << 14))))
    with serve(api, script) as server, pytest.raises(ModelError, match="65536 bytes"):
        read(connect(server, api, retries=0).open(ask(), max_tokens=None, seed=1))


def test_many_events_are_no_long_event(
    api: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_clients, "LONGEST_EVENT", 1 << 10)
    with serve(api, [Say("word ")] * 300) as server:
        chunks, _ = read(connect(server, api).open(ask(), max_tokens=None, seed=1))
    assert len(chunks) == 300


@pytest.mark.parametrize("kind", ["status", "malformed", "answer"])
def test_the_key_is_in_no_error_and_no_answer(api: str, connect: Connect, kind: str) -> None:
    key = "sk-CANARY/7+x"
    scripts = {
        "status": [Status(401, f"wrong key: {key} or {quote(key, safe='')}")],
        "malformed": [Raw(f"data: [{json.dumps(key)}]\n\n".encode())],
        "answer": [Say(f"it is {key[:6]}"), Say(key[6:])],
    }
    with serve(api, scripts[kind]) as server:
        source = connect(server, api, api_key=f"{key}\n", retries=0).open(
            ask(), max_tokens=None, seed=1
        )
        try:
            text = said(read(source)[0])
        except ModelError as error:
            text = "".join(format_exception(error))
    assert "CANARY" not in text


def test_a_model_travels_to_another_process(api: str, connect: Connect) -> None:
    with serve(api, [Say("left")]) as server:
        model = connect(server, api, extra={"top_k": 3})
        twin = pickle.loads(pickle.dumps(model))
        assert twin == model
        assert said(read(twin.open(ask(), max_tokens=None, seed=1))[0]) == "left"
        twin.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "fake"},
        {"model": "nobody:fake"},
        {"base_url": "localhost"},
        {"retries": -1},
        {"thinking": "much"},
        {"thinking": 0},
        {"counting": "never"},
    ],
)
def test_wrong_settings_are_refused(api: str, wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        ProviderModel(**({"model": f"{api}:fake"} | wrong))  # type: ignore[arg-type]
