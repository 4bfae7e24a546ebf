"""The chat model, against a real server on the loopback interface."""

import asyncio
import copy
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator

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
    Wait,
)
from timeful.core.clock import WallClock
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End
from timeful.core.units import Instant
from timeful.errors import ModelError, ModelRefusedError, ModelTimeoutError, SettingsError
from timeful.models.answer_stream import stream_answer
from timeful.models.chat import OpenAIModel
from timeful.models.event_loop_thread import ClientState
from timeful.models.model import Message, Prompt
from timeful.models.openai_stream import connect as connect_client
from timeful.models.pace import TOKEN_TIME
from timeful.models.request import Timeouts
from timeful.models.stream_buffer import READ_AHEAD, StreamBuffer
from timeful.models.traffic import TRAFFIC, Limits, Traffic
from timeful.tools import ToolCall

PATIENCE_S = 5.0

Connect = Callable[..., OpenAIModel]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Make models that are closed at the end; no proxy stands between them and loopback."""
    models: list[OpenAIModel] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    token = TRAFFIC.set(Traffic(Limits()))  # a port may have been that of another test's server

    def connect(server: FakeServer, **settings: object) -> OpenAIModel:
        settings = {"timeouts": Timeouts(backoff_s=0.001)} | settings
        model = OpenAIModel(model="fake", base_url=server.base_url, **settings)  # type: ignore[arg-type]
        models.append(model)
        return model

    yield connect
    for model in models:
        model.close()
    TRAFFIC.reset(token)


def answers(*scripts: list[object]) -> Callable[[dict[str, object]], list[object]]:
    """One script for each request, in order."""
    left = iter(scripts)
    return lambda _: next(left)


# --- what is said ----------------------------------------------------------------------------


def test_nothing_of_the_environment_is_told_to_the_server(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "from-the-environment")
    with FakeServer([Say("L")]) as server:
        read(connect(server).open(ask(), max_tokens=None, seed=1))
        (request,) = server.requests
    assert "from-the-environment" not in str(request.headers)


def test_deltas_come_out_as_chunks_in_order(connect: Connect) -> None:
    with FakeServer([Say("go "), Wait(2), Say("up "), Say("now")]) as server:
        chunks, end = read(connect(server).open(ask(), max_tokens=None, seed=1))
    assert chunks == [Chunk("go ", 1), Chunk("up ", 1), Chunk("now", 1)]
    assert end == End("stop", tokens=3, prompt_tokens=7, attempts=1)


def test_the_request_says_what_was_set(connect: Connect) -> None:
    with FakeServer([Say("L")]) as server:
        model = connect(server, temperature=0.5, top_p=0.9, extra={"top_k": 3}, api_key="sesame")
        read(model.open(ask("Which way?"), max_tokens=12, seed=34))
        (request,) = server.requests
    assert request.body == {
        "model": "fake",
        "messages": [{"role": "user", "content": "Which way?"}],
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "max_tokens": 12,
        "seed": 34,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 3,
    }
    assert request.headers["authorization"] == "Bearer sesame"


def test_a_seed_is_sent_as_servers_take_it(connect: Connect) -> None:
    with FakeServer([Say("L")]) as server:
        for seed in (2**31 - 1, 2**31 + 5, 2**63 - 1):
            read(connect(server).open(ask(), max_tokens=None, seed=seed))
        assert [one.body["seed"] for one in server.requests] == [2**31 - 1, 5, 2**31 - 1]


def test_what_is_not_set_is_left_to_the_server(connect: Connect) -> None:
    with FakeServer([Say("L")]) as server:
        read(connect(server).open(ask(), max_tokens=None, seed=1))
        assert not {"max_tokens", "temperature", "top_p"} & set(server.requests[0].body)


@pytest.mark.parametrize(
    "names", [("reasoning_content",), ("reasoning",), ("reasoning", "reasoning_content")]
)
def test_reasoning_has_its_own_channel_under_any_name(
    connect: Connect, names: tuple[str, ...]
) -> None:
    with FakeServer([Think("hm ", names), Think("so ", names), Say("left")]) as server:
        chunks, _ = read(connect(server).open(ask(), max_tokens=None, seed=1))
    assert said(chunks, "reasoning") == "hm so "
    assert said(chunks) == "left"


def test_think_tags_cut_by_the_stream_are_told_apart(connect: Connect) -> None:
    deltas = ["<th", "ink>hm", "m</", "think", ">le", "ft <think>"]
    with FakeServer([Say(delta) for delta in deltas]) as server:
        chunks, _ = read(connect(server).open(ask(), max_tokens=None, seed=1))
    assert said(chunks, "reasoning") == "hmm"
    assert said(chunks) == "left <think>"
    assert sum(chunk.tokens for chunk in chunks) == 8, "the bytes of tags cost tokens too"


def test_an_answer_can_be_kept_with_its_tags(connect: Connect) -> None:
    with FakeServer([Say("<think>hm</think>left")]) as server:
        chunks, _ = read(connect(server, thinking="keep").open(ask(), max_tokens=None, seed=1))
    assert said(chunks) == "<think>hm</think>left"


# --- what it costs ---------------------------------------------------------------------------


def test_running_totals_of_the_server_are_the_counts(connect: Connect) -> None:
    with FakeServer([Say("a", tokens=4), Say("b", tokens=5), Say("c", tokens=11)]) as server:
        chunks, _ = read(connect(server).open(ask(), max_tokens=None, seed=1))
    assert [chunk.tokens for chunk in chunks] == [4, 1, 6]


def test_without_totals_the_counts_are_estimated_and_the_end_corrects_them(
    connect: Connect,
) -> None:
    with FakeServer([Say("a"), Say("x" * 18), Say("b"), Usage(completion=9)]) as server:
        chunks, end = read(connect(server).open(ask(), max_tokens=None, seed=1))
    assert [chunk.tokens for chunk in chunks] == [1, 4, 0]
    assert end.tokens == 9


def test_a_server_that_rejects_the_usage_option_is_asked_without_it(connect: Connect) -> None:
    def script(body: dict[str, object]) -> list[object]:
        if "stream_options" in body:
            return [Status(400, "stream_options: Extra inputs are not permitted")]
        return [Say("left")]

    with FakeServer(script) as server:
        model = connect(server, retries=0)
        _, first = read(model.open(ask(), max_tokens=None, seed=1))
        _, second = read(model.open(ask(), max_tokens=None, seed=1))
    assert first == End("stop", tokens=None, prompt_tokens=None, attempts=3)
    assert second.attempts == 1, "what the server does not know was not remembered"


def test_a_server_that_counts_at_the_end_alone_is_asked_for_that(connect: Connect) -> None:
    def script(body: dict[str, object]) -> list[object]:
        if "continuous_usage_stats" in str(body):
            return [Status(400, "Unknown parameter: 'stream_options.continuous_usage_stats'.")]
        return [Say("x" * 40), Usage(completion=9)]

    with FakeServer(script) as server:
        _, end = read(connect(server, retries=0).open(ask(), max_tokens=None, seed=1))
        assert server.requests[1].body["stream_options"] == {"include_usage": True}
    assert end.tokens == 9
    assert end.attempts == 2


def test_a_server_that_wants_max_completion_tokens_gets_them(connect: Connect) -> None:
    def script(body: dict[str, object]) -> list[object]:
        if "max_tokens" in body:
            return [Status(400, "max_tokens is unsupported; use max_completion_tokens instead")]
        return [Say("left")]

    with FakeServer(script) as server:
        read(connect(server).open(ask(), max_tokens=9, seed=1))
        assert server.requests[1].body["max_completion_tokens"] == 9


def test_a_budget_is_kept_when_the_server_ignores_it(connect: Connect) -> None:
    with FakeServer([*(Say("word ") for _ in range(6)), Hang()]) as server:
        chunks, end = read(connect(server).open(ask(), max_tokens=5, seed=1))
        assert server.requests[0].hung_up.wait(PATIENCE_S)
    assert said(chunks) == "word " * 5
    assert end == End("length", tokens=5)


def test_a_budget_is_kept_by_the_running_totals(connect: Connect) -> None:
    with FakeServer([Say("a", tokens=3), Say("b", tokens=6), Hang()]) as server:
        chunks, end = read(connect(server).open(ask(), max_tokens=5, seed=1))
    assert chunks == [Chunk("a", 3)]
    assert end == End("length", tokens=5)


def test_a_long_word_within_the_budget_is_not_cut(connect: Connect) -> None:
    with FakeServer([Say("internationalisation"), Finish("length")]) as server:
        chunks, end = read(connect(server).open(ask(), max_tokens=1, seed=1))
    assert chunks == [Chunk("internationalisation", 1)]
    assert end.finish == "length"


def test_no_budget_at_all_asks_nobody(connect: Connect) -> None:
    with FakeServer([Say("left")]) as server:
        chunks, end = read(connect(server).open(ask(), max_tokens=0, seed=1))
        assert not server.requests
    assert not chunks
    assert end == End("length", tokens=0, attempts=0)


# --- calls of tools --------------------------------------------------------------------------


def test_tools_calls_and_their_replies_are_sent_as_the_api_has_them(connect: Connect) -> None:
    with FakeServer([Say("L")]) as server:
        read(connect(server).open(ask_with_tools(), max_tokens=None, seed=1))
        (request,) = server.requests
    assert request.body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "step",
                "description": "Does something.",
                "parameters": {
                    "type": "object",
                    "properties": {"action": {"type": "string", "description": "What to do."}},
                    "required": ["action"],
                    "additionalProperties": False,
                },
            },
        },
        {
            "type": "function",
            "function": {
                "name": "get_duration",
                "description": "Tells the time.",
                "parameters": {
                    "type": "object",
                    "properties": {},
                    "required": [],
                    "additionalProperties": False,
                },
            },
        },
    ]
    function = {"name": "step", "arguments": '{"action": "go north"}'}
    assert request.body["messages"] == [
        {"role": "user", "content": "Begin."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "You cannot.", "tool_call_id": "c1"},
    ]


def test_a_name_that_a_model_made_up_is_sent_as_one_that_a_server_takes(connect: Connect) -> None:
    names = ["functions.step:0", "go north", "schön", "x" * 99]
    calls = tuple(ToolCall(name=name, id=f"c{number}") for number, name in enumerate(names))
    prompt = Prompt(label="work", render=lambda: [Message("assistant", "so", calls)])
    with FakeServer([Say("L")]) as server:
        read(connect(server).open(prompt, max_tokens=None, seed=1))
        [said] = server.requests[0].body["messages"]
    sent = [call["function"]["name"] for call in said["tool_calls"]]
    assert sent == ["functions_step_0", "go_north", "sch_n", "x" * 64]
    assert said["content"] == "so"


def test_what_is_sent_of_tools_is_what_the_official_client_knows(connect: Connect) -> None:
    types = pytest.importorskip("openai.types.chat")
    adapter = pytest.importorskip("pydantic").TypeAdapter
    with FakeServer([Say("L")]) as server:
        read(connect(server).open(ask_with_tools(), max_tokens=None, seed=1))
        (request,) = server.requests
    messages, tools = request.body["messages"], request.body["tools"]
    seen = adapter(list[types.ChatCompletionMessageParam]).validate_python(messages)
    assert [dict(one) | {"tool_calls": list(one.get("tool_calls", ()))} for one in seen] == [
        one | {"tool_calls": one.get("tool_calls", [])} for one in messages
    ]
    assert adapter(list[types.ChatCompletionToolParam]).validate_python(tools) == tools


@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_a_call_comes_out_as_text_at_its_last_token_and_its_fragments_cost_theirs(
    connect: Connect, finish: str
) -> None:
    script = [
        Think("hm "),
        Say("Let me see. "),
        Call("step", "", id="c1"),
        Call(arguments='{"action": '),
        Call(arguments='"north"}'),
        Call("get_duration", "{}", id="c2", index=1),
        Finish(finish),
    ]
    with FakeServer(script) as server:
        chunks, end = read(connect(server).open(ask_with_tools(), max_tokens=None, seed=1))
    first = '<tool_call>{"name": "step", "arguments": {"action": "north"}, "id": "c1"}</tool_call>'
    second = '<tool_call>{"name": "get_duration", "arguments": {}, "id": "c2"}</tool_call>'
    assert [(chunk.text, chunk.channel) for chunk in chunks] == [
        ("hm ", "reasoning"),
        ("Let me see. ", "answer"),
        ("", "answer"),
        ("", "answer"),
        (first, "answer"),
        ("", "answer"),
        (second, "answer"),
    ]
    assert [chunk.tokens for chunk in chunks[:-1]] == [1, 3, 1, 3, 2, 3], "4 bytes a token"
    assert chunks[-1].tokens == 0
    assert end == End("stop", tokens=6, prompt_tokens=7)


def test_the_tokens_of_a_call_are_those_that_the_server_counts(connect: Connect) -> None:
    script = [Call("step", "", id="c1", tokens=9), Call(arguments='{"action": "x"}', tokens=14)]
    with FakeServer(script) as server:
        chunks, _ = read(connect(server).open(ask_with_tools(), max_tokens=None, seed=1))
    assert [chunk.tokens for chunk in chunks] == [9, 5]


def test_several_calls_in_one_event_come_out_together(connect: Connect) -> None:
    two = Call("step", '{"action": "a"}', more=(Call("step", '{"action": "b"}', index=1),))
    with FakeServer([two, Finish("tool_calls")]) as server:
        chunks, _ = read(connect(server).open(ask_with_tools(), max_tokens=None, seed=1))
    assert len(chunks) == 1
    assert said(chunks).count("<tool_call>") == 2


@pytest.mark.parametrize("cut", ["by the server", "here"])
def test_a_call_that_the_budget_cuts_comes_out_as_the_text_it_was(
    connect: Connect, cut: str
) -> None:
    script = [
        Call("step", '{"action": "a"}', id="c1", tokens=5),
        Call("step", '{"acti', id="c2", index=1, tokens=8),
        Finish("length") if cut == "by the server" else Say("more", tokens=99),
    ]
    with FakeServer(script) as server:
        chunks, end = read(connect(server).open(ask_with_tools(), max_tokens=8, seed=1))
    assert end.finish == "length"
    assert sum(chunk.tokens for chunk in chunks) == 8
    broken = r'<tool_call>{"name": "step", "arguments": "{\"acti", "id": "c2"}</tool_call>'
    assert said(chunks).endswith(broken)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, '"auto" tool choice requires --enable-auto-tool-choice to be set'),
        (422, "tools: Extra inputs are not permitted"),
        (400, "registry/gemma does not support tools"),
    ],
)
def test_a_server_without_native_calls_is_refused_with_the_way_out(
    connect: Connect, status: int, words: str
) -> None:
    with FakeServer([Status(status, words)]) as server:
        model = connect(server)
        with pytest.raises(ModelRefusedError, match="--calls text") as caught:
            read(model.open(ask_with_tools(), max_tokens=None, seed=1))
        assert words.replace('"', "") in str(caught.value).replace('"', "")
        with pytest.raises(ModelRefusedError, match="check the settings"):
            read(model.open(ask(), max_tokens=None, seed=1))
        assert len(server.requests) == 2


# --- what goes wrong before the first chunk --------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again_and_counted(connect: Connect, status: int) -> None:
    failure = [Status(status, headers={"retry-after-ms": "1"})]
    with FakeServer(answers(failure, [Say("left")])) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        chunks, end = read(source)
    assert said(chunks) == "left"
    assert end.attempts == 2
    assert source.failure is None, "there is an answer"


def test_a_connection_that_dies_before_the_first_chunk_is_tried_again(connect: Connect) -> None:
    with FakeServer(answers([Die()], [Start(), Die(politely=True)], [Say("left")])) as server:
        _, end = read(connect(server, retries=9).open(ask(), max_tokens=None, seed=1))
    # An attempt more is needed if it goes out on the connection that is just being closed.
    assert end.attempts >= 3


def test_the_wait_that_a_server_names_counts_instead_of_the_usual_one(connect: Connect) -> None:
    failure = [Status(429, headers={"retry-after-ms": "1"})]
    told = threading.Event()
    with FakeServer(answers(failure, [Say("left")])) as server:
        model = connect(server, timeouts=Timeouts(backoff_s=60))
        source = model.open(ask(), max_tokens=None, seed=1)
        source.when_ready(told.set)
        assert told.wait(PATIENCE_S)
        assert source.pull() == Chunk("left", 1)
        source.close()


def test_a_rate_limit_is_waited_out_however_often_it_is_named(connect: Connect) -> None:
    refusals = [[Status(429, headers={"retry-after-ms": "1"})] for _ in range(9)]
    with FakeServer(answers(*refusals, [Say("left")])) as server:
        chunks, end = read(connect(server, retries=0).open(ask(), max_tokens=None, seed=1))
    assert said(chunks) == "left"
    assert end.attempts == 10
    assert end.waited_s > 0


def test_patience_with_a_rate_limit_ends(connect: Connect) -> None:
    with FakeServer([Status(429, headers={"retry-after-ms": "10"})]) as server:
        model = connect(server, timeouts=Timeouts(patience_s=0.035))
        with pytest.raises(ModelError, match="status 429"):
            read(model.open(ask(), max_tokens=None, seed=1))
        assert len(server.requests) == 4


def test_a_refusal_of_one_request_narrows_the_window_of_all(connect: Connect) -> None:
    refusal = [Status(429, headers={"retry-after-ms": "1"})]
    with FakeServer(answers(refusal, [Say("left")])) as server:
        model = connect(server)
        read(model.open(ask(), max_tokens=None, seed=1))
        gate = TRAFFIC.get().gate(model.endpoint)
        assert 32 <= gate.window < 64
        model.close()  # waits until the connection is handed back
        assert gate.in_flight == 0


def test_streams_that_nobody_pulls_do_not_keep_others_from_being_sent(connect: Connect) -> None:
    TRAFFIC.set(Traffic(Limits(connections=1)))
    plenty = [Say("x")] * (3 * READ_AHEAD)
    with FakeServer(lambda body: plenty if body["seed"] < 3 else [Say("left")]) as server:
        model = connect(server)
        sources = [model.open(ask(), max_tokens=None, seed=seed) for seed in range(3)]
        assert said(read(model.open(ask(), max_tokens=None, seed=3))[0]) == "left"
        for source in sources:
            assert len(read(source)[0]) == 3 * READ_AHEAD


def test_retries_end(connect: Connect) -> None:
    with FakeServer([Status(503, "too busy")]) as server:
        source = connect(server, retries=1).open(ask(), max_tokens=None, seed=1)
        with pytest.raises(ModelError, match=r"status 503.*too busy.*attempt 2, the last"):
            read(source)
        assert len(server.requests) == 2
        assert "status 503" in source.failure


def test_a_server_may_ask_for_a_wait_that_is_too_long(connect: Connect) -> None:
    with FakeServer([Status(429, headers={"Retry-After": "3600"})]) as server:
        with pytest.raises(ModelRefusedError, match="wait 3600 s"):
            read(connect(server).open(ask(), max_tokens=None, seed=1))
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "advice"),
    [(400, "settings"), (401, "API key"), (403, "API key"), (404, "model's name")],
)
def test_a_refusal_is_final_and_says_what_to_check(
    connect: Connect, status: int, advice: str
) -> None:
    with FakeServer([Status(status, "no such thing")]) as server:
        source = connect(server).open(ask(label="plan"), max_tokens=None, seed=1)
        with pytest.raises(ModelRefusedError) as caught:
            read(source)
        assert len(server.requests) == 1
    message = str(caught.value)
    for part in ("'plan'", "'fake'", server.base_url, str(status), "no such thing", advice):
        assert part in message


def test_a_used_up_quota_is_a_refusal(connect: Connect) -> None:
    with FakeServer([Status(429, error_code="insufficient_quota")]) as server:
        with pytest.raises(ModelRefusedError):
            read(connect(server).open(ask(), max_tokens=None, seed=1))
        assert len(server.requests) == 1


def test_an_error_never_shows_the_key(connect: Connect) -> None:
    with FakeServer([Status(401, "wrong key: open-sesame")]) as server:
        model = connect(server, api_key="open-sesame")
        with pytest.raises(ModelRefusedError) as caught:
            read(model.open(ask(), max_tokens=None, seed=1))
    assert "open-sesame" not in str(caught.value)
    assert "open-sesame" not in repr(model)


def test_a_server_that_is_not_there_is_an_error_that_says_so() -> None:
    with FakeServer([]) as gone:
        address = gone.base_url
    model = OpenAIModel(model="fake", base_url=address, retries=0)
    with pytest.raises(ModelError, match="check that the server runs"):
        read(model.open(ask(), max_tokens=None, seed=1))
    model.close()


# --- what goes wrong later -------------------------------------------------------------------


@pytest.mark.parametrize("politely", [True, False])
def test_a_stream_that_breaks_is_an_error_after_what_had_come(
    connect: Connect, politely: bool
) -> None:
    with FakeServer([Say("one "), Die(politely)]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        assert source.pull() == Chunk("one ", 1)
        with pytest.raises(ModelError, match="after 1 tokens"):
            source.pull()
        assert len(server.requests) == 1, "a broken stream must not be asked again"


@pytest.mark.parametrize(
    "garbage",
    [b'data: {"choices": [\n\n', b"data: 3\n\n", b"<html>\n", b'data: {"choices": "x"}\n\n'],
)
def test_a_malformed_line_is_an_error(connect: Connect, garbage: bytes) -> None:
    with FakeServer([Say("one "), Raw(garbage), Say("two")]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        with pytest.raises(ModelError, match=r"malformed|event stream"):
            read(source)


def test_an_error_reported_inside_of_the_stream_is_an_error(connect: Connect) -> None:
    report = b'data: {"error": {"message": "out of memory", "code": 400}}\n\n'
    with FakeServer([Say("one "), Raw(report)]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        with pytest.raises(ModelError, match="out of memory"):
            read(source)


def test_comments_and_split_bytes_do_not_disturb_the_stream(connect: Connect) -> None:
    event = 'data: {"choices": [{"delta": {"content": "gr\u00fc\u2028n"}}]}\r\n\r\n'.encode()
    pieces = [Raw(event[n : n + 3]) for n in range(0, len(event), 3)]
    with FakeServer([Raw(b": hello\n\n"), *pieces, Raw(b"event: x\n\n")]) as server:
        chunks, _ = read(connect(server).open(ask(), max_tokens=None, seed=1))
    assert said(chunks) == "gr\u00fc\u2028n"


def test_a_silent_server_is_given_up_before_the_first_token(connect: Connect) -> None:
    with FakeServer([Hang()]) as server:
        model = connect(server, timeouts=Timeouts(first_token_s=0.3))
        with pytest.raises(ModelTimeoutError, match=r"0\.3 s for its first token"):
            read(model.open(ask(), max_tokens=None, seed=1))
        assert server.requests[0].hung_up.wait(PATIENCE_S)


def test_comments_that_keep_the_connection_alive_do_not_count_as_tokens(connect: Connect) -> None:
    with FakeServer([Hang(keep_alive=True)]) as server:
        model = connect(server, timeouts=Timeouts(first_token_s=0.05))
        with pytest.raises(ModelTimeoutError):
            read(model.open(ask(), max_tokens=None, seed=1))


def test_an_event_without_text_does_not_count_as_a_token(connect: Connect) -> None:
    hello = b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    with FakeServer([Raw(hello), Hang()]) as server:
        model = connect(server, timeouts=Timeouts(first_token_s=0.2, idle_s=0.001))
        with pytest.raises(ModelTimeoutError, match="first token"):
            read(model.open(ask(), max_tokens=None, seed=1))


def test_a_silence_between_chunks_is_given_up(connect: Connect) -> None:
    with FakeServer([Say("one "), Hang()]) as server:
        model = connect(server, timeouts=Timeouts(idle_s=0.05))
        source = model.open(ask(), max_tokens=None, seed=1)
        assert source.pull() == Chunk("one ", 1)
        with pytest.raises(ModelTimeoutError, match=r"next chunk; 1 tokens had come"):
            source.pull()
        assert server.requests[0].hung_up.wait(PATIENCE_S)


@pytest.mark.parametrize("goodbye", [Hang(), Die(), Die(politely=True)])
def test_a_server_that_never_says_goodbye_does_not_spoil_the_answer(
    connect: Connect, goodbye: object
) -> None:
    text = b'data: {"choices": [{"delta": {"content": "left"}}]}\n\n'
    end = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    with FakeServer([Raw(text + end), goodbye]) as server:
        model = connect(server, timeouts=Timeouts(idle_s=0.05))
        chunks, _ = read(model.open(ask(), max_tokens=None, seed=1))
    assert said(chunks) == "left"


# --- the source ------------------------------------------------------------------------------


def test_closing_a_source_closes_the_connection(connect: Connect) -> None:
    with FakeServer([Say("one "), Hang()]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        source.pull()
        source.close()
        source.close()
        assert server.requests[0].hung_up.wait(PATIENCE_S)
        assert source.pull() == End("closed")


def test_closing_reaches_a_server_that_has_not_answered(connect: Connect) -> None:
    asked = threading.Event()

    def script(_: object) -> list[object]:
        asked.set()
        return [Hang()]

    with FakeServer(script) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        assert asked.wait(PATIENCE_S)
        source.close()
        assert server.requests[0].hung_up.wait(PATIENCE_S)


def test_closing_from_another_thread_wakes_a_pull(connect: Connect) -> None:
    with FakeServer([Say("one "), Hang()]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        source.pull()
        pieces: list[object] = []
        puller = threading.Thread(target=lambda: pieces.append(source.pull()))
        puller.start()
        source.close()
        puller.join(PATIENCE_S)
        assert pieces == [End("closed")]


def test_closing_ends_the_wait_before_a_retry(connect: Connect) -> None:
    asked, gone = threading.Event(), threading.Event()

    def script(_: object) -> Iterator[object]:
        yield Status(503, headers={"Retry-After": "50"})
        asked.set()

    with FakeServer(lambda body: [*script(body)]) as server:
        model = connect(server)
        source = model.open(ask(), max_tokens=None, seed=1)
        assert asked.wait(PATIENCE_S)
        assert server.requests[0].over.wait(PATIENCE_S)
        weakref.finalize(source, gone.set)
        source.close()
        del source
        assert gone.wait(PATIENCE_S), "the reader still waits and holds its source"
        assert len(server.requests) == 1


def test_a_stream_that_nobody_reads_makes_the_server_wait(connect: Connect) -> None:
    plenty = 20_000
    with FakeServer((Say("x" * 4000) for _ in range(plenty)), stall_s=0.3) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        source.pull()
        assert server.requests[0].stalled.wait(PATIENCE_S)
        assert READ_AHEAD < server.requests[0].sent < plenty
        source.close()


def test_a_long_stream_arrives_whole_through_the_small_buffer(connect: Connect) -> None:
    count = 10 * READ_AHEAD
    with FakeServer([Say(f"{n} ") for n in range(count)]) as server:
        chunks, _ = read(connect(server).open(ask(), max_tokens=None, seed=1))
    assert said(chunks) == "".join(f"{n} " for n in range(count))


@pytest.mark.parametrize("steps", [[Wait(5), Say("one ")], [Wait(5), Status(401)], [Hang()]])
def test_readiness_is_told_once_for_a_chunk_an_error_or_a_close(
    connect: Connect, steps: list[object]
) -> None:
    told = threading.Semaphore(0)
    with FakeServer(steps) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        source.when_ready(told.release)
        if steps == [Hang()]:
            source.close()
        assert told.acquire(timeout=PATIENCE_S)
        source.when_ready(told.release)
        assert told.acquire(timeout=PATIENCE_S), "asking again when it is ready tells at once"
        source.close()
        assert not told.acquire(blocking=False)


def test_streams_run_side_by_side_and_leave_no_thread(connect: Connect) -> None:
    before = set(threading.enumerate())
    with FakeServer([Say("one "), Say("two"), Wait(1)]) as server:
        model = connect(server)
        sources = [model.open(ask(), max_tokens=None, seed=n) for n in range(8)]
        for n, source in enumerate(sources):
            if n % 2:
                source.close()
            else:
                assert said(read(source)[0]) == "one two"
        new = set(threading.enumerate()) - before
        assert len([thread for thread in new if thread.name == "timeful-streams"]) == 1
        model.close()
    assert set(threading.enumerate()) <= before


def test_a_model_that_is_gone_takes_its_thread_with_it() -> None:
    before = set(threading.enumerate())
    with FakeServer([Say("left")]) as server:
        model = OpenAIModel(model="fake", base_url=server.base_url)
        read(model.open(ask(), max_tokens=None, seed=1))
        model.close()
        read(model.open(ask(), max_tokens=None, seed=1))
        del model
    assert set(threading.enumerate()) <= before


def test_closing_a_model_fails_its_streams(connect: Connect) -> None:
    with FakeServer([Say("one "), Hang()]) as server:
        model = connect(server)
        source = model.open(ask(), max_tokens=None, seed=1)
        source.pull()
        model.close()
        with pytest.raises(ModelError, match="was closed"):
            source.pull()


def test_answers_that_were_read_leave_their_connection_to_the_next(connect: Connect) -> None:
    count = 6
    with FakeServer([Say("left")]) as server:
        model = connect(server)
        for _ in range(count):
            source = model.open(ask(), max_tokens=None, seed=1)
            while isinstance(source.pull(), Chunk):
                pass
            assert server.requests[-1].over.wait(PATIENCE_S)
        # Not one alone: a request may come before the end of the last answer was read.
        assert server.connections < count


@pytest.mark.parametrize("max_tokens", [1, 9])
def test_a_stream_at_its_end_says_so_before_its_end_can_be_pulled(
    connect: Connect, max_tokens: int
) -> None:
    """From then on it is not cancelled: it may be closing connections that the server gave up."""
    source, shared = StreamBuffer(), ClientState()
    with FakeServer([Say("go "), Say("up")]) as server:
        request = connect(server)._request(ask(), max_tokens, 1)

        async def run() -> bool:
            await stream_answer(request, source, shared, await connect_client(request, shared))
            is_leaving = asyncio.current_task() in shared.leaving
            await shared.cleanup.aclose()
            return is_leaving

        assert asyncio.run(run())
    assert read(source)[1].finish == ("length" if max_tokens == 1 else "stop")


# --- the model -------------------------------------------------------------------------------


def test_a_model_travels_to_another_process(connect: Connect) -> None:
    with FakeServer([Say("left")]) as server:
        model = connect(server, extra={"top_k": 3})
        read(model.open(ask(), max_tokens=None, seed=1))
        twin = pickle.loads(pickle.dumps(model))
        assert twin == model == copy.copy(model)
        assert said(read(twin.open(ask(), max_tokens=None, seed=1))[0]) == "left"
        twin.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "localhost:8000"},
        {"base_url": "http://localhost/v1/chat/completions"},
        {"model": ""},
        {"retries": -1},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, object]) -> None:
    right = {"model": "fake", "base_url": "http://localhost/v1"}
    with pytest.raises(SettingsError):
        OpenAIModel(**{**right, **wrong})  # type: ignore[arg-type]


def test_timeouts_are_above_zero() -> None:
    with pytest.raises(SettingsError):
        Timeouts(idle_s=0)


def test_the_endpoint_is_named_without_credentials() -> None:
    model = OpenAIModel(model="fake", base_url="https://me:secret@example.org:81/v1/?key=x")
    assert model.endpoint == "https://example.org:81/v1"


def test_importing_the_model_loads_no_client() -> None:
    code = "import sys, timeful.models.chat; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- on the timeline -------------------------------------------------------------------------


@pytest.mark.parametrize("delay_ms", [0, 5])
def test_a_thought_costs_its_tokens_however_slow_the_network(
    connect: Connect, delay_ms: int
) -> None:
    steps = [step for n in range(5) for step in (Wait(delay_ms), Say(f"{n} "))]
    with FakeServer(steps) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        kernel = Kernel()
        stream = kernel.stream(source, pacing=TOKEN_TIME)
        kernel.run_until(stream)
        assert kernel.now == TOKEN_TIME(5)
        assert stream.state == "completed"
        kernel.close()


def test_a_thought_that_is_cut_at_an_instant_hangs_up(connect: Connect) -> None:
    with FakeServer([*(Say("x ") for _ in range(20)), Hang()]) as server:
        kernel = Kernel()
        stream = kernel.stream(
            connect(server).open(ask(), max_tokens=None, seed=1), pacing=TOKEN_TIME
        )
        stream.limit(Instant(TOKEN_TIME(8)))
        kernel.run_until(stream)
        assert (stream.state, stream.tokens) == ("cancelled", 8)
        assert server.requests[0].hung_up.wait(PATIENCE_S)
        kernel.close()


def test_under_a_wall_clock_chunks_come_when_they_come(connect: Connect) -> None:
    with FakeServer([Say("a"), Wait(2), Say("b")]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        kernel = Kernel(WallClock())
        stream = kernel.stream(source, pacing=None)
        kernel.run_until(stream)
        assert stream.text() == "ab"
        assert kernel.now > 0
        kernel.close()


def test_under_a_wall_clock_a_cut_thought_leaves_nothing_to_wait_for(connect: Connect) -> None:
    with FakeServer([Hang()]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        kernel = Kernel(WallClock())
        stream = kernel.stream(source, pacing=None)
        stream.limit(Instant(1))
        kernel.run()
        assert stream.state == "cancelled"
        kernel.close()


def test_a_model_can_be_made_ready_before_the_clock_starts() -> None:
    with FakeServer([Say("hello")]) as server:
        model = OpenAIModel(model="fake", base_url=server.base_url)
        model.warm_up()
        model.warm_up()
        assert not server.requests, "nothing is sent"
        assert model._background._thread is not None
        assert model._background._thread.shared.dialect is not None
        chunks, _ = read(model.open(ask(), max_tokens=None, seed=0))
        assert said(chunks) == "hello"
        model.close()
