"""Thoughts on their way: chunks of a source, each at the instant of its last token.

A stream that runs has one entry in the kernel's heap: either the delivery of the next chunk at
its instant, or, just after a delivery, the *pull* of the chunk after it. The pull has the rank
of real work: everybody at this instant may first start work of their own, then the kernel waits
until the next chunk is known, and only then may time pass.

Every stream ends exactly once. *Completed*: its last token was delivered. *Cancelled*: it was
cut, by its user or by its limit. *Failed*: its source raised. *Orphaned*: the timeline was
closed around it. In between it may be *paused* and resumed any number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Literal, Protocol

from timeful.core.activity import DEADLINE, STREAM, WORK, Event
from timeful.core.source import Channel, Chunk, End, Source
from timeful.core.units import Instant
from timeful.errors import KernelError

if TYPE_CHECKING:
    from timeful.core.kernel import Kernel

Pacing = Callable[[int], int]
StreamState = Literal["running", "paused", "completed", "cancelled", "failed", "orphaned"]


class StreamObserver(Protocol):
    """Told what happens to a stream, as it happens."""

    def on_chunk(self, stream: Stream, chunk: Chunk) -> None:
        """A chunk was delivered."""
        ...

    def on_change(self, stream: Stream) -> None:
        """The state has changed: paused, running again, or ended."""
        ...


class Stream(Event["Stream"]):
    """A thought; awaiting it waits for its end and gives the stream itself.

    Attributes:
        chunks: What was delivered.
        tokens: How many tokens were delivered.
        state: Where it stands; `cause` says why it was paused, cancelled or orphaned.
        end: What the source said at its end, if it came to it.
        undelivered: After a pause or a cancellation, what was known already but lay in the
            future. A source that is merely paused may hold more.
    """

    __slots__ = (
        "_arrivals",
        "_limit",
        "_next",
        "_observer",
        "_origin",
        "_pacing",
        "_paused_at",
        "_pulling",
        "_source",
        "cause",
        "chunks",
        "end",
        "name",
        "started_at",
        "state",
        "tokens",
    )

    def __init__(
        self,
        kernel: Kernel,
        source: Source,
        *,
        pacing: Pacing | None,
        name: str,
        observer: StreamObserver | None,
    ) -> None:
        super().__init__(kernel)
        self._source = source
        self._pacing = pacing
        self._observer = observer
        self._origin: int = kernel.now  # shifted by every pause
        self._paused_at: int = 0
        self._next: Chunk | End | None = None
        self._pulling = False
        self._arrivals = 0
        self._limit: _Limit | None = None
        self.name = name
        self.started_at = kernel.now
        self.chunks: list[Chunk] = []
        self.tokens = 0
        self.end: End | None = None
        self.state: StreamState = "running"
        self.cause: object = None
        kernel._streams[self] = None
        if kernel._log is not None:
            kernel._log(kernel.now, "start", name)
        self._ask()

    def __repr__(self) -> str:
        return f"<stream {self.name!r} {self.state}, {self.tokens} tokens>"

    # --- what is known so far ----------------------------------------------------------------

    def text(self, channel: Channel | None = None) -> str:
        """What was delivered, on one channel or on both in order of arrival."""
        return "".join(c.text for c in self.chunks if channel is None or c.channel == channel)

    @property
    def undelivered(self) -> tuple[Chunk, ...]:
        """What was pulled but lay in the future when it was paused or cut."""
        return (self._next,) if isinstance(self._next, Chunk) else ()

    # --- what its user may do ----------------------------------------------------------------

    def pause(self, cause: object = None) -> bool:
        """Stop its time; what was delivered stays, and `resume` goes on from the same token.

        Returns:
            Whether it was running. Pausing what is paused or has ended does nothing.
        """
        if self.state != "running":
            return False
        if self._ticket != -1:  # it has come, and is called off before it was looked at
            self._pulling = False
        self._kernel._call_off(self)
        self._kernel._awaited.discard(self)
        self._paused_at = self._kernel.now
        self.cause = cause
        self._change("paused")
        return True

    def resume(self) -> None:
        """Go on after a pause, at this instant.

        Raises:
            KernelError: If it is not paused.
        """
        if self.state != "paused":
            raise KernelError(f"{self!r} cannot be resumed: it is not paused")
        self._origin += self._kernel.now - self._paused_at
        self.cause = None
        self._change("running")
        self._go_on()

    def cancel(self, cause: object = None) -> bool:
        """Cut it for good and close its source, which then costs nothing any more.

        Returns:
            Whether it was running or paused.
        """
        return self._stop("cancelled", cause)

    def orphan(self, cause: object = None) -> bool:
        """End it because nobody is left to want it; as `cancel`, by another name."""
        return self._stop("orphaned", cause)

    def limit(self, at: Instant, cause: object = "limit") -> None:
        """Cut it at an instant, unless it has ended by then; its last token may fall on it.

        A new limit takes the place of an older one.
        """
        kernel = self._kernel
        if self._limit is not None:
            kernel._call_off(self._limit)
        if not self._has_ended():
            self._limit = _Limit(self, cause)
            kernel._push(max(index(at), kernel.now), DEADLINE, self._limit)

    def drain(self) -> tuple[Chunk, ...]:
        """Take what is left of a paused stream out of time: the rest, to its end.

        The stream is cancelled. A live source is read to its end in real time.

        Raises:
            KernelError: If it is not paused.
        """
        if self.state != "paused":
            raise KernelError(f"{self!r} cannot be drained: it is not paused")
        chunks: list[Chunk] = []
        piece = self._next or self._source.pull()
        while isinstance(piece, Chunk):
            chunks.append(piece)
            piece = self._source.pull()
        self.cancel("drained")
        return tuple(chunks)

    # --- inside ------------------------------------------------------------------------------

    def _has_ended(self) -> bool:
        # By its state, which is set before the observer is told, and so before `done`.
        return self.state not in ("running", "paused")

    def _leave(self) -> None:
        """The timeline is closed around it."""
        self.orphan("the timeline was closed")

    def _go_on(self) -> None:
        """Have the next piece delivered or pulled, unless an observer has stopped it."""
        if self.state == "running":
            if self._next is not None and self._pacing is not None:
                self._schedule(self._next, self._pacing)
            else:
                self._ask()

    def _ask(self) -> None:
        """Have the next piece pulled: late at this instant, or when it arrives by itself."""
        kernel = self._kernel
        if self._pacing is not None:
            kernel._push(kernel.now, WORK, self)
            return
        kernel._awaited.add(self)
        if not self._pulling:  # else what was asked for before a pause is still to come
            self._pulling = True
            self._source.when_ready(partial(self._arrive, self._arrivals))

    def _arrive(self, number: int) -> None:
        """A piece can be pulled; a source that notifies twice for one is heard once."""
        with self._kernel._condition:
            if number == self._arrivals:
                self._arrivals += 1
                self._kernel._post(STREAM, self)

    def _fire(self) -> None:
        self._ticket = -1
        self._pulling = False
        if self.state != "running":
            return  # it arrived for a paused or ended stream; a paused one asks again
        if self._next is None:
            try:
                piece = self._source.pull()
            except Exception as error:  # noqa: BLE001 - handed to whoever waits for the thought
                self._fail(error)
                return
            if self._pacing is not None:
                self._schedule(piece, self._pacing)
                return
        else:
            piece, self._next = self._next, None
        self._deliver(piece)

    def _schedule(self, piece: Chunk | End, pacing: Pacing) -> None:
        kernel = self._kernel
        count = self.tokens
        if isinstance(piece, Chunk):
            count += piece.tokens
        elif piece.tokens is not None:
            count = max(count, piece.tokens)
        self._next = piece
        kernel._push(max(self._origin + index(pacing(count)), kernel.now), STREAM, self)

    def _deliver(self, piece: Chunk | End) -> None:
        if isinstance(piece, Chunk):
            self.chunks.append(piece)
            self.tokens += piece.tokens
            if self._observer is not None:
                self._observer.on_chunk(self, piece)
            self._go_on()
            return
        self.end = piece
        if piece.tokens is not None:
            self.tokens = max(self.tokens, piece.tokens)
        self._source.close()
        self._finish("completed", None)

    def _fail(self, error: Exception) -> None:
        self.cause = error
        self._source.close()
        if not self._waiters:
            self._kernel._keep_failure(error)
        self._finish("failed", error)

    def _stop(self, state: Literal["cancelled", "orphaned"], cause: object) -> bool:
        if self._has_ended():
            return False
        self.cause = cause
        self._source.close()
        self._finish(state, None)
        return True

    def _finish(self, state: StreamState, error: Exception | None) -> None:
        kernel = self._kernel
        kernel._streams.pop(self, None)
        kernel._awaited.discard(self)
        if self._limit is not None:
            kernel._call_off(self._limit)
        self._change(state)
        self._happen(None if error is not None else self, error)

    def _change(self, state: StreamState) -> None:
        self.state = state
        kernel = self._kernel
        if kernel._log is not None:
            kernel._log(kernel.now, state, self.name)
        if self._observer is not None:
            self._observer.on_change(self)


class _Limit:
    """The heap entry that cuts a stream at its limit."""

    __slots__ = ("_cause", "_stream", "_ticket")

    def __init__(self, stream: Stream, cause: object) -> None:
        self._stream = stream
        self._cause = cause
        self._ticket = -1

    def _fire(self) -> None:
        self._stream.cancel(self._cause)
