"""`timeful metrics proactor`: score the agents of recorded conversations, from records alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.cli.record_files import record_files, warn_of_mixture

if TYPE_CHECKING:
    from timeful.metrics.proactor.auxiliary import Auxiliary
    from timeful.metrics.proactor.episodes import Conversed
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

    RECORDS are .jsonl files, or folders of them, such as the folder of a run. Which
    prediction stands for a turn, which came late and which turns were lost follows from the
    records; all of them are scored together, each turn alike. `timeful report RUN` tells the
    agents of a run apart.
    """
    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.auxiliary import auxiliary
    from timeful.metrics.proactor.episodes import score_conversations

    read = [_read(path) for path in record_files(records)]
    whole = [one for one in read if one is not None]
    found, beside = score_conversations(read), auxiliary(whole)
    if turns_file is not None:
        _write(turns_file, [turn for one in whole for turn in one.turns])
    if as_json:
        print(json.dumps({**tables.conversations_json(found), **_json(beside)}, indent=2))
    else:
        print("\n".join([tables.conversations_table(found), *_lines(beside)]))
        for line in warn_of_mixture(one.settings for one in whole):
            print(line)


def _read(path: Path) -> "Conversed | None":
    from timeful.errors import RecordError
    from timeful.metrics.proactor.episodes import read_conversation
    from timeful.records.recorder import read_record

    events = list(read_record(path))
    try:
        return read_conversation(events)
    except RecordError as error:
        raise RecordError(f"{path.name}: {error}") from None


def _json(found: "Auxiliary") -> dict[str, object]:
    """The auxiliary metrics; null where they cannot be told."""
    from dataclasses import asdict

    from timeful.metrics.proactor.tables import alignment_json

    return {
        "ic": None if found.ic is None else asdict(found.ic),
        "ad": None if found.ad is None else asdict(found.ad),
        "ec": {**alignment_json(found.ec), "coverage": found.ec.coverage},
    }


def _lines(found: "Auxiliary") -> list[str]:
    """The same as text."""
    lines = []
    if found.ic is not None:
        scored = found.ic.n_turns - found.ic.n_skipped
        value = _number(found.ic.mean)
        lines.append(
            f"information consistency, IC {value} by {found.ic.similarity}, {scored} turns"
        )
    if found.ad is not None:
        lines.append(f"action dependency alignment, AD {_number(found.ad.mean)}")
    if found.ec.n_observed:
        value, coverage = _number(found.ec.action_level), _number(found.ec.coverage)
        lines.append(f"the references: EC {value} at sigma 0, coverage {coverage}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _write(path: Path, turns: "Sequence[PredictedTurn]") -> None:
    import msgspec

    path.write_bytes(b"".join(msgspec.json.encode(turn) + b"\n" for turn in turns))
