"""One answer of an endpoint: requests until one is accepted, then its stream.

This is the only file that knows the `openai` client, whose import takes a while; it is itself
imported when the first request is sent.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Set
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from re import search
from typing import TYPE_CHECKING, cast

import openai

from timeful.core.clock import monotonic_ns
from timeful.core.source import Channel, Chunk, End, Finish
from timeful.errors import ModelError, ModelRefusedError, ModelTimeoutError
from timeful.models.counting import UsageMeter
from timeful.models.event_loop_thread import ClientState
from timeful.models.request import RUNNING, Request
from timeful.models.sse import ChatChunk, SseParser, ThinkSplitter, decode_chunk
from timeful.models.stream_buffer import StreamBuffer
from timeful.models.tool_call_assembler import ToolCallAssembler

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_LONGEST_BACKOFF_S = 8.0
_LONGEST_RATE_BACKOFF_S = 60.0
_DRAIN_S = 0.5

_RATE_LIMITS = (429, 529)
"""The statuses of too many requests, and of an overloaded server."""

_OPTIONAL = {
    RUNNING: f"{RUNNING}|stream_options",
    "stream_options": "stream_options",
    "max_tokens": "max_completion_tokens",
    "seed": "seed",
}
"""Fields that some servers reject, and the words by which they say so, tried in this order."""

_CHECK = {
    400: "check the settings that are sent, and the length of the prompt",
    401: "check the API key",
    403: "check the API key, and what it is allowed to use",
    404: "check the model's name, and that base_url ends where the API begins (often /v1)",
    422: "check the settings that are sent",
}

# httpx, or httpx2 from openai 3 on: errors in mid-stream are its own.
_http = sys.modules[openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0]]
_TRANSPORT_ERROR = cast(type[Exception], _http.HTTPError)


class _RetryableError(Exception):
    """An attempt failed before its first chunk, and another one may do better."""

    def __init__(
        self, error: ModelError, *, wait_s: float | None = None, is_rate_limit: bool = False
    ) -> None:
        super().__init__(error)
        self.error = error
        self.wait_s = wait_s
        self.is_rate_limit = is_rate_limit


async def stream_answer(request: Request, source: StreamBuffer, shared: ClientState) -> None:
    """Send a request, several times if necessary, and feed the source with the answer.

    A failure before the first chunk is tried again, up to `request.retries` times: if no
    connection came about or it broke, and on status 408, 409 and 5xx. A rate limit (429, or a
    wait that the server names) is waited out, for at most `timeouts.patience_s` in all. A
    repetition without a field that the server does not know counts as an attempt, not as a retry.

    Raises:
        ModelError: If no attempt succeeded, or the stream broke.
    """
    client = shared.client or await connect(request, shared)
    patience = _Patience(request)
    attempts = 0
    while True:
        attempts += 1
        body = request.body(shared.refused)
        with patience.measured():
            await request.gate.enter(request.expected_tokens)
        attempt = _Attempt(request, source, attempts, shared, waited_s=patience.waited_s)
        sent_at = monotonic_ns()
        try:
            await attempt.run(client, body)
            return
        except openai.APIStatusError as error:
            field = _unknown_field(error, body, shared.refused)
            if field is not None:
                shared.refused.add(field)
                continue
            failure = _status(request, error)
        except openai.APIConnectionError as error:
            failure = _RetryableError(_unreachable(request, error))
        except _RetryableError as error:
            failure = error
        finally:
            request.gate.leave()
            request.gate.correct(attempt.tokens - request.expected_tokens)
        if failure.is_rate_limit:
            request.gate.refuse(sent_at / 1e9, failure.wait_s)
        wait_s = patience.next_wait(failure)
        if wait_s is None:
            raise _after(failure.error, attempts) from failure
        with patience.measured():
            await _pause(wait_s)


class _Patience:
    """How often, and how long, one request is tried again.

    Attributes:
        waited_s: The seconds that it has waited before its attempts.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._failures = 0
        self._refusals = 0
        self._refused_s = 0.0
        self.waited_s = 0.0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Count the time of the block as waiting."""
        began = monotonic_ns()
        try:
            yield
        finally:
            self.waited_s += (monotonic_ns() - began) / 1e9

    def next_wait(self, failure: _RetryableError) -> float | None:
        """The seconds before the next attempt; None if there shall be none."""
        first_s = self._request.timeouts.backoff_s
        if not failure.is_rate_limit:
            self._failures += 1
            if self._failures > self._request.retries:
                return None
            return min(first_s * 2.0 ** (self._failures - 1), _LONGEST_BACKOFF_S)
        self._refusals += 1
        wait_s = failure.wait_s
        if wait_s is None:
            wait_s = min(first_s * 2.0 ** min(self._refusals, 20), _LONGEST_RATE_BACKOFF_S)
        self._refused_s += wait_s
        return wait_s if self._refused_s <= self._request.timeouts.patience_s else None


async def connect(request: Request, shared: ClientState) -> openai.AsyncOpenAI:
    """Make the client that all streams of a model share; nothing is sent yet."""
    times = request.timeouts
    # Reads have no limit here: silence is measured in tokens, not in bytes (see _Reading).
    http = openai.DefaultAsyncHttpxClient(
        timeout=openai.Timeout(None, connect=times.connect_s, write=times.connect_s)
    )
    client = openai.AsyncOpenAI(
        base_url=request.base_url,
        api_key=request.api_key,
        max_retries=0,
        timeout=openai.Timeout(None, connect=times.connect_s, write=times.connect_s),
        http_client=http,
    )
    # The client would take these from the environment, and send them to any server.
    client.organization = client.project = None
    _ = client.chat.completions  # loads more of the client now, not on a request's time
    shared.client = await shared.cleanup.enter_async_context(client)
    return shared.client


class _Attempt:
    """One attempt: a request and the stream that answers it."""

    def __init__(
        self,
        request: Request,
        source: StreamBuffer,
        attempt: int,
        shared: ClientState,
        *,
        waited_s: float,
    ) -> None:
        self._request = request
        self._source = source
        self._attempt = attempt
        self._waited_s = waited_s
        self._shared = shared
        self._meter = UsageMeter(request.max_tokens)
        self._splitter = ThinkSplitter(request.thinking)
        self._calls = ToolCallAssembler()
        self._has_begun = False
        self._carried = 0  # tokens whose text is held back
        self._finish: Finish | None = None
        self._is_done = False

    @property
    def tokens(self) -> int:
        """The tokens of prompt and answer so far, as far as they are known."""
        usage = self._meter.usage
        return (usage.prompt or 0) + usage.completion

    async def run(self, client: openai.AsyncOpenAI, body: dict[str, object]) -> None:
        """Send the request, and pass on the answer until its end or until the budget is used up."""
        self._source.begin()
        async with AsyncExitStack() as stack:
            async with self._at_most(self._request.timeouts.first_token_s, "its first token"):
                received = await self._open(client, body, stack)
                events = await stack.enter_async_context(aclosing(self._events(received)))
                event = await self._next(events)
            while event is not None:
                if not await self._take(event):
                    # The budget was used up, however much the server sends.
                    tokens = self._request.max_tokens
                    await self._put_calls(self._calls.flush())
                    self._leave(End("length", tokens, None, self._attempt, self._waited_s))
                    return
                event = await self._next_in_time(events)
            await self._end()
            # Read to the very end, so that the connection can serve the next request.
            with suppress(TimeoutError, _TRANSPORT_ERROR):
                async with asyncio.timeout(_DRAIN_S):
                    async for _ in received:
                        pass

    async def _open(
        self, client: openai.AsyncOpenAI, body: dict[str, object], stack: AsyncExitStack
    ) -> AsyncIterator[bytes]:
        response = await stack.enter_async_context(
            client.chat.completions.with_streaming_response.create(
                model=self._request.model,
                messages=cast("list[ChatCompletionMessageParam]", self._request.wire()),
                stream=True,
                extra_body=body,
            )
        )
        return response.iter_bytes()

    async def _events(self, received: AsyncIterator[bytes]) -> AsyncGenerator[ChatChunk, None]:
        lines = SseParser()
        async for some in received:
            for data in lines.feed(some):
                if data == b"[DONE]":
                    self._is_done = True
                    return
                yield decode_chunk(data)
        for data in lines.flush():
            yield decode_chunk(data)

    async def _next(self, events: AsyncIterator[ChatChunk]) -> ChatChunk | None:
        """The next event with text or a finish reason; usage is kept."""
        try:
            async for event in events:
                if event.error:
                    raise self._reported(event.error)
                if (report := event.report) is not None:
                    self._meter.note(report)
                if event.has_news:
                    return event
        except _TRANSPORT_ERROR as error:
            if self._finish is None:  # else only the end mark is missing
                raise self._broken(f"the connection broke ({type(error).__name__})") from error
        return None

    async def _next_in_time(self, events: AsyncIterator[ChatChunk]) -> ChatChunk | None:
        try:
            async with self._at_most(self._request.timeouts.idle_s, "its next chunk"):
                return await self._next(events)
        except ModelTimeoutError:
            if self._finish is None:
                raise
            return None

    async def _take(self, event: ChatChunk) -> bool:
        """Pass on new text; False if it exceeds the budget."""
        if event.text:
            tokens = self._meter.add(event.text, event.report)
            if tokens is None:
                return False
            self._carried += tokens
            if event.reasoning:
                await self._put("reasoning", event.reasoning)
            for channel, text in self._splitter.feed(event.content):
                await self._put(channel, text)
        if event.calls:
            await self._put_calls(self._calls.feed(event.calls))
        if event.finish_reason is not None:
            self._finish = self._why(event.finish_reason)
        return True

    async def _put(self, channel: Channel, text: str) -> None:
        tokens, self._carried = self._carried, 0
        self._has_begun = True
        self._source.append(Chunk(text, tokens, channel), self._meter.enter(tokens, channel))
        if self._source.is_full:
            with self._request.gate.outside():
                await self._source.make_room()

    async def _put_calls(self, text: str) -> None:
        """Pass on complete calls, if any; fragments cost their tokens on arrival."""
        if text or self._carried:
            await self._put("answer", text)

    def _why(self, reason: str) -> Finish:
        if reason == "content_filter":
            raise ModelRefusedError(f"{self._request} was cut off by the server's content filter")
        if reason == "error":
            raise self._broken("the server reported an error")
        return "length" if reason == "length" else "stop"

    async def _end(self) -> None:
        if self._finish is None and not self._is_done:
            raise self._broken("the stream ended before the answer did")
        for channel, text in self._splitter.flush():
            await self._put(channel, text)
        if calls := self._calls.flush():
            await self._put("answer", calls)
        usage = self._meter.usage
        is_known = usage.counted != "estimated" or self._carried
        tokens = usage.completion if is_known else None
        finish = self._finish or "stop"
        self._leave(End(finish, tokens, usage.prompt, self._attempt, self._waited_s))

    def _leave(self, end: End) -> None:
        """Append the end; from now on this task is not cancelled."""
        task = asyncio.current_task()
        assert task is not None
        self._shared.leaving.add(task)
        self._source.append(end, self._meter.usage)

    def _broken(self, problem: str) -> Exception:
        """A failure that may be retried if no part of the answer was passed on."""
        error = ModelError(f"{problem} in {self._request}, after {self._meter.total} tokens")
        return error if self._has_begun else _RetryableError(error)

    def _reported(self, error: dict[str, object] | str) -> Exception:
        words, code = error, None
        if isinstance(error, dict):
            words, code = str(error.get("message", error)), error.get("code")
        problem = f"the server reported {self._request.quote(str(words))!r}"
        is_passing = isinstance(code, int) and _is_passing(code)
        return self._broken(problem) if is_passing else ModelError(f"{problem} in {self._request}")

    @asynccontextmanager
    async def _at_most(self, span_s: float, event: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(span_s):
                yield
        except TimeoutError as error:
            raise ModelTimeoutError(
                f"{self._request} kept us waiting more than {span_s:g} s for {event};"
                f" {self._meter.total} tokens had come"
            ) from error


def _is_passing(status: int) -> bool:
    return status in (408, 409, 429) or status >= 500


def _unknown_field(
    error: openai.APIStatusError, body: dict[str, object], refused: Set[str]
) -> str | None:
    """The optional field of the body that the server rejects by name, if any."""
    if error.status_code in (400, 422):
        for name, pattern in _OPTIONAL.items():
            fields = body.get("stream_options") if name == RUNNING else body
            has_field = isinstance(fields, dict) and name in fields and name not in refused
            if has_field and search(rf"\b({pattern})\b", error.message):
                return name
    return None


def _status(request: Request, error: openai.APIStatusError) -> _RetryableError:
    """A temporary failure; raises at once if a retry would fail, too."""
    status, words = error.status_code, request.quote(error.message)
    wait_s = _asked_wait(error)
    is_soon = wait_s is None or wait_s <= request.timeouts.patience_s
    if _is_passing(status) and is_soon and error.code != "insufficient_quota":
        failure = ModelError(f"{request} failed with status {status}: {words}")
        is_rate_limit = status in _RATE_LIMITS or wait_s is not None
        return _RetryableError(failure, wait_s=wait_s, is_rate_limit=is_rate_limit)
    hint = "ask its operator" if is_soon else f"it asks to wait {wait_s:g} s"
    hint = _CHECK.get(status, hint)
    if request.tools and status in (400, 404, 422) and search(r"\btool", words):
        hint = "if it takes no native tool calls, offer the tools in words: --calls text"
    raise ModelRefusedError(f"{request} was refused with status {status}: {words}; {hint}")


def _asked_wait(error: openai.APIStatusError) -> float | None:
    """The seconds of Retry-After; a date is ignored, since it would need a clock."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            return max(0.0, float(error.response.headers.get(name, "none"))) * unit
    return None


def _unreachable(request: Request, error: openai.APIConnectionError) -> ModelError:
    if isinstance(error, openai.APITimeoutError):
        return ModelTimeoutError(
            f"no connection for {request} within {request.timeouts.connect_s:g} s"
        )
    why = error.__cause__ or error
    cause = request.quote(f"{type(why).__name__} {why}".strip())
    return ModelError(f"no connection for {request}: {cause}; check that the server runs")


def _after(error: ModelError, attempts: int) -> ModelError:
    return type(error)(f"{error} (attempt {attempts}, the last)")


async def _pause(span_s: float) -> None:
    """Wait before the next attempt; cancelling the task ends it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(span_s):
            await asyncio.Event().wait()
