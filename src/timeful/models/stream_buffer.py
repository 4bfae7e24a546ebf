"""A source fed by another thread, with a buffer that never grows beyond its capacity."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from timeful.core.clock import monotonic_ns
from timeful.core.source import Chunk, End
from timeful.core.units import NO_TIME, Duration
from timeful.records.usage import Usage

READ_AHEAD = 64
"""Chunks to read ahead of the consumer; then the server has to wait."""

_BATCH_S = 0.1


class Restart:
    """A piece that says that the answer begins again: its stream broke."""


class StreamBuffer:
    """Pieces read but not yet pulled; `pull` in one thread, `append` in an event loop.

    Nothing is read while the buffer is full, so a thought that nothing pulls stops costing. The
    server may time out in the end, which is then an error.

    Args:
        capacity: How many chunks are read ahead, at least 1.

    Attributes:
        capacity: The same; it may be changed.
        can_restart: Whether the consumer knows what to do with a `Restart`.
        batch: The chunks for which a consumer that waits is woken, or is woken after a tenth of a
            second. In simulated time a chunk that is known later costs nothing, and to wake a
            thread costs as much as to read a chunk.
    """

    def __init__(self, capacity: int = READ_AHEAD) -> None:
        self.capacity = capacity
        self.batch = 1
        self.can_restart = False
        self._timer: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()
        self._condition = threading.Condition(self._lock)
        self._pieces: deque[tuple[Chunk | End | Restart | Exception, int, Usage | None]] = deque()
        self._usage: Usage | None = None
        self._tokens = 0
        self._is_closed = False
        self._is_over = False
        self._failure: str | None = None
        self._has_answer = False
        self._notify: Callable[[], None] | None = None
        self._wake: Callable[[], None] | None = None
        self._stop: Callable[[], object] | None = None
        self._began = monotonic_ns()
        self._arrived = NO_TIME

    # --- the thread that pulls ---------------------------------------------------------------

    @property
    def arrived(self) -> Duration:
        """The arrival of the piece pulled last, since the request was sent."""
        return self._arrived

    @property
    def usage(self) -> Usage | None:
        """The counts that came with the pieces pulled, and the tokens of the chunks since then."""
        with self._lock:
            usage = self._usage
            if usage is None or not self._tokens:
                return usage
            return replace(usage, completion=usage.completion + self._tokens)

    @property
    def failure(self) -> str | None:
        """The error of the last attempt, as long as no part of an answer has come."""
        return None if self._has_answer else self._failure

    def pull(self) -> Chunk | End:
        """Return the next piece, waiting until it has come; after `close`, a closed end.

        Raises:
            ModelError: If the model fails, or the stream breaks.
        """
        piece = self.pull_piece()
        assert not isinstance(piece, Restart), "only a source that can restart is restarted"
        return piece

    def pull_piece(self) -> "Chunk | End | Restart":
        """As `pull`; also where the answer begins again."""
        with self._lock:
            while not self._pieces and not self._is_closed:
                self._condition.wait()
            if self._is_closed:
                return End(finish="closed")
            piece, arrival, usage = self._pieces[0]
            self._arrived = Duration(arrival)
            if isinstance(piece, Exception):
                raise piece
            self._pieces.popleft()
            if usage is not None:
                self._usage, self._tokens = usage, 0
            if isinstance(piece, Chunk):
                self._tokens += piece.tokens
            elif isinstance(piece, Restart):
                self._usage, self._tokens = None, 0
            wake, self._wake = self._wake, None
        if wake is not None:
            wake()
        return piece

    def when_ready(self, notify: Callable[[], None]) -> None:
        """Call `notify` once, as soon as `pull` would not wait: also after an error or `close`."""
        with self._lock:
            if not self._pieces and not self._is_closed:
                self._notify = notify
                return
        notify()

    def close(self) -> None:
        """Stop the reader, which closes the connection; harmless when called again.

        A reader at its end is not cancelled: it is returning its connection, and cancelling it
        could leave connections open that are being closed.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._pieces.clear()
            stop, self._stop, self._wake = self._stop, None, None
            if self._is_over:
                stop = None
        if stop is not None:
            stop()
        self._ready()

    # --- the event loop that reads -----------------------------------------------------------

    def on_close(self, stop: Callable[[], object]) -> None:
        """Set the function that `close` calls, from any thread; call it now if already closed."""
        with self._lock:
            if not self._is_closed:
                self._stop = stop
                return
        stop()

    def begin(self) -> None:
        """Measure arrivals from now on: a request is about to be sent, perhaps again."""
        self._began = monotonic_ns()

    def note_failure(self, words: str) -> None:
        """Keep the error of an attempt, which may be followed by another one."""
        self._failure = words

    def restart(self) -> None:
        """Drop what was not pulled: the answer comes again from its beginning."""
        with self._lock:
            self._pieces.clear()
            self._pieces.append((Restart(), 0, None))

    @property
    def is_full(self) -> bool:
        """Whether no further piece should be read now."""
        return len(self._pieces) >= self.capacity and not self._is_closed

    async def make_room(self) -> None:
        """Wait while the buffer is full."""
        room = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended, and the reader with it
                loop.call_soon_threadsafe(room.set)

        with self._lock:
            if len(self._pieces) < self.capacity or self._is_closed:
                return
            self._wake = wake
        await room.wait()

    def append(self, piece: Chunk | End | Exception, usage: Usage | None = None) -> None:
        """Append a piece without waiting; an error is raised by the pull that comes to it.

        Args:
            piece: The piece.
            usage: The counts that are known with it: before the first chunk, and at the end.
        """
        with self._lock:
            self._is_over = self._is_over or isinstance(piece, End)
            self._has_answer = self._has_answer or not isinstance(piece, Exception)
            if self._is_closed:
                return
            self._pieces.append((piece, monotonic_ns() - self._began, usage))
            is_batch = len(self._pieces) >= min(self.batch, self.capacity)
        if is_batch or self._notify is not None or not isinstance(piece, Chunk):
            self._ready()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_BATCH_S, self._ready)

    def _ready(self) -> None:
        self._timer = None
        with self._lock:
            notify, self._notify = self._notify, None
            self._condition.notify_all()
        if notify is not None:
            notify()
