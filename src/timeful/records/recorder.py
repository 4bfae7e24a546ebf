"""Writing and reading one episode's record."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from timeful.errors import RecordError
from timeful.records.events import (
    Acted,
    AnyEntry,
    Entry,
    EpisodeStarted,
    Printed,
    Turned,
    Wall,
    Within,
)
from timeful.records.identity import identity

_DECISIONS = (Acted, Turned)


class Recorder:
    """Collects the events of one episode, in order, and hashes them as they come.

    Args:
        path: Where to write as well, one JSON object a line, flushed after each decision, so
            that a killed process leaves everything up to its last decision. None: memory only.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.events: list[Entry] = []
        self.settings: dict[str, Any] | None = None
        self._encode = msgspec.json.Encoder().encode
        self._hash = sha256()
        self._file: BinaryIO | None = None
        if path is not None:
            path = Path(path)
            try:
                self._file = path.open("wb")
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("wb")

    def write(self, event: Entry) -> None:
        """Append one event."""
        self.events.append(event)
        line = self._encode(event) + b"\n"
        kind = type(event)
        if isinstance(event, EpisodeStarted):
            same = msgspec.structs.replace(event, settings=identity(event.settings))
            self._hash.update(self._encode(same) + b"\n")
        elif kind not in (Wall, Printed):
            self._hash.update(line)
        if self._file is not None:
            self._file.write(line)
            if kind in _DECISIONS:
                self._file.flush()

    @property
    def sha256(self) -> str:
        """The hash of all but `Wall` and `Printed` events and the source of words."""
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None


class ModuleRecorder(Recorder):
    """Writes what happens to a module into the record of the agent that it is part of."""

    def __init__(self, outer: Recorder, module: str) -> None:
        super().__init__()
        self._outer = outer
        self._module = module

    def write(self, event: Entry) -> None:
        """Append one event, under the name of the module."""
        module = self._module
        if isinstance(event, Within):
            module, event = f"{module}/{event.module}", event.what
        self._outer.write(Within(at=event.at, module=module, what=event))  # type: ignore[arg-type]


def within(events: Iterable[Entry], module: str) -> list[Entry]:
    """The events of one module, by its name after those around it: "controller/body"."""
    return [e.what for e in events if isinstance(e, Within) and e.module == module]


def read_record(path: Path) -> Iterator[AnyEntry]:
    """Read a record event by event.

    Raises:
        RecordError: If there is no such record, or a line is no event; it names the file, and
            the line.
    """
    if not path.is_file():
        reason = "is a folder" if path.is_dir() else "does not exist"
        raise RecordError(
            f"there is no record {str(path)!r}: it {reason}; records are the .jsonl files in the "
            "folder `episodes` of a run"
        )
    decode = msgspec.json.Decoder(AnyEntry).decode
    number = 1
    with path.open("rb") as file:
        try:
            for line in file:
                yield decode(line)
                number += 1
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"{path.name}, line {number}: not an event ({error})") from error


def record_hash(events: Iterable[Entry]) -> str:
    """The hash of events, equal to `Recorder.sha256` of the same."""
    recorder = Recorder()
    for event in events:
        recorder.write(event)
    return recorder.sha256
