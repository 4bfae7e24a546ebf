"""What an annotation has done so far: a log that only grows, a line for each dialogue.

It lies in a folder beside the output, with what makes the annotation what it is. A line is
written in one piece when its dialogue is done, so that a process may be killed at any time: the
next one cuts off a last line that is torn, and goes on with what is missing. One process at a
time; see `runs/lock.py`.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import msgspec

from timeful.annotation.oracle import Annotated
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.jsonl import read_dialogue, write_dialogue
from timeful.errors import RecordError, SettingsError
from timeful.models.structured_output import Failure


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A dialogue that is done: it, or what it failed with. Of two of one index the last counts."""

    index: int
    id: str
    dialogue: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""
    failure: Failure | None = None
    requests: int = 0
    repairs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An entry without its dialogue, and where in the log it is."""

    index: int
    id: str
    error: str
    failure: Failure | None
    requests: int
    repairs: int
    offset: int


class WorkLog:
    """The log of a folder; open between `with` and the end of its block.

    Attributes:
        done: What is done, by index.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self.done = _mended(file, path)

    @classmethod
    def open(cls, folder: Path, identity: bytes, *, replace: bool = False) -> Self:
        """Open the log of a folder, or begin one.

        Args:
            folder: The folder, which this process has locked.
            identity: What makes the annotation what it is, as JSON.
            replace: Begin afresh if the folder has the log of another annotation.

        Raises:
            SettingsError: If it has, and is not to be replaced.
            RecordError: If the log cannot be read.
        """
        settings, log = folder / "settings.json", folder / "log.jsonl"
        if settings.exists() and settings.read_bytes() != identity:
            if not replace:
                raise SettingsError(
                    f"{folder} has an annotation with other settings "
                    f"({_differences(settings.read_bytes(), identity)}); choose another file with "
                    "--out, or start afresh with --replace"
                )
            log.unlink(missing_ok=True)
        partial = folder / "settings.json.part"
        partial.write_bytes(identity)
        partial.replace(settings)
        file = log.open("a+b")
        try:
            return cls(file, log)
        except BaseException:
            file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, index: int, dialogue: Dialogue, annotated: Annotated) -> Done:
        """Write that a dialogue is done."""
        there = annotated.dialogue
        entry = Entry(
            index=index,
            id=dialogue.id,
            dialogue=msgspec.Raw(b"null" if there is None else write_dialogue(there)),
            error=annotated.error,
            failure=annotated.failure,
            requests=annotated.requests,
            repairs=annotated.repairs,
        )
        offset = self._file.seek(0, os.SEEK_END)
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.done[index] = _done(entry, offset)
        return self.done[index]

    def read_again(self) -> None:
        """See what is done after an interruption, which may have come while it was written."""
        self.done = _mended(self._file, self._path)

    def dialogues(self) -> Iterator[Dialogue]:
        """The annotated dialogues, in the order of their indices."""
        for _, one in sorted(self.done.items()):
            if one.failure is None:
                self._file.seek(one.offset)
                entry = msgspec.json.decode(self._file.readline(), type=Entry)
                yield read_dialogue(bytes(entry.dialogue))


def _mended(file: IO[bytes], path: Path) -> dict[int, Done]:
    """What a log says; what a kill left of a last line is cut off."""
    done: dict[int, Done] = {}
    file.seek(0)
    offset = 0
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            file.truncate(offset)
            break
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError as error:
            raise RecordError(f"{path}, line {number}: {error}") from None
        done[entry.index] = _done(entry, offset)
        offset += len(line)
    return done


def _done(entry: Entry, offset: int) -> Done:
    return Done(
        index=entry.index,
        id=entry.id,
        error=entry.error,
        failure=entry.failure,
        requests=entry.requests,
        repairs=entry.repairs,
        offset=offset,
    )


def _differences(old: bytes, new: bytes) -> str:
    try:
        there, here = msgspec.json.decode(old), msgspec.json.decode(new)
        names = sorted(name for name in {*there, *here} if there.get(name) != here.get(name))
    except (msgspec.DecodeError, TypeError, AttributeError):
        return "which cannot be read"
    return "different: " + ", ".join(names)
