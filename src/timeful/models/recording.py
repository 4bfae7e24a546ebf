"""Recording: a model that passes on the answers of another and writes them to a cassette."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from timeful.core.clock import monotonic_ns
from timeful.core.source import Chunk, End, Source
from timeful.core.units import Duration
from timeful.errors import ModelError
from timeful.models.cassette import (
    Failure,
    Piece,
    RecordedEnd,
    Recording,
    append,
    key,
    prepare,
    shown,
)
from timeful.models.counting import AttemptedSource, MeteredSource
from timeful.models.model import Model, Prompt
from timeful.records.usage import Usage


@runtime_checkable
class TimedSource(Protocol):
    """A source that knows when a piece had arrived, which may be long before it was pulled."""

    @property
    def arrived(self) -> Duration:
        """When the piece pulled last had arrived, after its request was sent."""
        ...


class RecordingModel:
    """A model whose every stream is written to a cassette, also one that is closed early.

    Pieces that were pulled are kept; pieces that a live source had read ahead are not.

    Args:
        inner: The model that answers.
        path: The cassette, continued if it exists; several recorders may share it.
        scope: The owner of the requests, such as an episode's name. A replay answers a request
            only from its own scope.
        read: A monotonic nanosecond counter, for sources that do not know their arrivals.

    Raises:
        RecordError: If the cassette is another kind of file or cannot be written.
    """

    def __init__(
        self, inner: Model, path: Path, *, scope: str = "", read: Callable[[], int] = monotonic_ns
    ) -> None:
        prepare(path)
        self._inner = inner
        self.name, self.pace, self.live = inner.name, inner.pace, inner.live
        self._path = path
        self._scope = scope
        self._read = read

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Source:
        """Start answering, and recording.

        A request that fails before there is a source is not recorded.
        """
        pace = self.pace
        request = Recording(
            key=key(self.name, prompt, max_tokens=max_tokens, seed=seed, scope=self._scope),
            scope=self._scope,
            model=self.name,
            purpose=prompt.label,
            messages=shown(prompt),
            max_tokens=max_tokens,
            seed=seed,
            pace=None if pace is None else (pace.first, pace.per_token),
            chunks=(),
            tools=tuple(tool.schema() for tool in prompt.tools) or UNSET,
            room=_room(prompt, max_tokens),
        )
        start = self._read()
        source = self._inner.open(prompt, max_tokens=max_tokens, seed=seed)
        return _RecordingSource(
            source, request, partial(append, self._path), lambda: self._read() - start
        )


def _room(prompt: Prompt, max_tokens: int | None) -> int | UnsetType:
    """The number of tokens that there is time for, if that limits the request."""
    room = None if prompt.pricing is None else prompt.pricing.room
    return UNSET if room is None or (max_tokens is not None and max_tokens <= room) else room


class _RecordingSource:
    """Passes pieces on, and writes them once at the end, for whatever reason it came."""

    def __init__(
        self,
        inner: Source,
        request: Recording,
        write: Callable[[Recording], None],
        elapsed: Callable[[], int],
    ) -> None:
        self._inner = inner
        self._timed = inner if isinstance(inner, TimedSource) else None
        self._metered = inner if isinstance(inner, MeteredSource) else None
        self._request = request
        self._write = write
        self._elapsed = elapsed
        self._pieces: list[Piece] = []
        self._lock = threading.Lock()
        self._is_over = False

    @property
    def usage(self) -> Usage | None:
        return None if self._metered is None else self._metered.usage

    @property
    def failure(self) -> str | None:
        return self._inner.failure if isinstance(self._inner, AttemptedSource) else None

    def pull(self) -> Chunk | End:
        try:
            piece = self._inner.pull()
        except ModelError as error:
            self._end(failure=Failure(type(error).__name__, str(error)))
            raise
        if isinstance(piece, End):
            # A source that was closed under us, by another thread, says so with its end.
            self._end(end=None if piece.finish == "closed" else piece)
            return piece
        with self._lock:
            self._pieces.append(Piece(piece.text, piece.tokens, piece.channel, self._arrived()))
        return piece

    def when_ready(self, notify: Callable[[], None]) -> None:
        self._inner.when_ready(notify)

    def close(self) -> None:
        self._inner.close()
        self._end()

    def _arrived(self) -> int:
        return self._elapsed() if self._timed is None else self._timed.arrived

    def _end(self, *, end: End | None = None, failure: Failure | None = None) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            recording = replace(
                self._request,
                chunks=tuple(self._pieces),
                end=None if end is None else _recorded(end),
                ended=None if end is None else self._arrived(),
                closed=end is None and failure is None,
                failure=failure,
                usage=self.usage or UNSET,
            )
        self._write(recording)


def _recorded(end: End) -> RecordedEnd:
    return RecordedEnd(end.finish, end.tokens, end.prompt_tokens, end.attempts)
