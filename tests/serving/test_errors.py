"""What cannot be answered is refused in OpenAI's shape, and the server goes on."""

import asyncio
import http.client
import json

import openai
import pytest

from tests.models.local.tiny import checkpoint
from tests.serving.here import Here, parrot
from timeful.serving.app import Pace, _body
from timeful.serving.errors import RequestError

ASKED = {"messages": [{"role": "user", "content": "count"}]}
PROMPT = {"prompt": "count"}


def send(here: Here, path: str, data: bytes, method: str = "POST", **headers: str):
    link = http.client.HTTPConnection(here.address.removeprefix("http://"), timeout=30)
    try:
        link.request(method, path, data, headers)
        answered = link.getresponse()
        return answered.status, json.loads(answered.read())
    finally:
        link.close()


def refused(here: Here, path: str, body: dict) -> tuple[int, dict]:
    status, said = send(here, f"/v1/{path}", json.dumps({"model": here.name, **body}).encode())
    assert set(said["error"]) == {"message", "type", "param", "code"}, said
    assert said["error"]["type"] == "invalid_request_error"
    assert said["error"]["message"]
    return status, said["error"]


@pytest.fixture(autouse=True)
def goes_on(said):
    """After each of these requests the next one is answered."""
    yield
    with said.client() as client:
        made = client.chat.completions.create(model=said.name, max_tokens=2, **ASKED)
    assert made.choices[0].message.content == "one two"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"3", b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"model": "\\ud800"}'],
)
def test_what_is_no_json_object_is_refused(said, data):
    status, answered = send(said, "/v1/chat/completions", data)
    assert (status, answered["error"]["code"]) == (400, "invalid_json")


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "count"}, "messages"),
        ({"messages": [3]}, "messages"),
        ({"messages": [{"content": "count"}]}, "messages[0].role"),
        ({"messages": [{"role": "usr", "content": "count"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages[0].content",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [3]}]},
            "messages[0].tool_calls",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": 3}]}, "messages[0].tool_calls"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"max_tokens": "3"}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.5}, "top_p"),
        ({"top_k": -2}, "top_k"),
        ({"n": 0}, "n"),
        ({"seed": 1.5}, "seed"),
        ({"stop": ""}, "stop"),
        ({"stop": [3]}, "stop"),
        ({"stop": ["x"] * 17}, "stop"),
        ({"stop": "x" * 129}, "stop"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": 3}, "stream_options"),
        ({"logprobs": 3}, "logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "a"}}}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"presence_penalty": 0.5}, "presence_penalty"),
        ({"temprature": 1}, "temprature"),
        ({"chat_template_kwargs": {"tokenize": True}}, "chat_template_kwargs"),
        ({"continue_final_message": True, "add_generation_prompt": True}, "messages"),
    ],
)
def test_a_field_that_cannot_be_honoured_is_named(said, more, param):
    status, error = refused(said, "chat/completions", {**ASKED, **more})
    assert (status, error["param"]) == (400, param)


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"prompt": []}, "prompt"),
        ({"prompt": 3}, "prompt"),
        ({"prompt": ["a", 3]}, "prompt"),
        ({"prompt": [[1], "a"]}, "prompt"),
        ({"prompt": [True]}, "prompt"),
        ({"prompt": [1.5]}, "prompt"),
        ({"prompt": [100_000]}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": ""}, None),
        ({"prompt": [[]]}, None),
        ({"max_tokens": -1}, "max_tokens"),
        ({"logprobs": 21}, "logprobs"),
        ({"logprobs": True}, "logprobs"),
        ({"best_of": 3}, "best_of"),
        ({"suffix": "b"}, "suffix"),
        ({"messages": []}, "messages"),
        ({"prompt": ["a"] * 1025, "n": 2}, "n"),
    ],
)
def test_a_plain_field_that_cannot_be_honoured_is_named(said, more, param):
    status, error = refused(said, "completions", {**PROMPT, **more})
    assert (status, error["param"]) == (400, param)


@pytest.mark.parametrize(
    "more",
    [
        {"temperature": 1e-300},
        {"temperature": 1e-5},
        {"temperature": 2, "top_p": 1e-300},
        {"temperature": 1, "top_k": 2**62},
        {"seed": 10**40},
        {"seed": -(2**63)},
        {"max_tokens": 10**30},
        {"logprobs": True, "top_logprobs": 20},
        {"stop": ["x" * 128] * 16},
    ],
)
def test_extremes_are_answered_and_harm_nobody(said, more):
    """A batch lives or dies as a whole: what one asks for must not end the others."""
    body = {"model": said.name, "seed": 1, "max_tokens": 12, **ASKED, **more}
    status, answered = send(said, "/v1/chat/completions", json.dumps(body).encode())
    assert status == 200, answered
    said_words = answered["choices"][0]["message"]["content"]
    assert said_words == "one two three four five six seven eight nine ten"


def test_fields_that_change_nothing_are_taken(said):
    with said.client() as client:
        client.chat.completions.create(
            model=said.name,
            user="a",
            metadata={"b": "c"},
            store=False,
            frequency_penalty=0,
            logit_bias={},
            response_format={"type": "text"},
            tool_choice="auto",
            top_p=None,
            max_tokens=1,
            **ASKED,
        )


@pytest.mark.parametrize(("path", "body"), [("chat/completions", ASKED), ("completions", PROMPT)])
def test_another_model_is_not_found_and_none_is_refused(said, path, body):
    status, error = refused(said, path, {**body, "model": "parot"})
    assert (status, error["code"]) == (404, "model_not_found")
    assert "parrot" in error["message"]
    status, error = refused(said, path, {**body, "model": None})
    assert (status, error["param"]) == (400, "model")
    with said.client() as client, pytest.raises(openai.NotFoundError):
        client.models.retrieve("parot")


def test_a_prompt_that_is_too_long_is_named_so(said):
    long = "count " * 600
    for path, body in (
        ("chat/completions", {"messages": [{"role": "user", "content": long}]}),
        ("completions", {"prompt": long}),
        ("completions", {"prompt": long, "max_tokens": 0}),
        ("completions", {"prompt": long, "stream": True}),
    ):
        status, error = refused(said, path, body)
        assert (status, error["code"]) == (400, "context_length_exceeded")
        assert "512" in error["message"]


def test_a_template_that_refuses_is_quoted(monkeypatch):
    of = checkpoint()
    monkeypatch.setattr(of.tokenizer, "chat_template", "{{ raise_exception('no, thanks') }}")
    with Here(of) as here:
        status, error = refused(here, "chat/completions", ASKED)
    assert (status, error["param"]) == (400, "messages")
    assert "no, thanks" in error["message"]


def test_places_that_there_are_not(said):
    for method, path in (("GET", "/v1/nothing"), ("GET", "/v1/completions"), ("POST", "/health")):
        status, answered = send(said, path, b"", method)
        assert status in (404, 405)
        assert answered["error"]["type"] == "invalid_request_error"


def test_a_key_is_asked_for_everywhere_but_for_health():
    with Here(parrot(), api_key="secret") as here:
        assert send(here, "/health", b"", "GET") == (200, {"status": "ok"})
        for path in ("models", "models/parrot", "completions", "chat/completions"):
            method = "GET" if path.startswith("models") else "POST"
            for given in ({}, {"Authorization": "Bearer schlüssel"}, {"Authorization": "secret"}):
                status, answered = send(here, f"/v1/{path}", b"{}", method, **given)
                assert (status, answered["error"]["code"]) == (401, "invalid_api_key")
        with here.client(api_key="secret") as client:
            assert len(client.models.list().data) == 1
        assert send(here, "/v1/models", b"", "GET", Authorization="bearer secret")[0] == 200


def test_a_body_beyond_all_bounds_is_refused(said, monkeypatch):
    monkeypatch.setattr("timeful.serving.app.MAX_BYTES", 1000)
    status, _ = refused(said, "chat/completions", {**ASKED, "user": "a" * 1000})
    assert status == 413


def test_a_body_that_says_that_it_is_too_long_is_not_received(monkeypatch):
    monkeypatch.setattr("timeful.serving.app.REFUSAL_S", 0)
    with Here(parrot()) as here:
        link = http.client.HTTPConnection(here.address.removeprefix("http://"), timeout=30)
        link.putrequest("POST", "/v1/completions")
        link.putheader("Content-Length", str(60 << 20))
        link.endheaders()
        answer = link.getresponse()  # no byte of the body was sent
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        link.close()


def test_bytes_are_spread_evenly(monkeypatch):
    waits = []

    async def note(span_s):
        waits.append(span_s)

    monkeypatch.setattr("timeful.serving.app.pause", note)

    async def spread():
        pace = Pace(1000)
        for count in (100, 100, 300):
            await pace.wait(count)

    asyncio.run(spread())
    assert waits == pytest.approx([0.1, 0.2, 0.5], abs=0.01)


async def _soon(*_): ...


def test_a_body_is_measured_whole_however_it_comes(monkeypatch):
    class Request:
        async def stream(self):
            for _ in range(3):
                yield b"a" * 400

    monkeypatch.setattr("timeful.serving.app.MAX_BYTES", 1000)
    with pytest.raises(RequestError, match="1000 bytes"):
        asyncio.run(_body(Request(), _soon, _soon))


def test_a_body_that_does_not_end_is_not_waited_for(monkeypatch):
    class Request:
        async def stream(self):
            yield b"a"
            await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr("timeful.serving.app.BODY_S", 0)
        with pytest.raises(RequestError) as raised:
            asyncio.run(_body(Request(), _soon, _soon))
    assert raised.value.status == 408


def test_long_bodies_wait_for_their_turn_and_short_ones_do_not(monkeypatch):
    for name, value in (("MAX_LARGE", 0), ("SMALL_BYTES", 1000), ("BODY_S", 0.1)):
        monkeypatch.setattr(f"timeful.serving.app.{name}", value)
    with Here(parrot()) as here:
        for length, expected in ((2000, 408), (100, 200)):
            body = {"model": here.name, "user": "a" * length, "max_tokens": 1, **ASKED}
            data = json.dumps(body).encode()
            assert send(here, "/v1/chat/completions", data)[0] == expected


@pytest.mark.parametrize(("path", "field"), [("chat/completions", "messages"), ("completions", "")])
def test_of_a_prompt_that_is_too_long_only_the_beginning_is_tokenized(monkeypatch, path, field):
    of = parrot()
    lengths = []
    call = type(of.tokenizer).__call__

    def noted(tokenizer, text, **how):
        lengths.append(len(text))
        return call(tokenizer, text, **how)

    monkeypatch.setattr(type(of.tokenizer), "__call__", noted)
    text = "count " * 100_000
    body = {"messages": [{"role": "user", "content": text}]} if field else {"prompt": text}
    with Here(of) as here:
        status, error = refused(here, path, body)
    assert (status, error["code"]) == (400, "context_length_exceeded")
    assert 0 < max(lengths) <= 16 * of.context


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Host": "rebound.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://page.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "localhost:80"}, 200),
        ({"Host": "[::1]:80"}, 200),
    ],
)
def test_pages_of_the_web_are_refused_where_there_is_no_key(said, headers, expected):
    assert send(said, "/v1/models", b"", "GET", **headers)[0] == expected


def test_a_key_opens_the_server_for_every_host():
    with Here(parrot(), api_key="secret") as here:
        headers = {"Host": "models.example", "Authorization": "Bearer secret"}
        assert send(here, "/v1/models", b"", "GET", **headers)[0] == 200


def test_a_bug_is_told_without_its_insides(said, monkeypatch, caplog):
    monkeypatch.setattr("timeful.serving.app.ChatCompletion", None)
    status, answered = send(
        said, "/v1/chat/completions", json.dumps({"model": said.name, **ASKED}).encode()
    )
    assert (status, answered["error"]["type"]) == (500, "server_error")
    monkeypatch.undo()
    assert send(said, "/health", b"", "GET")[0] == 200
    assert "TypeError" in caplog.text


def test_a_sampler_that_fails_is_an_error_of_the_server(said, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr("timeful.models.local.sampler.RowSamplers", fail)
    with said.client() as client:
        with pytest.raises(openai.InternalServerError, match="out of memory"):
            client.chat.completions.create(model=said.name, **ASKED)
        stream = client.chat.completions.create(model=said.name, stream=True, **ASKED)
        with pytest.raises(openai.APIError, match="out of memory"):
            list(stream)
    monkeypatch.undo()
