"""`timeful metrics proactor`: score the agents of recorded conversations, from records alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from timeful.metrics.proactor.files import PredictedTurn


@click.command("proactor")
@click.argument("records", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="One object.")
@click.option(
    "--turns",
    "turns_file",
    type=click.Path(path_type=Path),
    help="Also write every turn as a line that `timeful metrics proactor-turns` reads.",
)
def records(records: tuple[Path, ...], as_json: bool, turns_file: Path | None) -> None:
    """Score what was predicted in the conversations of RECORDS.

    RECORDS are .jsonl files, or folders of them; of a run, its folder `episodes`. Which
    prediction stands for a turn, which came late and which turns were lost follows from the
    records; all of them are scored together, each turn alike.
    """
    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.episodes import read_conversation, score_conversations
    from timeful.records.recorder import read_record

    paths = [path for given in records for path in _records(given)]
    read = [read_conversation(read_record(path)) for path in paths]
    found = score_conversations(read)
    if turns_file is not None:
        _write(turns_file, [turn for one in read if one is not None for turn in one.turns])
    if as_json:
        print(json.dumps(tables.conversations_json(found), indent=2))
    else:
        print(tables.conversations_table(found))


def _records(given: Path) -> list[Path]:
    """A record, or those of a folder; of a run, those in its folder `episodes`."""
    from timeful.errors import RecordError

    if not given.is_dir():
        return [given]
    inner = given / "episodes"
    found = sorted((inner if inner.is_dir() else given).glob("*.jsonl"))
    if not found:
        raise RecordError(f"there is no record in {given}; records are .jsonl files")
    return found


def _write(path: Path, turns: "Sequence[PredictedTurn]") -> None:
    import msgspec

    path.write_bytes(b"".join(msgspec.json.encode(turn) + b"\n" for turn in turns))
