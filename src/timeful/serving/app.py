"""The server's addresses, and what goes in and out of them. Nothing in here computes."""

import asyncio
import hmac
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

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
from timeful.serving.envelope import Envelope
from timeful.serving.errors import RequestError, as_request_error
from timeful.serving.requests import BodyParser, BodyT, ChatBody, CompletionBody
from timeful.serving.tokens import Tokens

MOST_BYTES = 64 << 20
"""Of the body of a request."""

_GONE = 499
"""The status of who hung up before the answer, as nginx has it; nobody is told."""

T = TypeVar("T")


class App:
    """The API of one checkpoint.

    Args:
        checkpoint: What is served.
        created: When it was, in seconds since 1970.
        api_key: What clients have to give; "" for nothing.
    """

    def __init__(self, checkpoint: Checkpoint, *, created: int, api_key: str = "") -> None:
        self._checkpoint = checkpoint
        self._created = created
        self._key = api_key.encode()
        self._tokens = Tokens(checkpoint)
        self._engine: Engine | None = None
        self._chat = BodyParser(ChatBody, checkpoint.name)
        self._plain = BodyParser(CompletionBody, checkpoint.name)
        self.asgi = Starlette(
            routes=[
                Route("/health", self._health),
                Route("/v1/models", self._guarded(self._models)),
                Route("/v1/models/{name:path}", self._guarded(self._model)),
                Route(
                    "/v1/chat/completions", self._guarded(self._chat_completion), methods=["POST"]
                ),
                Route("/v1/completions", self._guarded(self._completion), methods=["POST"]),
            ],
            exception_handlers={HTTPException: _no_such_place, Exception: _bug},
            lifespan=self._living,
        )

    def stop(self) -> None:
        """Answer nothing more; whoever waits is told so."""
        if self._engine is not None:
            self._engine.close()

    @asynccontextmanager
    async def _living(self, _: Starlette) -> AsyncIterator[None]:
        self._engine = Engine(self._checkpoint)
        yield
        await asyncio.to_thread(self.stop)

    # --- addresses -------------------------------------------------------------------------------

    async def _health(self, _: Request) -> Response:
        return _json({"status": "ok"})

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

    async def _chat_completion(self, request: Request) -> Response:
        return await self._answer(request, self._chat, ChatCompletion, "chatcmpl")

    async def _completion(self, request: Request) -> Response:
        return await self._answer(request, self._plain, TextCompletion, "cmpl")

    # --- how they are answered -------------------------------------------------------------------

    async def _answer(
        self,
        request: Request,
        reader: BodyParser[BodyT],
        make: Callable[[Engine, Tokens, BodyT, Envelope], ChatCompletion | TextCompletion],
        kind: str,
    ) -> Response:
        data = await _body(request)
        engine = self._engine
        assert engine is not None, "the server has begun"

        def read() -> tuple[ChatCompletion | TextCompletion, bool]:
            body = reader.read(data)
            heading = Envelope.new(kind, self._checkpoint.name)
            return make(engine, self._tokens, body, heading), bool(body.stream)

        # A template and a tokenizer may take a while over a long conversation.
        job, is_stream = await asyncio.to_thread(read)
        if is_stream:
            return _Events(job.streamed())
        answered = await _while_there(request, job.whole())
        return Response(status_code=_GONE) if answered is None else _json(answered)

    def _guarded(
        self, endpoint: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Ask for the key, and turn what was raised on purpose into a response."""

        async def guarded(request: Request) -> Response:
            try:
                self._check_key(request)
                return await endpoint(request)
            except (RequestError, SettingsError, ModelError) as error:
                said = as_request_error(error)
                return _json(said.body(), said.status)
            except ClientDisconnect:
                return Response(status_code=_GONE)

        return guarded

    def _check_key(self, request: Request) -> None:
        given = request.headers.get("authorization", "")
        scheme, _, key = given.partition(" ")
        fits = scheme.lower() == "bearer" and hmac.compare_digest(key.encode(), self._key)
        if self._key and not fits:
            raise RequestError("the API key is missing or wrong", 401, code="invalid_api_key")


class _Events(StreamingResponse):
    """Server-sent events; whoever hangs up ends what makes them."""

    media_type = "text/event-stream"

    def __init__(self, parts: AsyncGenerator[dict[str, Any], None]) -> None:
        self._parts = parts
        super().__init__(iter(()), headers={"cache-control": "no-cache"})

    async def stream_response(self, send: Send) -> None:
        """Send all parts, then the mark of the end; an error in between is a part."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        try:
            async with aclosing(self._parts) as parts:
                async for part in parts:
                    await _send(send, msgspec.json.encode(part))
        except (RequestError, ModelError) as error:
            await _send(send, msgspec.json.encode(as_request_error(error).body()))
        await _send(send, b"[DONE]")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Send, data: bytes) -> None:
    event = b"data: " + data + b"\n\n"
    await send({"type": "http.response.body", "body": event, "more_body": True})


async def _body(request: Request) -> bytes:
    """The whole body.

    Raises:
        RequestError: If it is too long.
    """
    data = bytearray()
    async for some in request.stream():
        data += some
        if len(data) > MOST_BYTES:
            raise RequestError(f"a request may have {MOST_BYTES} bytes at most", 413)
    return bytes(data)


async def _while_there(request: Request, work: Awaitable[T]) -> T | None:
    """Do work for as long as the client waits for it; None if it hung up."""
    job = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
        return job.result() if job.done() else None
    finally:
        job.cancel()
        gone.cancel()
        await asyncio.gather(job, gone, return_exceptions=True)


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")


async def _no_such_place(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path}: {error.detail.lower()}"
    said = RequestError(f"{what}; the API begins at /v1", error.status_code)
    return _json(said.body(), error.status_code)


async def _bug(_: Request, error: Exception) -> Response:
    """What a client is told of a bug; the server itself prints all of it, and goes on."""
    said = RequestError(f"the server has a bug: {type(error).__name__}", 500)
    return _json(said.body(), said.status)
