"""The routes of the server, and their requests and responses; no computation."""

import asyncio
import hmac
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Send

from timeful.errors import ModelError, SettingsError
from timeful.models.local.checkpoint import Checkpoint
from timeful.serving.chat import ChatCompletion
from timeful.serving.completions import TextCompletion
from timeful.serving.engine import Engine
from timeful.serving.errors import RequestError, as_request_error
from timeful.serving.handler import CompletionHandler
from timeful.serving.requests import BodyParser, BodyT, ChatBody, CompletionBody
from timeful.serving.settings import is_loopback
from timeful.serving.tokens import Tokens

MAX_BYTES = 4 << 20
"""Of the body of a request."""

SMALL_BYTES, MAX_LARGE = 64 << 10, 4
"""A longer body takes turns: only so many are read and parsed at the same time."""

LARGE_RATE = 32 << 20
"""Bytes of longer bodies a second, of all clients: to receive one holds the event loop."""

REFUSAL_S = 0.1
"""Before the refusal of a body that is too long."""

BODY_S = 30.0
"""For a body to arrive, the wait for its turn included."""

_TOO_LONG = 413

_CLIENT_CLOSED = 499
"""The status nginx logs for a client that hung up before the answer; it is never delivered."""

T = TypeVar("T")


class App:
    """The API of one checkpoint.

    Args:
        checkpoint: The model to serve.
        created: When serving began, in seconds since 1970.
        api_key: The key that clients must send; "" for none.
    """

    def __init__(self, checkpoint: Checkpoint, *, created: int, api_key: str = "") -> None:
        self._checkpoint = checkpoint
        self._created = created
        self._key = api_key.encode()
        self._tokens = Tokens(checkpoint)
        self._engine: Engine | None = None
        self._turns = asyncio.Semaphore(MAX_LARGE)
        self._large = Pace(LARGE_RATE)
        chat = BodyParser(ChatBody, checkpoint.name)
        text = BodyParser(CompletionBody, checkpoint.name)

        async def answer_chat(request: Request) -> Response:
            return await self._answer(request, chat, ChatCompletion)

        async def answer_text(request: Request) -> Response:
            return await self._answer(request, text, TextCompletion)

        self.asgi = Starlette(
            routes=[
                Route("/health", _health),
                Route("/v1/models", self._guarded(self._models)),
                Route("/v1/models/{name:path}", self._guarded(self._model)),
                Route("/v1/chat/completions", self._guarded(answer_chat), methods=["POST"]),
                Route("/v1/completions", self._guarded(answer_text), methods=["POST"]),
            ],
            exception_handlers={HTTPException: _http_error, Exception: _server_error},
            lifespan=self._lifespan,
        )

    def stop(self) -> None:
        """Answer nothing more; waiting requests fail."""
        if self._engine is not None:
            self._engine.close()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._engine = Engine(self._checkpoint)
        yield
        await asyncio.to_thread(self.stop)

    async def _models(self, _: Request) -> Response:
        return _json({"object": "list", "data": [self._about()]})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != self._checkpoint.name:
            message = f"there is no model {name!r}; there is {self._checkpoint.name!r}"
            raise RequestError(message, 404, param="model", code="model_not_found")
        return _json(self._about())

    def _about(self) -> dict[str, Any]:
        return {
            "id": self._checkpoint.name,
            "object": "model",
            "created": self._created,
            "owned_by": "timeful",
            "max_model_len": self._checkpoint.context,
        }

    async def _answer(
        self,
        request: Request,
        parser: BodyParser[BodyT],
        handle: Callable[[Engine, Tokens, BodyT], CompletionHandler],
    ) -> Response:
        engine = self._engine
        assert engine is not None, "the server has started"

        def parse(data: bytes) -> tuple[CompletionHandler, bool]:
            body = parser.read(data)
            return handle(engine, self._tokens, body), bool(body.stream)

        async with AsyncExitStack() as turn:
            await _refuse_long(request)
            take_turn = partial(turn.enter_async_context, self._turns)
            data = await _body(request, take_turn, self._large.wait)
            # The chat template and the tokenizer may take long for a long conversation.
            handler, is_stream = await asyncio.to_thread(parse, data)
        if is_stream:
            return _EventStream(handler.streamed())
        response = await _while_connected(request, handler.whole())
        return Response(status_code=_CLIENT_CLOSED) if response is None else _json(response)

    def _guarded(
        self, endpoint: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Check the client, and turn expected errors into responses."""

        async def guarded(request: Request) -> Response:
            try:
                self._check_client(request)
                return await endpoint(request)
            except (RequestError, SettingsError, ModelError) as error:
                return _error(as_request_error(error))
            except ClientDisconnect:
                return Response(status_code=_CLIENT_CLOSED)

        return guarded

    def _check_client(self, request: Request) -> None:
        if not self._key:
            _check_local(request)
            return
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        is_valid = scheme.lower() == "bearer" and hmac.compare_digest(key.encode(), self._key)
        if not is_valid:
            raise RequestError("the API key is missing or wrong", 401, code="invalid_api_key")


class _EventStream(StreamingResponse):
    """Server-sent events; a client that hangs up ends their source."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[dict[str, Any], None]) -> None:
        self._chunks = chunks
        super().__init__(iter(()), headers={"cache-control": "no-cache"})

    async def stream_response(self, send: Send) -> None:
        """Send all chunks, then the end mark; an error is the last chunk."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async with aclosing(self._chunks) as chunks:
                async for chunk in chunks:
                    await _send(send, msgspec.json.encode(chunk))
        except (RequestError, ModelError) as error:
            await _send(send, msgspec.json.encode(as_request_error(error).body()))
        await _send(send, b"[DONE]")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Send, data: bytes) -> None:
    event = b"data: " + data + b"\n\n"
    await send({"type": "http.response.body", "body": event, "more_body": True})


def _check_local(request: Request) -> None:
    """Refuse pages of the web: by their origin, or by a name that they let lead here."""
    places = {"Host": "//" + request.headers.get("host", "")}
    if "origin" in request.headers:
        places["Origin"] = request.headers["origin"]
    for name, place in places.items():
        try:
            host = urlsplit(place).hostname
        except ValueError:
            host = None
        if host is None or not is_loopback(host):
            raise RequestError(
                f"{name} is not this machine: without a key only its own clients are answered; "
                "start the server with TIMEFUL_API_KEY set",
                403,
            )


class Pace:
    """Spreads bytes evenly over time.

    Args:
        rate: The bytes of a second.
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._free_at = 0.0

    async def wait(self, count: int) -> None:
        """Wait until this many more bytes fit the rate."""
        now = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, now) + count / self._rate
        await pause(self._free_at - now)


