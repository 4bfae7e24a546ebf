"""Token counts of live models: hidden tokens take time too.

A client turns each message of its server into a `Report`, whatever the dialect. A `UsageMeter`
joins the reports and the visible text into the tokens of each chunk and the `Usage` of the answer.
Where the server reports a running total, a chunk is priced as it comes. Where it reports the total
at the end alone, a `PricedSource` reads the answer to its end before the first chunk is priced.
`settle` then shares the total among the chunks: the reasoning among the visible reasoning or, if
there is none, as one chunk without text before the answer; the rest among the answer.

Only simulated time has prices: under a wall clock tokens come when they come, and the total is
known at the end. A stand-in has no server, and so no usage.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace as replace_fields

from timeful.core.source import Channel, Chunk, End, Source
from timeful.core.units import NO_TIME, Duration
from timeful.errors import ModelError
from timeful.models.stream_buffer import READ_AHEAD, Restart, StreamBuffer
from timeful.models.token_counter import TokenCounter, estimate_tokens
from timeful.records.usage import Counted, Usage

Counting = Literal["auto", "running", "settled"]
"""How the tokens of an endpoint are counted in simulated time.

running: each chunk is priced as it comes, by the running total or an estimate.
settled: the answer is read to its end before any of it is priced.
auto: running if the first text comes with a running total, else settled.
"""

COUNTING_HELP = "Token count of endpoints in simulated time: auto, running or settled."

LONGEST_SETTLED = 1 << 18
"""The most chunks of an answer that is read to its end before it is priced."""

_LARGEST_SETTLED = 1 << 24
"""The most characters of such an answer."""

_BATCH = 16
"""The chunks for which a consumer is woken where each is priced as it comes."""


def counting_settings(ways: Sequence[Counting]) -> dict[str, list[Counting]]:
    """The ways in the settings of a record: none if all are "auto", so that records keep bytes."""
    return {} if all(way == "auto" for way in ways) else {"counting": list(ways)}


@runtime_checkable
class MeteredSource(Source, Protocol):
    """A source of a model whose server counts tokens."""

    @property
    def usage(self) -> Usage | None:
        """The tokens of what was pulled; of the whole answer if it was settled or has ended."""
        ...


@runtime_checkable
class AttemptedSource(Source, Protocol):
    """A source whose request may be sent several times."""

    @property
    def failure(self) -> str | None:
        """The error of the last attempt, as long as no part of an answer has come."""
        ...


_LARGEST = 1 << 40
"""The largest number of tokens that is believed."""


def read_count(value: int | None) -> int | None:
    """A number of tokens that a server reports; one that cannot be true says nothing."""
    return value if value is not None and 0 <= value <= _LARGEST else None


class Report(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The counts in one message of a server; None where it reports nothing.

    Attributes:
        prompt: The tokens of the prompt.
        cached: The part of the prompt that was in a cache.
        completion: The tokens generated so far, reasoning included.
        reasoning: The part of these that is reasoning.
    """

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None

    def update(self, later: "Report") -> "Report":
        """These counts, replaced by those of a later message where it has any."""
        return Report(
            prompt=self.prompt if later.prompt is None else later.prompt,
            cached=self.cached if later.cached is None else later.cached,
            completion=self.completion if later.completion is None else later.completion,
            reasoning=self.reasoning if later.reasoning is None else later.reasoning,
        )


