"""Reading records that may be torn, foreign, growing or invented; no line is lost."""

import gc
import json
import lzma
from collections import Counter
from collections.abc import Iterable
from contextlib import ContextDecorator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from timeful.errors import RecordError
from timeful.files import LONGEST_LINE
from timeful.records.events import AnyEntry, Entry, EpisodeEnded, EpisodeFailed, EpisodeStarted

_MOST_NOTICES = 20


class _NoCollection(ContextDecorator):
    """Holds the collector of cycles, in all threads: records and packs have no cycles.

    Each new object of a long record would be searched for them again and again.
    """

    _lock = Lock()
    _holders = 0
    _was_enabled = True

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self._was_enabled = gc.isenabled()
            self._holders += 1
            gc.disable()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders and self._was_enabled:
                gc.enable()


no_collection = _NoCollection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A line that is an object, but no event of this version."""

    at: int
    name: str
    fields: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class RawRecord:
    """The lines of a record that could be read, each with its number, in the order of time.

    Attributes:
        name: The name of the file.
        entries: The events that this version knows.
        lines: The line of each of them.
        unknown: Events of other kinds, with their lines.
        count: The number of lines.
        notices: What is wrong with it.
    """

    name: str
    entries: list[Entry] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    unknown: list[tuple[int, Unknown]] = field(default_factory=list)
    count: int = 0
    notices: list[str] = field(default_factory=list)

    @property
    def end(self) -> EpisodeEnded | EpisodeFailed | None:
        """The end of the episode, if the record has one."""
        ends = (e for e in reversed(self.entries) if isinstance(e, EpisodeEnded | EpisodeFailed))
        return next(ends, None)

    @property
    def last(self) -> int:
        """The last instant."""
        return self.entries[-1].at if self.entries else 0

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the episode; empty if they are missing."""
        starts = (event for event in self.entries if isinstance(event, EpisodeStarted))
        start = next(starts, None)
        return {} if start is None else start.settings


def read_raw(path: Path) -> RawRecord:
    """Read a record, whatever is in it.

    Raises:
        RecordError: If the file cannot be read at all.
    """
    try:
        # Records that come with the package are packed.
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
            return parse_lines(_lines(file), path.name)
    except (OSError, lzma.LZMAError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordError(f"cannot read {path}: {reason}") from None


def from_events(events: Iterable[Entry], name: str = "episode") -> RawRecord:
    """The same of events in memory."""
    entries = list(map(_encodable, events))
    record = RawRecord(name=name, entries=entries, lines=list(range(1, len(entries) + 1)))
    record.count = len(entries)
    _put_in_order(record)
    return record


def _encodable(event: Entry) -> Entry:
    """An event whose texts can be encoded, as a record would have it."""
    try:
        msgspec.json.encode(event)
    except UnicodeEncodeError:
        fields = _without_surrogates(msgspec.to_builtins(event))
        event = msgspec.convert(fields, type(event))
    return event


@no_collection
def parse_lines(lines: Iterable[bytes], name: str) -> RawRecord:
    """Read the lines of a record; the last one may be torn."""
    record = RawRecord(name=name)
    decoder = msgspec.json.Decoder(AnyEntry)
    for number, line in enumerate(lines, 1):
        record.count = number
        try:
            record.entries.append(decoder.decode(line))
            record.lines.append(number)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if line.strip():
                _read_unknown(record, number, line, str(error))
    _put_in_order(record)
    return record


def _lines(file: Iterable[bytes]) -> Iterable[bytes]:
    readline = file.readline  # type: ignore[attr-defined]
    while line := readline(LONGEST_LINE + 1):
        yield line


def _read_unknown(record: RawRecord, number: int, line: bytes, why: str) -> None:
    """Keep a line that is no known event: lone surrogates and foreign kinds are read too."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        what = "is torn: the record ends within it" if not line.endswith(b"\n") else "is no event"
        _note(record, f"{record.name}, line {number} {what}")
        return
    fields = _without_surrogates(value)
    at = fields.get("at")
    if isinstance(fields.get("event"), str):
        try:
            record.entries.append(msgspec.convert(fields, AnyEntry))
            record.lines.append(number)
            return
        except (msgspec.ValidationError, RecursionError):
            pass
    is_instant = isinstance(at, int) and not isinstance(at, bool)
    instant = at if is_instant else (record.entries[-1].at if record.entries else 0)
    name = str(fields.get("event", "no event"))
    record.unknown.append((number, Unknown(at=instant, name=name, fields=fields)))
    _note(record, f"{record.name}, line {number} is an unknown event ({why[:200]})")


def _without_surrogates(value: Any) -> Any:
    """A JSON value whose texts can be encoded."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _put_in_order(record: RawRecord) -> None:
    instants = [event.at for event in record.entries]
    if instants != sorted(instants):
        _note(record, f"{record.name}: its instants are out of order; they are shown in order")
        order = sorted(range(len(instants)), key=instants.__getitem__)
        record.entries = [record.entries[i] for i in order]
        record.lines = [record.lines[i] for i in order]
    kinds = Counter(map(type, record.entries))
    ends, starts = kinds[EpisodeEnded] + kinds[EpisodeFailed], kinds[EpisodeStarted]
    if ends > 1:
        _note(record, f"{record.name} has {ends} ends; the last one counts")
    if not ends:
        _note(record, f"{record.name} has no end: what is there so far")
    if starts != 1:
        _note(record, f"{record.name} has {starts} beginnings; the first one counts")


def _note(record: RawRecord, text: str) -> None:
    if len(record.notices) < _MOST_NOTICES:
        record.notices.append(text)
    elif len(record.notices) == _MOST_NOTICES:
        record.notices.append("there are more problems, which are not listed")