async def pause(span_s: float) -> None:
    """Wait for a span; cancelling the task ends it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(span_s):
            await asyncio.Event().wait()


async def _refuse_long(request: Request) -> None:
    """Refuse a body that says that it is too long, before it is received."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > MAX_BYTES:
        await pause(REFUSAL_S)  # a client that repeats it at once would cost more
        raise _too_long()


async def _body(
    request: Request,
    take_turn: Callable[[], Awaitable[object]],
    spread: Callable[[int], Awaitable[object]],
) -> bytes:
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                if size <= SMALL_BYTES < size + len(piece):
                    await take_turn()
                pieces.append(piece)
                size += len(piece)
                if size > MAX_BYTES:
                    raise _too_long()
                if size > SMALL_BYTES:
                    await spread(len(piece))
    except TimeoutError:
        raise RequestError(f"the request did not arrive within {BODY_S:g} s", 408) from None
    return b"".join(pieces)


def _too_long() -> RequestError:
    return RequestError(f"a request may have at most {MAX_BYTES} bytes", _TOO_LONG)


async def _while_connected(request: Request, work: Awaitable[T]) -> T | None:
    """Do work for as long as the client waits for it; None if it hung up."""
    job = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({job, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        return job.result() if job.done() else None
    finally:
        job.cancel()
        disconnect.cancel()
        await asyncio.gather(job, disconnect, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _health(_: Request) -> Response:
    return _json({"status": "ok"})


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def _error(error: RequestError) -> Response:
    response = _json(error.body(), error.status)
    if error.status == _TOO_LONG:
        response.headers["connection"] = "close"  # else the rest of the body would be received
    return response


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    problem = f"{request.method} {request.url.path}: {error.detail.lower()}"
    return _error(RequestError(f"{problem}; the API begins at /v1", error.status_code))


async def _server_error(_: Request, error: Exception) -> Response:
    """The client gets the type of the exception only; the server prints the traceback."""
    return _error(RequestError(f"the server has a bug: {type(error).__name__}", 500))
