"""Replay: a model that answers from a cassette only; any other request is an error."""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from pathlib import Path

from msgspec import UNSET

from timeful.core.source import Chunk, End
from timeful.core.units import Duration, in_seconds, nanoseconds
from timeful.errors import (
    CassetteMissError,
    ModelError,
    ModelRefusedError,
    ModelTimeoutError,
    RecordError,
    SettingsError,
    unknown,
)
from timeful.models.cassette import Recording, describe, key, load, scan, shown
from timeful.models.counting import TimedChunk, settle
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.models.scripted import ListSource
from timeful.records.usage import Usage

_ERRORS = {
    kind.__name__: kind
    for kind in (ModelError, ModelRefusedError, ModelTimeoutError, CassetteMissError)
}


@dataclass(frozen=True, slots=True)
class _Index:
    """The positions of a cassette's recordings, in the order in which they ended."""

    places: dict[str, list[tuple[int, int]]]
    names: frozenset[str]
    paces: dict[str, frozenset[Pace]]
    is_torn: bool


class ReplayModel:
    """Answers as recorded; answers to equal requests are replayed in the order of recording.

    A request is identified by its model, messages, limit, seed and scope. The pace may differ.

    Args:
        path: The cassette.
        model: The recorded model to replay; None if there is only one.
        scope: The owner of the requests, as recorded.
        pace: What a token costs. None means the pace that the model had when it was recorded;
            if it had none, the line that fits best through the arrivals of all its chunks.

    Raises:
        RecordError: If the cassette cannot be read.
        SettingsError: If it does not hold that model, or if no pace can be told from it.
    """

    live = False

    def __init__(
        self, path: Path, *, model: str | None = None, scope: str = "", pace: Pace | None = None
    ) -> None:
        self._path = path
        self._scope = scope
        self._index = _index(path)
        self.name = _only(path, self._index.names, model)
        self.pace: Pace = pace or self._recorded_pace()
        self._lock = threading.Lock()
        self._used: dict[str, int] = {}

    @property
    def is_torn(self) -> bool:
        """Whether the cassette has lines that a kill left incomplete; they are skipped."""
        return self._index.is_torn

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> "_ReplaySource":
        """Start the answer that was recorded.

        Raises:
            CassetteMissError: If there is none, or as many as there are were given already.
        """
        name = key(self.name, prompt, max_tokens=max_tokens, seed=seed, scope=self._scope)
        entries = self._index.places.get(name, [])
        with self._lock:
            count = self._used.get(name, 0)
            self._used[name] = count + 1
        if count < len(entries):
            offset, size = entries[count]
            recording = load(self._path, offset=offset, size=size)
            return _ReplaySource(recording, None if prompt.pricing is None else prompt.pricing.room)
        messages = shown(prompt)
        request = describe(self.name, prompt.label, messages, name)
        if entries:
            why = f"it was recorded {len(entries)} times and is asked for once more"
        else:
            why = self._nearest(_flat(messages), (max_tokens, seed, self._scope))
        raise CassetteMissError(f"the cassette {self._path} has no {request}: {why}")

    def _recorded_pace(self) -> Pace:
        paces = self._index.paces.get(self.name, frozenset())
        if len(paces) == 1:
            return next(iter(paces))
        try:
            if paces:
                raise ModelError(f"it was recorded under {len(paces)} different ones")
            points = [
                point for _, recording in self._recordings() for point in _arrivals(recording)
            ]
            from timeful.models.least_squares import line_through  # noqa: PLC0415 - imports numpy

            return line_through(points).pace
        except ModelError as error:
            raise SettingsError(
                f"the cassette {self._path} tells no pace, so give one: {error}"
            ) from error

    def _recordings(self) -> Iterator[tuple[int, Recording]]:
        for line in scan(self._path):
            if line is not None and line.recording.model == self.name:
                yield line.number, line.recording

    def _nearest(self, text: str, terms: tuple[int | None, int, str]) -> str:
        """The nearest recorded request, for the error; this reads the whole cassette again."""
        nearest, most = "it holds nothing of this model", -1
        for number, recording in self._recordings():
            flat = _flat(recording.messages)
            if flat == text:
                recorded_terms = (recording.max_tokens, recording.seed, recording.scope)
                if recorded_terms == terms:
                    return f"line {number} has the same messages, but other tools"
                return (
                    f"line {number} has the same messages, but (max_tokens, seed, scope) ="
                    f" {recorded_terms} and not {terms}"
                )
            same = _shared(flat, text)
            if same > most:
                most, window = same, slice(max(same - 20, 0), same + 40)
                nearest = (
                    f"the nearest is line {number}, with {flat[window]!r} where"
                    f" {text[window]!r} is asked"
                )
        return nearest