class UsageMeter:
    """Counts the tokens of one answer.

    Args:
        budget: The most tokens that may come; None for no limit.
    """

    def __init__(self, budget: int | None) -> None:
        self._counter = TokenCounter(budget)
        self._report = Report()
        self._is_running: bool | None = None
        self._reasoning = 0
        self._has_chunks = False

    @property
    def total(self) -> int:
        """The tokens of the text so far, without a delta that passed the budget."""
        return self._counter.total

    def note(self, report: Report) -> None:
        """Keep the counts of a message."""
        self._report = self._report.update(report)

    def add(self, text: str, report: Report | None) -> int | None:
        """Count a delta that is not empty.

        Args:
            text: Its text, reasoning and answer together.
            report: The counts in the same message.

        Returns:
            The tokens that this delta adds; None if they pass the budget.
        """
        reported = None if report is None else report.completion
        if self._is_running is None:
            self._is_running = bool(reported)
        return self._counter.add(text, reported)

    def enter(self, tokens: int, channel: Channel) -> Usage | None:
        """Enter counted tokens into a chunk.

        Returns:
            What is known before the first chunk; None for later ones.
        """
        if channel == "reasoning":
            self._reasoning += tokens
        if self._has_chunks:
            return None
        self._has_chunks = True
        return Usage(
            prompt=self._report.prompt,
            cached=self._report.cached,
            completion=0,
            counted="running" if self._is_running else "estimated",
        )

    @property
    def usage(self) -> Usage:
        """The counts of the whole answer, at its end.

        A total of 0 says nothing, since some servers send one with each delta. Of two totals the
        greater counts.
        """
        reported = self._report.completion or None
        visible = self.total
        is_below = bool(self._is_running) and reported is not None and reported < visible
        reasoning = self._report.reasoning
        if reasoning is None and self._is_running and self._reasoning:
            reasoning = self._reasoning
        counted: Counted = "settled" if reported else "estimated"
        return Usage(
            prompt=self._report.prompt,
            cached=self._report.cached,
            completion=visible if is_below or reported is None else reported,
            reasoning=reasoning,
            counted="running" if self._is_running else counted,
            reported=reported if is_below else None,
        )


TimedChunk = tuple[Chunk, Duration]
"""A chunk, and its arrival since the request was sent."""


