"""A run's records as a data set for TRL, with a card beside it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from timeful.training.data.episodes import LeftOut, Run
from timeful.training.data.files import (
    COLUMNS,
    DatasetKind,
    Format,
    check_form,
    check_target,
    describe_columns,
    number_names,
    write_card,
    write_rows,
)
from timeful.training.data.rewards import check_fits
from timeful.training.data.rows import Choice, Counts, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written."""

    rows: int
    counts: Counts
    left_out: LeftOut
    card: Path


def export_run(
    run: Run,
    kind: DatasetKind,
    choice: Choice,
    out: Path,
    *,
    form: Format = "jsonl",
    reward: str,
    replace: bool = False,
) -> Exported:
    """Write a run as a data set, with a card of the same name beside it.

    Args:
        run: The run.
        kind: What its rows are.
        choice: Which of them are wanted.
        out: The file.
        form: Its form.
        reward: The name of what episodes are worth, for the card.
        replace: Whether a file that is there may be replaced.

    Raises:
        SettingsError: If there is such a file, a record has no transcript, the reward is none of
            this suite, or Parquet cannot be written here.
    """
    check_form(form)
    check_target(out, replace=replace)
    check_fits(reward, run.suite)
    reward = Path(reward).name  # of one's own, no place on a machine
    counts = Counts()
    dataset = rows(run, kind, choice, counts)
    # A file without rows could not be loaded: nothing is written, and what is there stays.
    some = next(dataset, None)
    card = out.with_name(f"{out.name}.md")
    if some is None:
        return Exported(rows=0, counts=counts, left_out=run.left_out, card=card)
    count = write_rows(chain([some], dataset), out, COLUMNS[kind], form)
    left_out = run.left_out
    write_card(
        card,
        f"Episodes of {run.suite} as {_SAYS[kind]}",
        f"{count} rows, made by `timeful export --as {kind}` of the records of a run.",
        {
            "Columns": describe_columns(COLUMNS[kind]),
            "Rows by the side of their problem": dict(sorted(counts.splits.items())),
            "Episodes": {
                "that came to their end": counts.episodes,
                "of which rows could be made": counts.chosen,
                f"of which {reward} says nothing": counts.unrewarded,
                **{f"that failed: {where}": n for where, n in sorted(left_out.failed.items())},
            },
            "Conversations in them, by who spoke": dict(sorted(counts.models.items())),
            "Conversations left out": {
                "that are not worth enough": counts.worthless,
                "that were cut": counts.cut,
                "without another that began alike and was worth less or more": counts.ties,
            },
            "Records that cannot be read": number_names("record", left_out.broken),
            "Choice": {"reward": reward, **asdict(choice)},
            "The run": _about(run),
        },
        {choice.split or "train": out.name},
    )
    return Exported(rows=count, counts=counts, left_out=left_out, card=card)


_SAYS: Mapping[DatasetKind, str] = {
    "sft": "examples to follow",
    "preference": "pairs of a better and a worse one",
    "prompts": "prompts",
}


def _about(run: Run) -> dict[str, Any]:
    settings = run.settings
    about = {"suite": run.suite, "version": settings.get("version"), "seed": settings.get("seed")}
    source = settings.get("source") or settings.get("cases") or {}
    for name in ("sets", "size", "problems", "data", "domain", "split"):
        if value := source.get(name):
            is_file = name in ("problems", "data")
            about[name] = Path(value).name if is_file else msgspec.json.encode(value).decode()
    return {name: value for name, value in about.items() if value is not None}