class _ReplaySource(ListSource):
    """A recorded answer; its last piece repeats.

    Args:
        recording: The recording.
        room: The number of tokens that there is time for now; None for no limit.
    """

    def __init__(self, recording: Recording, room: int | None) -> None:
        self._usage = None if recording.usage is UNSET else recording.usage
        self._chunks = [chunk for chunk, _ in _timed_chunks(recording)]
        self._last = len(self._chunks) + (recording.end is not None)
        self._pulled = 0
        self._pulled_tokens = 0
        super().__init__(chain(self._chunks, repeat(_end(recording, room))))

    @property
    def usage(self) -> Usage | None:
        """The recorded counts: of the whole answer where its server knew them by now."""
        usage = self._usage
        if usage is None or not self._pulled:
            return None
        if usage.counted == "settled" or self._pulled >= self._last:
            return usage
        return Usage(
            prompt=usage.prompt,
            cached=usage.cached,
            completion=self._pulled_tokens,
            counted=usage.counted,
        )

    def pull(self) -> Chunk | End:
        """Return the next piece.

        Raises:
            ModelError: If the answer failed, or was recorded to here only.
        """
        piece = super().pull()
        self._pulled += 1
        if isinstance(piece, Chunk):
            self._pulled_tokens += piece.tokens
        return piece


def _timed_chunks(recording: Recording) -> list[TimedChunk]:
    """The chunks of a recording and their arrivals, with the tokens that the server counted."""
    chunks = [(piece.chunk(), Duration(piece.arrived)) for piece in recording.chunks]
    usage = recording.usage
    if recording.end is None or usage is UNSET or usage.counted != "settled":
        return chunks
    return settle(chunks, usage)


def _end(recording: Recording, room: int | None) -> End | ModelError:
    """The end that follows the chunks of a recording."""
    end, recorded = recording.end, recording.room
    if end is not None:
        # An answer that was stopped because there was no time for more ends after its room.
        is_stopped = (
            recorded is not UNSET and end.finish == "length" and (end.tokens or 0) > recorded
        )
        if not is_stopped or (room is not None and (end.tokens or 0) > room):
            return end.piece()
        return CassetteMissError(
            f"the {recording} had time for {recorded} tokens when it was recorded, and now more of"
            " it is needed"
        )
    if recording.failure is not None:
        kind = _ERRORS.get(recording.failure.kind, ModelError)
        return kind(f"recorded: {recording.failure.message}")
    return CassetteMissError(
        f"the {recording} was closed after {len(recording.chunks)} chunks when it was"
        " recorded, and now more of it is needed"
    )


def _index(path: Path) -> _Index:
    """Index a cassette; cached while the file stays the same, since every episode needs it."""
    try:
        now = path.stat()
    except OSError as error:
        raise RecordError(f"the cassette {path} cannot be read: {error}") from error
    return _index_of(path, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=4)
def _index_of(path: Path, _size: int, _modified: int) -> _Index:
    entries: dict[str, list[tuple[int, int]]] = {}
    paces: dict[str, set[Pace]] = {}
    is_torn = False
    for line in scan(path):
        if line is None:
            is_torn = True
            continue
        entries.setdefault(line.recording.key, []).append((line.offset, line.size))
        pace_set = paces.setdefault(line.recording.model, set())
        if line.recording.pace is not None:
            first, per_token = line.recording.pace
            pace_set.add(Pace(first=nanoseconds(first), per_token=nanoseconds(per_token)))
    frozen = {name: frozenset(pace_set) for name, pace_set in paces.items()}
    return _Index(entries, frozenset(paces), frozen, is_torn)


def _only(path: Path, names: frozenset[str], model: str | None) -> str:
    if model is not None:
        if model in names:
            return model
        raise SettingsError(f"{unknown('model', model, names)} (in the cassette {path})")
    if len(names) != 1:
        names_text = ", ".join(sorted(names)) or "none"
        raise SettingsError(
            f"say which model of the cassette {path} to replay, as in replay:FILE#NAME; "
            f"it holds: {names_text}"
        )
    return next(iter(names))


def _arrivals(recording: Recording) -> Iterator[tuple[int, float]]:
    """The total of tokens after each chunk, and the time of its arrival in seconds."""
    tokens = 0
    for chunk, arrival in _timed_chunks(recording):
        tokens += chunk.tokens
        yield tokens, in_seconds(arrival)


def _flat(messages: Iterable[tuple[str, str]]) -> str:
    return "\n".join(content for _, content in messages)


def _shared(first: str, second: str) -> int:
    """The length of the common prefix of two texts."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(first), len(second)))
