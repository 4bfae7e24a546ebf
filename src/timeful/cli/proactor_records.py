"""`timeful metrics proactor`: score the agents of recorded conversations, from records alone."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.cli.record_files import record_files, warn_of_mixture

if TYPE_CHECKING:
    from timeful.metrics.proactor.auxiliary import Auxiliary
    from timeful.metrics.proactor.episodes import Conversed


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
    import msgspec

    from timeful.metrics.proactor import tables
    from timeful.metrics.proactor.auxiliary import auxiliary
    from timeful.metrics.proactor.episodes import score_conversations

    episodes = [_read(path) for path in record_files(records)]
    conversations = [episode for episode in episodes if episode is not None]
    scores, more = score_conversations(episodes), auxiliary(conversations)
    if turns_file is not None:
        lines = [msgspec.json.encode(turn) + b"\n" for c in conversations for turn in c.turns]
        turns_file.write_bytes(b"".join(lines))
    if as_json:
        print(json.dumps({**tables.conversations_json(scores), **_json(more)}, indent=2))
    else:
        print("\n".join([tables.conversations_table(scores), *_lines(more)]))
        for line in warn_of_mixture(c.settings for c in conversations):
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


def _json(more: "Auxiliary") -> dict[str, object]:
    """The auxiliary metrics; null where they cannot be told."""
    from dataclasses import asdict

    from timeful.metrics.proactor.tables import alignment_json

    return {
        "ic": None if more.ic is None else asdict(more.ic),
        "ad": None if more.ad is None else asdict(more.ad),
        "ec": {**alignment_json(more.ec), "coverage": more.ec.coverage},
    }


def _lines(more: "Auxiliary") -> list[str]:
    """The same as text."""
    lines = []
    if more.ic is not None:
        scored = more.ic.n_turns - more.ic.n_skipped
        value = _number(more.ic.mean)
        lines.append(f"information consistency, IC {value} by {more.ic.similarity}, {scored} turns")
    if more.ad is not None:
        lines.append(f"action dependency alignment, AD {_number(more.ad.mean)}")
    if more.ec.n_observed:
        value, coverage = _number(more.ec.action_level), _number(more.ec.coverage)
        lines.append(f"the references: EC {value} at sigma 0, coverage {coverage}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
