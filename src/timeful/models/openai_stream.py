"""The dialect of chat completions, as OpenAI-compatible servers speak it.

This is the only file that knows the `openai` client, whose import takes a while; it is itself
imported when the first request is sent.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping, Set
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from functools import lru_cache
from re import search
from ssl import SSLContext
from typing import Any, cast

import openai

from timeful.models.answer_stream import (
    BrokenError,
    RepeatError,
    StatusError,
    UnreachableError,
)
from timeful.models.bounded_bodies import bound_bodies
from timeful.models.event_loop_thread import ClientState
from timeful.models.failures import find_words
from timeful.models.request import RUNNING, Request, requested_wait
from timeful.models.sse import ChatChunk, Choice, SseParser, decode_chunk

_DRAIN_S = 0.5

_STREAMS = 8
"""The streams of a client at a time; for each request it looks at all its idle connections."""

_DONE = ChatChunk(choices=[Choice(finish_reason="stop")])
"""The meaning of an end mark without a finish reason before it."""

_OPTIONAL = {
    RUNNING: f"{RUNNING}|stream_options",
    "stream_options": "stream_options",
    "max_tokens": "max_completion_tokens",
    "seed": "seed",
    "temperature": "temperature",
}
"""Fields that some servers reject, and the words by which they say so, tried in this order."""

_BUDGET = r"\bmax_(completion_)?tokens\b|context length|completion tokens"
"""The words by which servers refuse a budget above what the model can generate."""

# httpx, or httpx2 from openai 3 on: errors in mid-stream are its own.
_http = sys.modules[openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0]]
_TRANSPORT_ERROR = cast(type[Exception], _http.HTTPError)


async def connect(request: Request, shared: ClientState) -> "ChatDialect":
    """Make the first client of the streams of a model; nothing is sent yet."""
    dialect = ChatDialect(shared.cleanup)
    async with dialect.client(request) as client:
        _ = client.chat.completions  # loads more of the client now, not on a request's time
    return dialect


@lru_cache(maxsize=1)
def _load_certificates() -> SSLContext:
    """The certificates of this machine for all clients: to load them takes 40 ms."""
    certificates: SSLContext = _http.create_ssl_context()
    return certificates


def make_client(
    request: Request, *, longest_event: int | None = None, verify: SSLContext | bool = True
) -> openai.AsyncOpenAI:
    """Make a client without retries of its own; the caller closes it. See `bound_bodies`."""
    times = request.timeouts
    # Reads have no limit here: silence is measured in tokens, not in bytes (see `answer_stream`).
    timeout = openai.Timeout(None, connect=times.connect_s, write=times.connect_s)
    http = openai.DefaultAsyncHttpxClient(
        timeout=timeout,
        verify=verify,
        limits=_http.Limits(max_connections=None, max_keepalive_connections=None),
    )
    bound_bodies(http, longest_event=longest_event)
    client = openai.AsyncOpenAI(
        base_url=request.base_url,
        api_key=request.api_key,
        max_retries=0,
        timeout=timeout,
        http_client=http,
    )
    # The client would take these from the environment, and send them to any server.
    client.organization = client.project = None
    return client


class ChatDialect:
    """Chat completions through the `openai` client, whose stream of bytes is read here."""

    def __init__(self, cleanup: AsyncExitStack) -> None:
        self._cleanup = cleanup
        self._places: list[openai.AsyncOpenAI] = []
        """The clients of streams that are not in use, each once for each stream."""
        self.refused: set[str] = set()
        """The optional fields of a request that the server turned out not to know."""
        self._too_large: int | None = None
        """The least budget that follows from a limit in time, and that the server refused."""

    @asynccontextmanager
    async def client(self, request: Request) -> AsyncIterator[openai.AsyncOpenAI]:
        """A client for one stream."""
        if not self._places:
            client = make_client(request, verify=_load_certificates())
            await self._cleanup.enter_async_context(client)
            self._places += [client] * _STREAMS
        client = self._places.pop()
        try:
            yield client
        finally:
            self._places.append(client)

    @asynccontextmanager
    async def answer(self, request: Request) -> AsyncIterator[AsyncIterator[ChatChunk]]:
        """Send a request and stream its answer; see `answer_stream.Dialect`."""
        body = request.body(self.refused, too_large=self._too_large)
        with self._translate_errors(request, body):
            async with self.client(request) as client, _open(client, request, body) as response:
                # Not `iter_bytes`, which costs as much as all else that is done with a chunk.
                stream = cast("AsyncIterable[bytes]", response.http_response.stream)
                async with aclosing(cast("AsyncGenerator[bytes, None]", aiter(stream))) as received:
                    reader = _Reader(received)
                    async with aclosing(reader.events()) as events:
                        yield events
                    if reader.is_done:
                        # Read to the very end, so that the connection can serve the next request.
                        with suppress(TimeoutError, _TRANSPORT_ERROR):
                            async with asyncio.timeout(_DRAIN_S):
                                async for _ in received:
                                    pass

    @contextmanager
    def _translate_errors(self, request: Request, body: dict[str, object]) -> Iterator[None]:
        try:
            yield
        except openai.APIStatusError as error:
            words = find_words(error.body) or error.message
            field = _unknown_field(words, error.status_code, body, self.refused)
            if field is not None:
                self.refused.add(field)
                raise RepeatError from error
            if _is_budget_too_large(words, error.status_code, request, body):
                self._too_large = request.max_tokens
                raise RepeatError from error
            raise StatusError(
                words,
                status=error.status_code,
                wait_s=requested_wait(error.response.headers),
                is_final=error.code == "insufficient_quota",
            ) from error
        except openai.APITimeoutError as error:
            raise UnreachableError(None) from error
        except openai.APIConnectionError as error:
            why = error.__cause__ or error
            raise UnreachableError(f"{type(why).__name__} {why}".strip()) from error


def _open(
    client: openai.AsyncOpenAI, request: Request, body: Mapping[str, object]
) -> AbstractAsyncContextManager[openai.AsyncAPIResponse[Any], None]:
    """Send a request; the messages go past the client, which would rebuild them by their types."""
    return client.chat.completions.with_streaming_response.create(
        model=request.model,
        messages=[],
        stream=True,
        extra_body={"messages": request.wire(), **body},
    )


class _Reader:
    """Reads the events of one answer from its bytes."""

    def __init__(self, received: AsyncIterator[bytes]) -> None:
        self._received = received
        self.is_done = False
        """Whether the end mark has come."""

    async def events(self) -> AsyncGenerator[ChatChunk, None]:
        """The events of the answer."""
        lines, has_finish = SseParser(), False
        try:
            async for some in self._received:
                for data in lines.feed(some):
                    if data == b"[DONE]":
                        self.is_done = True
                        if not has_finish:
                            yield _DONE
                        return
                    event = _decode(data)
                    has_finish = has_finish or event.finish_reason is not None
                    yield event
        except _TRANSPORT_ERROR as error:
            raise BrokenError(type(error).__name__) from error
        for data in lines.flush():
            yield _decode(data)


def _decode(data: bytes) -> ChatChunk:
    event = decode_chunk(data)
    if not event.error:
        return event
    words, code = event.error, None
    if isinstance(words, dict):
        code = words.get("code")
        words = str(words.get("message", words))
    status = code if isinstance(code, int) else None
    raise StatusError(words, status=status, is_in_stream=True)


def _unknown_field(
    words: str, status: int, body: dict[str, object], refused: Set[str]
) -> str | None:
    """The optional field of the body that the server rejects by name, if any."""
    if status in (400, 422):
        for name, pattern in _OPTIONAL.items():
            fields = body.get("stream_options") if name == RUNNING else body
            has_field = isinstance(fields, dict) and name in fields and name not in refused
            if has_field and search(rf"\b({pattern})\b", words):
                return name
    return None


def _is_budget_too_large(
    words: str, status: int, request: Request, body: dict[str, object]
) -> bool:
    """Whether the server refuses a budget that is only what there is time for."""
    has_budget = "max_tokens" in body or "max_completion_tokens" in body
    is_refused = status in (400, 422) and search(_BUDGET, words)
    return request.is_soft_limit and has_budget and bool(is_refused)
