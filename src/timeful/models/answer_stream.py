"""One answer of an endpoint: requests until one is accepted, then its stream.

What is asked, and in which format it comes, is the business of a `Dialect`: that of chat
completions is in `openai_stream`, those of other providers are in `provider_stream`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from typing import Protocol

from timeful.core.clock import monotonic_ns
from timeful.core.source import Channel, Chunk, End, Finish
from timeful.errors import ModelError, ModelRefusedError, ModelTimeoutError
from timeful.models.counting import Report, UsageMeter
from timeful.models.event_loop_thread import ClientState
from timeful.models.failures import (
    RATE_LIMITS,
    RetryableError,
    is_passing,
    read_status,
    read_unreachable,
)
from timeful.models.redaction import Redactor
from timeful.models.request import Request
from timeful.models.silence import Silence
from timeful.models.spending import Bill
from timeful.models.sse import CallPiece, ThinkSplitter
from timeful.models.stream_buffer import StreamBuffer
from timeful.models.tool_call_assembler import ToolCallAssembler
from timeful.records.usage import Usage

_LONGEST_BACKOFF_S = 8.0
_LONGEST_RATE_BACKOFF_S = 60.0
_BUDGET_PAUSE_S = 0.02
_AFTER_FINISH_S = 5.0
"""For the counts and the end mark, after the reason why an answer ended."""
_MOST_EMPTY = 1000
"""Events of an answer that have news but no text."""


class AnswerEvent(Protocol):
    """One message of a stream: new text, new parts of calls, counts, why it ended."""

    @property
    def reasoning(self) -> str:
        """The new reasoning, often empty."""
        ...

    @property
    def content(self) -> str:
        """The new text of the answer, often empty."""
        ...

    @property
    def calls(self) -> Sequence[CallPiece]:
        """The new fragments of calls, often none."""
        ...

    @property
    def text(self) -> str:
        """All new text that costs tokens."""
        ...

    @property
    def has_news(self) -> bool:
        """Whether there is anything but counts."""
        ...

    @property
    def report(self) -> Report | None:
        """The server's counts in this message."""
        ...

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended, in the words of chat completions."""
        ...


class Dialect(Protocol):
    """The client of one kind of server, in one event loop."""

    def answer(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[AnswerEvent]]:
        """Send a request and stream its answer; leaving the context ends the request.

        A stream that ends without a finish reason has broken.

        Raises:
            StatusError: If the server refuses, also in the middle of the stream.
            UnreachableError: If no connection comes about.
            BrokenError: If the connection breaks.
            RepeatError: If the same request would now be sent in a form that the server may take.
        """
        ...


class StatusError(Exception):
    """The server answered with an error.

    Attributes:
        status: Its HTTP status; None if the server gave none.
        words: What it said.
        wait_s: The seconds that it asks to wait.
        is_final: Whether another attempt would fail as well.
        is_in_stream: Whether it came as a part of an answer.
    """

    def __init__(
        self,
        words: str,
        *,
        status: int | None,
        wait_s: float | None = None,
        is_final: bool = False,
        is_in_stream: bool = False,
    ) -> None:
        super().__init__(words)
        self.words = words
        self.status = status
        self.wait_s = wait_s
        self.is_final = is_final
        self.is_in_stream = is_in_stream


class UnreachableError(Exception):
    """No connection came about; `cause` is None if the time for it ran out."""

    def __init__(self, cause: str | None) -> None:
        super().__init__(cause)
        self.cause = cause


class BrokenError(Exception):
    """The connection broke; the argument names the error of the client."""


class RepeatError(Exception):
    """The request is to be sent again in another form."""


async def stream_answer(
    request: Request, source: StreamBuffer, shared: ClientState, dialect: Dialect
) -> None:
    """Send a request, several times if necessary, and feed the source with the answer.

    A failure before the first chunk is tried again, up to `request.retries` times: if no
    connection came about or it broke, and on status 408, 409 and 5xx. If the source can restart, so
    is a stream that breaks or stalls: in simulated time it has no effect. A rate limit (429, or a
    wait that the server names) is waited out, for at most `timeouts.patience_s` in all. A
    repetition without a field that the server does not know counts as an attempt, not as a retry.

    Raises:
        ModelError: If no attempt succeeded, or the stream broke.
    """
    patience = _Patience(request)
    attempts = 0
    while True:
        attempts += 1
        with patience.measured():
            await request.gate.enter(request.expected_tokens)
        attempt = _Attempt(request, source, attempts, shared, patience=patience)
        sent_at = monotonic_ns()
        try:
            bill = await patience.wait_for_budget(is_retry=attempts > 1)
            sent_at = monotonic_ns()
            with bill.measured(attempt.read_usage):
                await attempt.run(dialect, bill)
            return
        except RepeatError:
            continue
        except (StatusError, UnreachableError, ModelTimeoutError, RetryableError) as error:
            failure = attempt.read_failure(error)
            source.note_failure(request.quote(str(failure.error)))
        finally:
            request.gate.leave()
            request.gate.correct(attempt.tokens - request.expected_tokens)
        if failure.is_rate_limit:
            request.gate.refuse(sent_at / 1e9, failure.wait_s)
        wait_s = patience.next_wait(failure)
        if wait_s is None:
            last = _after(failure.error, attempts)
            if failure.is_lasting:
                request.gate.spending.stop(last)
            raise last from failure
        if attempt.has_begun:
            source.restart()
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

    async def wait_for_budget(self, *, is_retry: bool) -> Bill:
        """Wait while requests in flight may use up the budget of the run.

        Raises:
            BudgetError: If it is used up.
        """
        spending, pauses = self._request.gate.spending, 0
        most = self._request.timeouts.first_token_s / _BUDGET_PAUSE_S  # a worker may have died
        while True:
            bill = spending.admit(self._request, is_retry=is_retry, can_wait=pauses < most)
            if bill is not None:
                return bill
            pauses += 1
            with self.measured():
                await _pause(_BUDGET_PAUSE_S)

    def next_wait(self, failure: RetryableError) -> float | None:
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


class _Attempt:
    """One attempt: a request and the stream that answers it."""

    def __init__(
        self,
        request: Request,
        source: StreamBuffer,
        attempt: int,
        shared: ClientState,
        *,
        patience: _Patience,
    ) -> None:
        self._request = request
        self._source = source
        self._attempt = attempt
        self._patience = patience
        self._shared = shared
        self._meter = UsageMeter(request.most_tokens)
        self._splitter = ThinkSplitter(request.thinking)
        self._calls = ToolCallAssembler()
        self._empty = 0
        self._redactors: dict[Channel, Redactor] = {
            "reasoning": Redactor(request.long_secrets),
            "answer": Redactor(request.long_secrets),
        }
        self._report: Report | None = None
        self.has_begun = False
        self._carried = 0  # tokens whose text is held back
        self._finish: Finish | None = None

    @property
    def _can_repeat(self) -> bool:
        return self._source.can_restart or not self.has_begun

    def read_usage(self) -> Usage:
        """The counts so far."""
        return self._meter.usage

    @property
    def tokens(self) -> int:
        """The tokens of prompt and answer so far, as far as they are known."""
        usage = self._meter.usage
        return (usage.prompt or 0) + usage.completion

    async def run(self, dialect: Dialect, bill: Bill) -> None:
        """Send the request, and pass on the answer until its end or until the budget is used up."""
        self._bill = bill
        self._source.begin()
        async with AsyncExitStack() as stack:
            async with self._at_most(self._request.timeouts.first_token_s, "its first token"):
                try:
                    events = await stack.enter_async_context(dialect.answer(self._request))
                except (StatusError, UnreachableError, RepeatError):
                    bill.is_refused = True
                    raise
                event = await self._next(events)
            if await self._take_all(event, events):
                await self._end()
            else:
                # The budget was used up, however much the server sends.
                tokens = self._request.most_tokens
                await self._put_calls(self._calls.flush())
                await self._put_held()
                self._leave(End("length", tokens, None, self._attempt, self._patience.waited_s))

    async def _next(self, events: AsyncIterator[AnswerEvent]) -> AnswerEvent | None:
        """The next event with text or a finish reason; counts are kept."""
        try:
            async for event in events:
                self._report = event.report
                if self._report is not None:
                    self._meter.note(self._report)
                if event.has_news:
                    return event
        except BrokenError as error:
            if self._finish is None:  # else only the end mark is missing
                raise self._broken(f"the connection broke ({error})") from error
        return None

    async def _take_all(
        self, event: AnswerEvent | None, events: AsyncIterator[AnswerEvent]
    ) -> bool:
        """Pass on events to the end of the answer; False if they exceed the budget."""
        limit, idle_s = asyncio.timeout(None), self._request.timeouts.idle_s
        try:
            async with self._at_most(idle_s, "its next chunk", limit=limit):
                with Silence(limit, idle_s) as silence:
                    while event is not None:
                        silence.end()
                        if not await self._take(event):
                            return False
                        if self._finish is not None and self._empty > _MOST_EMPTY:
                            return True
                        if self._finish is not None and limit.when() is None:
                            now = asyncio.get_running_loop().time()
                            limit.reschedule(now + min(idle_s, _AFTER_FINISH_S))
                        if silence.waited_s > self._request.timeouts.answer_s:
                            raise ModelError(f"{self._request} has no end")
                        silence.begin()
                        event = await self._next(events)
        except ModelTimeoutError:
            if self._finish is None:
                raise
        return True

    async def _take(self, event: AnswerEvent) -> bool:
        """Pass on new text; False if it exceeds the budget."""
        text = event.text
        if not text:
            self._empty += 1
            if self._empty > _MOST_EMPTY and self._finish is None:
                raise ModelError(f"{self._request} has {self._empty} events without text")
        if text:
            tokens = self._meter.add(text, self._report)
            if tokens is None:
                return False
            self._carried += tokens
            if reasoning := event.reasoning:
                await self._put("reasoning", reasoning)
            for channel, piece in self._splitter.feed(event.content):
                await self._put(channel, piece)
        if calls := event.calls:
            await self._put_calls(self._calls.feed(calls))
        if event.finish_reason is not None:
            self._finish = self._why(event.finish_reason)
        return True

    async def _put(self, channel: Channel, text: str) -> None:
        feed = self._redactors[channel].feed
        if (certain := feed(text)) or not text:
            await self._pass(channel, certain)

    async def _pass(self, channel: Channel, text: str) -> None:
        tokens, self._carried = self._carried, 0
        self.has_begun = True
        self._source.append(Chunk(text, tokens, channel), self._meter.enter(tokens, channel))
        if self._source.is_full:
            self._bill.release()  # its consumer may wait for another request
            with self._request.gate.outside():
                await self._source.make_room()

    async def _put_calls(self, text: str) -> None:
        """Pass on complete calls, if any; fragments cost their tokens on arrival."""
        if text or self._carried:
            await self._put("answer", text)

    async def _put_held(self) -> None:
        """Pass on the text that could have been the beginning of a key."""
        for channel, redactor in self._redactors.items():
            if text := redactor.flush():
                await self._pass(channel, text)

    def _why(self, reason: str) -> Finish:
        if reason == "content_filter":
            raise ModelRefusedError(f"{self._request} was cut off by the server's content filter")
        if reason == "error":
            raise self._broken("the server reported an error")
        return "length" if reason == "length" else "stop"

    async def _end(self) -> None:
        if self._finish is None:
            raise self._broken("the stream ended before the answer did")
        for channel, text in self._splitter.flush():
            await self._put(channel, text)
        if calls := self._calls.flush():
            await self._put("answer", calls)
        await self._put_held()
        usage = self._meter.usage
        is_known = usage.counted != "estimated" or self._carried
        tokens = usage.completion if is_known else None
        self._leave(End(self._finish, tokens, usage.prompt, self._attempt, self._patience.waited_s))

    def _leave(self, end: End) -> None:
        """Append the end; from now on this task is not cancelled."""
        task = asyncio.current_task()
        assert task is not None
        self._shared.leaving.add(task)
        self._bill.pay(self._meter.usage)  # before the run can end
        self._source.append(end, self._meter.usage)

    def _broken(self, problem: str) -> Exception:
        """A failure that may be retried if no part of the answer counts already."""
        error = ModelError(f"{problem} in {self._request}, after {self._meter.total} tokens")
        return RetryableError(error) if self._can_repeat else error

    def read_failure(self, error: Exception) -> RetryableError:
        """A failure after which the request may be sent again; other failures are raised."""
        match error:
            case UnreachableError():
                is_lasting = (error.cause or "").startswith(("ConnectError", "ClientConnect"))
                return RetryableError(read_unreachable(self._request, error), is_lasting=is_lasting)
            case RetryableError():
                return error
            case StatusError(is_in_stream=False):
                return read_status(self._request, error)
            case StatusError():
                return self._reported(error)
            case ModelTimeoutError() if self._source.can_restart:
                return RetryableError(error)
        raise error

    def _reported(self, error: StatusError) -> RetryableError:
        words = self._request.quote(error.words)
        failure = ModelError(
            f"the server reported {words!r} in {self._request}, after {self._meter.total} tokens"
        )
        if not self._can_repeat or not is_passing(error.status or 0):
            raise failure from error
        is_rate_limit = error.status in RATE_LIMITS
        return RetryableError(failure, wait_s=error.wait_s, is_rate_limit=is_rate_limit)

    @asynccontextmanager
    async def _at_most(
        self, span_s: float, event: str, *, limit: asyncio.Timeout | None = None
    ) -> AsyncIterator[None]:
        try:
            async with limit or asyncio.timeout(span_s):
                yield
        except TimeoutError as error:
            raise ModelTimeoutError(
                f"{self._request} kept us waiting more than {span_s:g} s for {event};"
                f" {self._meter.total} tokens had come"
            ) from error


def _after(error: ModelError, attempts: int) -> ModelError:
    return type(error)(f"{error} (attempt {attempts}, the last)")


async def _pause(span_s: float) -> None:
    """Wait before the next attempt; cancelling the task ends it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(span_s):
            await asyncio.Event().wait()
