"""`timeful traces` and `timeful export`: data to train on."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from timeful.cli.suite import FILE, batch_options, refuse_idle, run

if TYPE_CHECKING:
    from timeful.environments.reasoning.split import Split
    from timeful.training.data.columns import Kind
    from timeful.training.data.episodes import LeftOut
    from timeful.training.data.settings import Settings
    from timeful.training.data.traces import Judging, Made
    from timeful.training.data.verify import Verdict
    from timeful.training.data.writing import Format

_LISTED = 20
"""So many failed episodes are named, and the others counted."""


@click.command()
@click.argument("config", type=FILE)
@click.option(
    "--out",
    type=FILE,
    default="runs/traces",
    show_default=True,
    help="The folder of the data; traces in it go on.",
)
@batch_options
def traces(config: Path, out: Path, workers: int | None, replace: bool, retry_failed: bool) -> None:
    """Make cold-start traces as CONFIG says: solutions that watch the time.

    CONFIG is TOML. Problems are solved under budgets and timers that are drawn for each, by the
    worked solutions that come with ours or by an endpoint, or taken from a run that was played
    already. What passes the rules, or a judge who is asked where an answer breaks them, becomes
    data: chat messages, split by the hash of the problem, with a card. The same command goes on
    where it was stopped. Exits with 1 if episodes failed or an answer could not be judged.
    """
    from timeful.training.data.settings import read_settings
    from timeful.training.data.traces import make_from_records

    settings = read_settings(config)
    judging = _judging(settings, workers, retry_failed)
    if settings.records:
        refuse_idle({"replace": (False, "traces that are played, not for records")})
        try:
            made = make_from_records(settings, out, judging)
        except KeyboardInterrupt:
            print(f"stopped: what was judged is kept in {out}", file=sys.stderr)
            raise SystemExit(130) from None
    else:
        made = _play(settings, out, judging, workers, replace, retry_failed)
    _show(made, out)


def _play(
    settings: "Settings",
    out: Path,
    judging: "Judging | None",
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> "Made":
    from timeful.training.data.generate import common, specs_of
    from timeful.training.data.traces import experiment

    specs = specs_of(settings)
    teacher = settings.teacher
    key = "" if teacher is None else os.environ.get(teacher.api_key_name, "")
    found: list[Made] = []
    run(
        lambda _: experiment(settings, found.append, api_key=key, judging=judging),
        specs,
        out,
        settings={**common(specs[0]), "traces": settings.about()},
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
    )
    return found[0]


def _judging(settings: "Settings", workers: int | None, retry_failed: bool) -> "Judging | None":
    from timeful.training.data.traces import Judging

    judge = settings.judge
    if judge is None:
        return None

    def tell(verdict: "Verdict") -> None:
        if verdict.error is not None:
            print(f"no verdict on {verdict.trace}: {verdict.error}", file=sys.stderr)

    return Judging(
        judge=judge,
        api_key=os.environ.get(judge.api_key_name, ""),
        workers=workers if workers is not None else os.cpu_count() or 1,
        retry_failed=retry_failed,
        on_verdict=tell,
    )


def _show(made: "Made", out: Path) -> None:
    for split, count in made.splits.items():
        print(f"{split:<10} {count} traces")
    rejected = ", ".join(f"{count} {rule}" for rule, count in made.rejected.items() if count)
    print(f"rejected   {sum(made.rejected.values())}{rejected and f': {rejected}'}")
    if made.judged:
        print("judged     " + ", ".join(f"{n} {name}" for name, n in sorted(made.judged.items())))
    has_failed = _left_out(made.left_out)
    print(f"data       {out}")
    print(f"card       {made.card}")
    if has_failed or made.unjudged:
        print("again      the same command with --retry-failed")
        raise SystemExit(1)


def _left_out(left: "LeftOut") -> bool:
    """Say what was no data; True if there was something."""
    for error in left.errors[:_LISTED]:
        print(f"failed     {error}")
    if (more := len(left.errors) - _LISTED) > 0:
        print(f"failed     {more} more episodes")
    for broken in left.broken:
        print(f"broken     {broken}")
    return bool(left.failed or left.broken)


@click.command()
@click.argument("folder", metavar="RUN", type=FILE)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["sft", "preference", "prompts"]),
    required=True,
    help="Conversations to follow, pairs of a better and a worse one, or prompts.",
)
@click.option(
    "--out", type=FILE, required=True, help="The file; a card of the same name is put beside it."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet"]),
    help="The file's form.  [default: by its name, else jsonl]",
)
@click.option(
    "--reward", default="score", show_default=True, help="What an episode is worth, by name."
)
@click.option("--minimum", type=float, help="Only conversations that are worth this much.")
@click.option("--best", is_flag=True, help="Only the best episode of each case and budget.")
@click.option("--in-time", is_flag=True, help="Only episodes that ended before their deadline.")
@click.option(
    "--split",
    type=click.Choice(["train", "validation", "test"]),
    help="Only problems of this side, by their hash.",
)
@click.option("--replace", is_flag=True, help="Replace the file, if it is there.")
def export(
    folder: Path,
    kind: str,
    out: Path,
    form: str | None,
    reward: str,
    minimum: float | None,
    best: bool,
    in_time: bool,
    split: str | None,
    replace: bool,
) -> None:
    """Write the records of RUN as a data set, in the form that TRL expects of conversations.

    RUN is the folder of a run of any suite that was played with --transcripts full, or of a
    training with run.records. Episodes that failed are left out, as are conversations that were
    cut (but as the worse one of a pair). Exits with 1 if a record cannot be read or there are no
    rows; no file is written then.
    """
    from timeful.training.data.episodes import Run
    from timeful.training.data.export import export_run
    from timeful.training.data.rewards import find_worth
    from timeful.training.data.rows import Choice

    need = (kind == "sft", "--as sft")
    refuse_idle({"minimum": need, "best": need, "in_time": need})
    refuse_idle({"reward": (kind != "prompts", "--as sft and --as preference")})
    found = export_run(
        Run(folder, worth=find_worth(reward)),
        cast("Kind", kind),
        Choice(
            split=cast("Split | None", split), minimum=minimum, is_best=best, is_in_time=in_time
        ),
        out,
        form=_form(out, form),
        reward=reward,
        replace=replace,
    )
    counts = found.counts
    print(f"rows       {found.rows}")
    print(f"episodes   {counts.chosen} of {counts.episodes}")
    for count, what in (
        (counts.unrewarded, f"episodes of which {reward} says nothing"),
        (counts.worthless, f"conversations that are worth less than {minimum}"),
        (counts.cut, "conversations that were cut"),
        (counts.ties, "conversations without another that began alike and is worth less or more"),
    ):
        if count:
            print(f"left out   {count} {what}")
    _left_out(found.left_out)
    if found.rows:
        print(f"data       {out}")
        print(f"card       {found.card}")
    else:
        print("nothing was written: no row is left", file=sys.stderr)
    if found.left_out.broken or not found.rows:
        raise SystemExit(1)


def _form(out: Path, form: str | None) -> "Format":
    """The file's form, as asked for or by its name."""
    from timeful.errors import SettingsError

    known = {"": "jsonl", ".jsonl": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
    if form is None and out.suffix not in known:
        raise SettingsError(
            f"{out.name} names no form that is known: give .jsonl or .parquet, or --format"
        )
    return cast("Format", form or known[out.suffix])