def settle(chunks: Sequence[TimedChunk], usage: Usage) -> list[TimedChunk]:
    """Share the tokens of an answer among its chunks; settling again changes nothing.

    The reasoning is shared among the chunks of visible reasoning by their bytes. Without any it is
    one chunk without text before the answer. The rest is shared among the answer in the same way.
    If the server does not report the reasoning, it is what an estimate of the visible answer
    leaves of the total.

    Args:
        chunks: The chunks of the whole answer.
        usage: Its counts; an estimate leaves the chunks as they are.
    """
    if usage.counted == "estimated":
        return list(chunks)
    visible = [(chunk, arrival) for chunk, arrival in chunks if chunk.text]
    sizes: dict[Channel, list[int]] = {"answer": [], "reasoning": []}
    for chunk, _ in visible:
        sizes[chunk.channel].append(len(chunk.text.encode()))
    reasoning = usage.reasoning
    if reasoning is None or (reasoning == 0 and sizes["reasoning"]):
        answer = sizes["answer"]
        reasoning = usage.completion - estimate_tokens(len(answer), sum(answer))
    reasoning = min(max(reasoning, 0), usage.completion)
    shares = {
        "answer": iter(apportion(usage.completion - reasoning, sizes["answer"])),
        "reasoning": iter(apportion(reasoning, sizes["reasoning"])),
    }
    settled = [(replace(c, tokens=next(shares[c.channel])), arrival) for c, arrival in visible]
    if reasoning and not sizes["reasoning"]:
        first = chunks[0][1] if chunks else NO_TIME
        settled.insert(0, (Chunk("", reasoning, "reasoning"), first))
    return settled


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Share a whole number by weights; the largest remainders get what rounding leaves."""
    weight = sum(weights)
    if not weight:
        return [0] * len(weights)
    shares = [total * part // weight for part in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: -(total * weights[i] % weight))
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return shares


class PricedSource:
    """The answer of an endpoint for simulated time: its chunks have their final tokens.

    Args:
        inner: The answer as it comes; its capacity must hold whole answers unless `counting` is
            "running".
        counting: How its tokens are counted.
        room: The tokens that were requested because the thought is cut after them; None if
            something else limits the answer. An answer that the server stops there does not end
            before the cut: its end is one token later.
    """

    def __init__(self, inner: StreamBuffer, *, counting: Counting, room: int | None) -> None:
        self._inner = inner
        self._counting = counting
        self._room = room
        self._settled: deque[tuple[Chunk | End, Duration]] | None = None
        self._has_begun = False
        self._has_passed = False
        self._tokens = 0
        self._arrived = NO_TIME
        self._passed: list[Chunk] = []
        self._repeat: _Repeat | None = None

    @property
    def usage(self) -> Usage | None:
        """The tokens of what was pulled, or of the whole answer if it was read to its end."""
        usage = self._inner.usage if self._has_passed else None
        if usage is None or usage.counted == "estimated":
            return usage
        if self._settled is not None:
            return replace_fields(usage, counted="settled")
        is_running = usage.counted == "running"
        return usage if is_running else replace_fields(usage, counted="estimated")

    @property
    def arrived(self) -> Duration:
        """The arrival of the piece pulled last, since the request was sent."""
        return self._arrived

    def pull(self) -> Chunk | End:
        """Return the next piece; the first one may wait for the end of the answer.

        Raises:
            ModelError: If the model fails, the stream breaks, or the answer is too long to be read
                to its end.
        """
        if not self._has_begun:
            self._has_begun = True
            first = self._inner.pull_piece()
            while isinstance(first, Restart):
                first = self._inner.pull_piece()
            if self._is_counted_at_end():
                self._inner.batch = self._inner.capacity
                self._settled = self._read(first)
            else:
                self._inner.batch, self._inner.capacity = _BATCH, READ_AHEAD
                return self._take(first, self._inner.arrived)
        if self._settled is None:
            return self._take(self._pull_new(), self._inner.arrived)
        if not self._settled:
            return End("closed")
        return self._take(*self._settled.popleft())

    def when_ready(self, notify: Callable[[], None]) -> None:
        """Call `notify` once, as soon as a piece has come."""
        self._inner.when_ready(notify)

    def close(self) -> None:
        """Stop the answer; harmless when called again."""
        if self._settled is not None:
            self._settled.clear()
        self._inner.close()

    def _is_counted_at_end(self) -> bool:
        if self._counting != "auto":
            return self._counting == "settled"
        usage = self._inner.usage
        return usage is None or usage.counted != "running"

    def _pull_new(self) -> Chunk | End:
        """The next piece that was not passed on before the answer began again."""
        while True:
            piece = self._inner.pull_piece()
            if isinstance(piece, Restart):
                self._repeat = _Repeat(self._passed, self._tokens)
            elif isinstance(piece, End) or self._repeat is None:
                return piece
            elif (rest := self._repeat.cut(piece)) is not None:
                return rest

    def _read(self, first: Chunk | End) -> deque[tuple[Chunk | End, Duration]]:
        """Read the answer to its end, and share its tokens."""
        chunks: list[TimedChunk] = []
        piece: Chunk | End | Restart = first
        size = 0
        while not isinstance(piece, End):
            if isinstance(piece, Restart):
                chunks, size = [], 0
            else:
                chunks.append((piece, self._inner.arrived))
                size += len(piece.text)
            piece = self._inner.pull_piece()
            if len(chunks) > LONGEST_SETTLED or size > _LARGEST_SETTLED:
                raise ModelError(
                    f"an answer has {len(chunks)} parts, {size} characters and no end, and its "
                    "tokens are counted at the end; give the thought a limit or max_tokens"
                )
        usage = self._inner.usage
        if piece.finish != "closed" and usage is not None:
            chunks = settle(chunks, usage)
        return deque((*chunks, (piece, self._inner.arrived)))

    def _take(self, piece: Chunk | End, arrived: Duration) -> Chunk | End:
        self._arrived = arrived
        self._has_passed = True
        if isinstance(piece, Chunk):
            self._tokens += piece.tokens
            if self._settled is None:
                self._passed.append(piece)
        elif self._room is not None and piece.finish == "length":
            tokens = self._tokens if piece.tokens is None else piece.tokens
            if piece.tokens is None or tokens >= self._room:
                return replace(piece, tokens=max(tokens, self._room + 1))
        return piece


class _Repeat:
    """Finds what is new in an answer that is given again, since its stream broke.

    What was passed on is known to the agent at its instants, and stays. An answer that begins with
    the same text is continued there; another answer, after as many tokens.

    Args:
        passed: The chunks that were passed on.
        tokens: Their tokens.
    """

    def __init__(self, passed: Sequence[Chunk], tokens: int) -> None:
        self._left: dict[Channel, str] = {
            channel: "".join(chunk.text for chunk in passed if chunk.channel == channel)
            for channel in ("answer", "reasoning")
        }
        self._tokens = tokens
        self._count = 0
        self._is_same = True

    def cut(self, chunk: Chunk) -> Chunk | None:
        """The new part of a chunk; None if there is none."""
        self._count += chunk.tokens
        tokens = min(chunk.tokens, max(0, self._count - self._tokens))
        left, text = self._left[chunk.channel], chunk.text
        if self._is_same and left.startswith(text):
            self._left[chunk.channel], text = left[len(text) :], ""
        elif self._is_same and text.startswith(left):
            self._left[chunk.channel], text = "", text[len(left) :]
        else:
            self._is_same = False
            text = text if tokens else ""
        return replace(chunk, text=text, tokens=tokens) if text or tokens else None
