"""The dialects of Claude's Messages API, Gemini's generateContent and OpenAI's Responses.

This file alone knows pydantic-ai and the clients of the providers, which load for more than a
second; it is itself imported when the first request is sent.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from re import search
from typing import TYPE_CHECKING

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelTimeoutError,
    UserError,
)
from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, StreamedResponse
from pydantic_ai.usage import RequestUsage

from timeful.errors import ModelRefusedError
from timeful.models.answer_event import PlainEvent
from timeful.models.answer_stream import (
    BrokenError,
    RepeatError,
    StatusError,
    UnreachableError,
)
from timeful.models.counting import Report, read_count
from timeful.models.event_loop_thread import ClientState
from timeful.models.gemini_counts import COUNTS, GeminiCounts
from timeful.models.provider_clients import make_model
from timeful.models.provider_messages import CallNames, Signatures, convert, fit_settings, offer
from timeful.models.request import Request, requested_wait
from timeful.models.sse import CallPiece, Function

if TYPE_CHECKING:
    from timeful.models.provider import Api

_BUDGET = r"\bmax_(output_)?tokens\b|\bmaxOutputTokens\b"
"""The words by which providers refuse a limit above what a model can generate."""


async def connect(api: "Api", request: Request, shared: ClientState) -> "ProviderDialect":
    """Make the client that all streams of a model share; nothing is sent yet."""
    return ProviderDialect(make_model(api, request, shared.cleanup))


class ProviderDialect:
    """The API of a provider in one event loop.

    Args:
        model: The model of pydantic-ai.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._signatures = Signatures()
        self._too_large: int | None = None
        """A limit of tokens that the server refused as too large."""

    @asynccontextmanager
    async def answer(self, request: Request) -> AsyncIterator[AsyncIterator[PlainEvent]]:
        """Send a request and stream its answer; see `answer_stream.Dialect`."""
        most = request.max_tokens
        if request.is_soft_limit and self._too_large and most and most >= self._too_large:
            request = replace(request, max_tokens=None)
        settings = fit_settings(request, self._model.profile)
        counts, has_begun = GeminiCounts(), False
        COUNTS.set(counts)  # of the task of this stream
        with self._watch_budget(request), _translate_errors(request, lambda: has_begun):
            async with model_request_stream(
                self._model,
                convert(request.messages, self._signatures),
                model_settings=settings,
                model_request_parameters=offer(request.tools),
                instrument=False,
            ) as stream:
                has_begun = True
                yield self._events(request, stream, counts)

    @contextmanager
    def _watch_budget(self, request: Request) -> Iterator[None]:
        try:
            yield
        except StatusError as error:
            is_refused = error.status in (400, 422) and search(_BUDGET, error.words)
            if not (is_refused and request.is_soft_limit and request.max_tokens):
                raise
            self._too_large = request.max_tokens
            raise RepeatError from error

    async def _events(
        self, request: Request, stream: StreamedResponse, counts: GeminiCounts
    ) -> AsyncIterator[PlainEvent]:
        has_thinking, has_calls = False, False
        usage: RequestUsage | None = None
        names = CallNames(request)
        with _translate_errors(request, lambda: True):
            async for event in stream:
                news = _read(event, names)
                if news is None:
                    continue
                has_thinking = has_thinking or bool(news.reasoning)
                has_calls = has_calls or bool(news.calls)
                if counts.has_any:
                    news.report = counts.read()
                elif stream.usage is not usage:  # each message with counts brings another value
                    usage = stream.usage
                    news.report = _report(usage, is_total=False)
                yield news
        if has_calls:
            self._signatures.keep(stream.get(), names)
        if counts.has_any:
            report = counts.report(has_thinking=has_thinking)
        else:
            report = _report(stream.usage, is_total=True, has_thinking=has_thinking)
        yield PlainEvent(report=report, finish_reason=_finish_reason(stream))


def _read(event: ModelResponseStreamEvent, names: CallNames) -> PlainEvent | None:
    """The news in an event, if any."""
    if type(event) is PartDeltaEvent:
        delta = event.delta
        if type(delta) is TextPartDelta:
            return PlainEvent(content=delta.content_delta) if delta.content_delta else None
        if type(delta) is ThinkingPartDelta:
            text = delta.content_delta
            return PlainEvent(reasoning=text) if text else None
        if isinstance(delta, ToolCallPartDelta):
            function = Function(name=delta.tool_name_delta, arguments=delta.args_delta)
            return PlainEvent(calls=(CallPiece(index=event.index, function=function),))
    if isinstance(event, PartStartEvent):
        part = event.part
        if isinstance(part, TextPart):
            return PlainEvent(content=part.content) if part.content else None
        if isinstance(part, ThinkingPart):
            return PlainEvent(reasoning=part.content) if part.content else None
        if isinstance(part, ToolCallPart):
            function = Function(name=part.tool_name, arguments=part.args)
            call = CallPiece(index=event.index, id=names.of(part), function=function)
            return PlainEvent(calls=(call,))
    return None


def _report(usage: RequestUsage, *, is_total: bool, has_thinking: bool = True) -> Report:
    """The counts so far. A provider that neither shows nor counts reasoning did none."""
    if not is_total:
        return Report(
            prompt=read_count(usage.input_tokens) or None,
            cached=read_count(usage.cache_read_tokens) or None,
        )
    return Report(
        prompt=read_count(usage.input_tokens) or None,
        cached=read_count(usage.cache_read_tokens) or None,
        completion=read_count(usage.output_tokens) or None,
        reasoning=read_count(usage.output_reasoning_tokens) or (None if has_thinking else 0),
    )


def _finish_reason(stream: StreamedResponse) -> str | None:
    """Why the answer ended; None if the stream ended before the answer did."""
    reason: str | None = stream.finish_reason
    if reason is not None:
        return reason
    has_reason = bool((stream.provider_details or {}).get("finish_reason"))
    return "stop" if has_reason else None


@contextmanager
def _translate_errors(request: Request, has_begun: Callable[[], bool]) -> Iterator[None]:
    """Raise errors of pydantic-ai as those of `answer_stream`."""
    try:
        yield
    except ModelConnectionError as error:
        cause = error.__cause__ or error
        if has_begun():
            raise BrokenError(type(cause).__name__) from error
        is_slow = isinstance(error, ModelTimeoutError)
        raise UnreachableError(
            None if is_slow else f"{type(cause).__name__} {error.message}"
        ) from error
    except ModelAPIError as error:
        status, wait_s = None, None
        if isinstance(error, ModelHTTPError):
            status, wait_s = error.status_code, requested_wait(error.headers or {})
        raise StatusError(
            _words(error),
            status=status,
            wait_s=error.retry_after if wait_s is None else wait_s,
            is_final=isinstance(error, ModelQuotaExceededError),
            is_in_stream=error.in_stream or has_begun(),
        ) from error
    except UserError as error:
        raise ModelRefusedError(f"{request} cannot be sent: {error.message}") from error


def _words(error: ModelAPIError) -> str:
    """The server's words, wherever its JSON has them."""
    body = error.body
    for name in ("error", "message"):
        body = body.get(name, body) if isinstance(body, dict) else body
    return body if isinstance(body, str) and body else error.message
