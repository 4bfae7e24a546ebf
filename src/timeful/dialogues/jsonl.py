"""Dialogues as JSON lines, compressed with gzip if the name ends in `.gz`.

    {"id": "7", "split": "test", "subflow": "returns", "scenario": {}, "synthetic": true,
     "turns": [{"number": 1, "speaker": "customer", "text": "Hi!", "start_s": 0.0, "observed": []},
               {"number": 2, "speaker": "action", "text": "", "start_s": 4.5, "observed":
                   [{"name": "pull-up-account", "values": ["Ada"], "slots": ["customer_name"]}]}],
     "references": {"1": [<opportunity>]}, "ready_ranges": {"pull-up-account": [1, 2]},
     "questions": {"1": ["May I have your name?"]}}

Required are `id`, `turns`, and of each turn its `number`, `speaker` (agent, customer or action)
and `text`. `start_s` is the start of the turn in seconds of the dialogue. `annotator` is the
model or rule that made the references.
"""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec

from timeful.dialogues.dialogue import Dialogue, ObservedAction, Speaker, Turn
from timeful.dialogues.explaining import explain
from timeful.dialogues.opportunity import Opportunity
from timeful.errors import SettingsError
from timeful.files import is_gzip, read_lines

_SECOND = 1_000_000_000


class _Turn(msgspec.Struct, forbid_unknown_fields=True):
    number: int
    speaker: Speaker
    text: str
    start_s: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    observed: tuple[ObservedAction, ...] = ()


class _Dialogue(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    turns: tuple[_Turn, ...]
    split: str = ""
    subflow: str = ""
    scenario: dict[str, Any] = {}
    references: dict[int, tuple[Opportunity, ...]] = {}
    ready_ranges: dict[str, tuple[int, ...]] = {}
    questions: dict[int, tuple[str, ...]] = {}
    synthetic: bool = False
    annotator: str | msgspec.UnsetType = msgspec.UNSET  # not written if empty


class _Id(msgspec.Struct):
    id: str


def read_jsonl(path: Path) -> Iterator[Dialogue]:
    """Read dialogues one by one.

    Raises:
        SettingsError: If a line is not a dialogue; names the line, the dialogue and the field.
    """
    for number, line in read_lines(path):
        try:
            dialogue = read_dialogue(line)
        except ValueError as error:
            raise SettingsError(f"{path.name}, line {number}{_name_of(line)}: {error}") from None
        yield dialogue


def write_jsonl(path: Path, dialogues: Iterable[Dialogue]) -> None:
    """Write dialogues; the same dialogues give the same bytes."""
    write_lines(path, map(write_dialogue, dialogues))


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines, compressed if the name ends in `.gz`; same lines, same bytes."""
    with path.open("wb") as raw, _packed(raw, path) as file:
        for line in lines:
            file.write(line + b"\n")


def read_dialogue(line: bytes) -> Dialogue:
    """Read one dialogue.

    Raises:
        ValueError: If the line is not a dialogue.
    """
    try:
        read = msgspec.json.decode(line, type=_Dialogue)
    except (ValueError, RecursionError) as error:
        raise ValueError(explain(error, _Dialogue)) from None
    turns = tuple(
        Turn(
            number=turn.number,
            speaker=turn.speaker,
            text=turn.text,
            observed=turn.observed,
            at=None if turn.start_s is None else round(turn.start_s * _SECOND),
        )
        for turn in read.turns
    )
    fields = {name: getattr(read, name) for name in _Dialogue.__struct_fields__}
    return Dialogue(**{**fields, "turns": turns, "annotator": read.annotator or ""})


def write_dialogue(dialogue: Dialogue) -> bytes:
    """Write one dialogue as a line, without its end."""
    turns = tuple(
        _Turn(
            number=turn.number,
            speaker=turn.speaker,
            text=turn.text,
            start_s=None if turn.at is None else turn.at / _SECOND,
            observed=turn.observed,
        )
        for turn in dialogue.turns
    )
    fields = {name: getattr(dialogue, name) for name in _Dialogue.__struct_fields__}
    annotator = dialogue.annotator or msgspec.UNSET
    return msgspec.json.encode(_Dialogue(**{**fields, "turns": turns, "annotator": annotator}))


def _name_of(line: bytes) -> str:
    try:
        return f" (dialogue {msgspec.json.decode(line, type=_Id).id})"
    except (ValueError, RecursionError):
        return ""


def _packed(file: IO[bytes], path: Path) -> AbstractContextManager[IO[bytes]]:
    """The file, compressed if its name asks for it."""
    if not is_gzip(path):
        return nullcontext(file)
    # Without name and time in the header, the same dialogues give the same bytes.
    return gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)  # type: ignore[return-value]
