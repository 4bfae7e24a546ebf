"""The log of an annotation: a line for each dialogue that is done."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from timeful.annotation.oracle import Annotated
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.jsonl import read_dialogue, write_dialogue
from timeful.models.ledger import LEDGER
from timeful.models.structured_output import Failure
from timeful.records.folder import SETTINGS, FolderKind, differences
from timeful.records.store import KeyedLog, read_log
from timeful.records.usage import Usage

_LOG = "log.jsonl"
_NO_DIALOGUE = msgspec.Raw(b"null")

WORK = FolderKind(noun="annotation", contents=(_LOG, LEDGER))
"""The folder of the log."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A dialogue that is done: annotated, or failed with an error."""

    index: int
    id: str
    dialogue: msgspec.Raw = _NO_DIALOGUE
    error: str = ""
    failure: Failure | None = None
    requests: int = 0
    repairs: int = 0
    usage: Usage | None = None


WorkLog = KeyedLog[int, Entry]


def open_log(folder: Path) -> WorkLog:
    """Open the log of a folder.

    Raises:
        RecordError: If a line cannot be read.
    """
    return KeyedLog(folder / _LOG, Entry, key=lambda entry: entry.index, sync=True)


def read_finished(folder: Path, identity: Mapping[str, Any]) -> set[int]:
    """The indices of annotated dialogues; none if the folder has another annotation."""
    path = folder / SETTINGS
    if not path.exists() or differences(path, identity, WORK.locations):
        return set()
    last = {entry.index: entry for entry in read_log(folder / _LOG, Entry)}
    return {index for index, entry in last.items() if entry.failure is None}


def entry_of(index: int, dialogue: Dialogue, annotated: Annotated) -> Entry:
    """The entry of a dialogue that is done."""
    result = annotated.dialogue
    return Entry(
        index=index,
        id=dialogue.id,
        dialogue=_NO_DIALOGUE if result is None else msgspec.Raw(write_dialogue(result)),
        error=annotated.error,
        failure=annotated.failure,
        requests=annotated.requests,
        repairs=annotated.repairs,
        usage=annotated.usage,
    )


def summaries(log: Mapping[int, Entry]) -> list[Entry]:
    """The entries without their dialogues, by index."""
    return [msgspec.structs.replace(log[index], dialogue=_NO_DIALOGUE) for index in sorted(log)]


def dialogues(log: Mapping[int, Entry]) -> Iterator[Dialogue]:
    """The annotated dialogues, by index."""
    for index in sorted(log):
        if (entry := log[index]).failure is None:
            yield read_dialogue(bytes(entry.dialogue))
