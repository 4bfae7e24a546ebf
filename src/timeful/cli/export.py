"""`timeful traces` and `timeful export`: data to train on."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from timeful.cli.options import FILE, estimate_options, refuse_idle, run_options

if TYPE_CHECKING:
    from timeful.environments.reasoning.split import Split
    from timeful.training.data.episodes import LeftOut
    from timeful.training.data.files import DatasetKind, Format
    from timeful.training.data.traces import TraceResult

_TRACES = ("perfetto", "chrome", "otel")
_DATED = ("otel", "inspect")
_LISTED = 20
"""The most failed episodes that are named; the others are counted."""


@click.command(params=[*run_options(), *estimate_options()])
@click.argument("config", type=FILE)
@click.option(
    "--out",
    type=FILE,
    default="runs/traces",
    show_default=True,
    help="Folder of the data; existing traces in it are resumed.",
)
def traces(config: Path, out: Path, **options: Any) -> None:
    """Make cold-start traces: solutions that check the elapsed time.

    CONFIG is a TOML file. Problems come from sets, a file or a finished run. Each is solved under a
    budget and a timer drawn at random, by worked solutions or by an endpoint. Solutions that pass
    the rules become chat messages, split by the hash of the problem, with a card. A judge may
    overrule the check of answers. The same command resumes a stopped run. Exits with 1 if episodes
    failed or the judge gave no verdict on an answer.
    """
    from timeful.cli.estimate import is_estimate
    from timeful.cli.suite_command import watch
    from timeful.training.data.settings import read_settings
    from timeful.training.data.traces import estimate_traces, find_models, make_traces

    settings = read_settings(config)
    if settings.records:
        refuse_idle({"replace": (False, "traces that are played, not made from records")})
    if settings.records and settings.judge is None:
        refuse_idle(dict.fromkeys(("dry_run", "yes"), (False, "a teacher or a judge")))
    elif is_estimate(partial(estimate_traces, settings, out), find_models(settings), options):
        return
    _show(watch(partial(make_traces, settings), out, (), options), out)


def _show(result: "TraceResult", out: Path) -> None:
    for split, count in result.splits.items():
        print(f"{split:<10} {count} traces")
    rejected = ", ".join(f"{count} {rule}" for rule, count in result.rejected.items() if count)
    print(f"rejected   {sum(result.rejected.values())}{rejected and f': {rejected}'}")
    if result.judged:
        print("judged     " + ", ".join(f"{n} {name}" for name, n in sorted(result.judged.items())))
    has_failed = _left_out(result.left_out)
    print(f"data       {out}")
    print(f"card       {result.card}")
    if has_failed or result.unjudged:
        print("again      the same command with --retry-failed")
        raise SystemExit(1)


def _left_out(failures: "LeftOut") -> bool:
    """Print the omitted records; True if an episode failed or a record cannot be read."""
    for error in failures.errors[:_LISTED]:
        print(f"failed     {error}")
    if (more := len(failures.errors) - _LISTED) > 0:
        print(f"failed     {more} more episodes")
    for broken in failures.broken:
        print(f"broken     {broken}")
    return bool(failures.failed or failures.broken)


@click.command()
@click.argument("folder", metavar="RUN", type=FILE)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["sft", "preference", "prompts", *_TRACES, "inspect"]),
    required=True,
    help="Rows of a data set, a trace for Perfetto, Chrome or OpenTelemetry, a log of Inspect.",
)
@click.option(
    "--out", type=FILE, required=True, help="Output file; its card is written next to it."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet"]),
    help="File format.  [default: by the suffix, else jsonl]",
)
@click.option(
    "--reward", default="score", show_default=True, help="Name of the reward of an episode."
)
@click.option("--minimum", type=float, help="Only conversations of at least this reward.")
@click.option("--best", is_flag=True, help="Only the best episode of each case and budget.")
@click.option("--in-time", is_flag=True, help="Only episodes that ended before their deadline.")
@click.option(
    "--split",
    type=click.Choice(["train", "validation", "test"]),
    help="Only problems of this split, by their hash.",
)
@click.option("--replace", is_flag=True, help="Replace an existing file.")
@click.option("--messages", is_flag=True, help="Write prompts and answers too. For --as otel.")
@click.option(
    "--start",
    metavar="DATE",
    help="Date of instant 0 for --as otel, inspect.  [default: 2000-01-01T00:00:00Z]",
)
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
    messages: bool,
    start: str | None,
) -> None:
    """Write the records of RUN as a data set in TRL's conversational format, or as traces.

    RUN is the folder of a run with --transcripts full, or of a training with run.records. Failed
    episodes are omitted. Truncated conversations are only used as the worse one of a pair. Exits
    with 1 if a record cannot be read. Without rows it exits with 1 and writes no file.

    For traces RUN is also a single record, and all episodes are written: a .pftrace file for
    ui.perfetto.dev, a .json file in Chrome's format, or one line of OTLP JSON an episode. --as
    inspect writes an .eval file with one sample an episode; failed episodes are its errors.
    """
    if kind in (*_TRACES, "inspect"):
        names = ("form", "reward", "minimum", "best", "in_time", "split")
        refuse_idle(dict.fromkeys(names, (False, "a data set: --as sft, preference or prompts")))
        refuse_idle({"messages": (kind == "otel", "--as otel")})
        refuse_idle({"start": (kind in _DATED, "--as otel, inspect")})
        if kind == "inspect":
            _write_log(folder, out, replace=replace, start=start)
            return
        _write_traces(folder, kind, out, replace=replace, messages=messages, start=start)
        return
    refuse_idle(dict.fromkeys(("messages", "start"), (False, "--as otel")))
    from timeful.training.data.episodes import Run
    from timeful.training.data.export import export_run
    from timeful.training.data.rewards import find_worth
    from timeful.training.data.rows import Choice

    need = (kind == "sft", "--as sft")
    refuse_idle({"minimum": need, "best": need, "in_time": need})
    refuse_idle({"reward": (kind != "prompts", "--as sft and --as preference")})
    exported = export_run(
        Run(folder, worth=find_worth(reward)),
        cast("DatasetKind", kind),
        Choice(
            split=cast("Split | None", split), minimum=minimum, is_best=best, is_in_time=in_time
        ),
        out,
        form=_form(out, form),
        reward=reward,
        replace=replace,
    )
    counts = exported.counts
    print(f"rows       {exported.rows}")
    print(f"episodes   {counts.chosen} of {counts.episodes}")
    for count, label in (
        (counts.unrewarded, f"episodes without the reward {reward}"),
        (counts.worthless, f"conversations of a reward below {minimum}"),
        (counts.cut, "truncated conversations"),
        (counts.ties, "conversations without a pair of the same prompt and another reward"),
    ):
        if count:
            print(f"left out   {count} {label}")
    _left_out(exported.left_out)
    if exported.rows:
        print(f"data       {out}")
        print(f"card       {exported.card}")
    else:
        print("no file was written: the choice leaves no rows", file=sys.stderr)
    if exported.left_out.broken or not exported.rows:
        raise SystemExit(1)


def _write_traces(
    source: Path, kind: str, out: Path, *, replace: bool, messages: bool, start: str | None
) -> None:
    """Write the records of a run, or one record, for a viewer of traces."""
    from timeful.cli.record_files import record_files
    from timeful.records.store import write_atomically
    from timeful.viewer.pack import pack_episode
    from timeful.viewer.reading import read_raw
    from timeful.viewer.traces import chrome, otel, perfetto

    _refuse_existing(out, replace)
    packs = [pack_episode(read_raw(path)) for path in record_files([source])]
    if kind == "otel":
        date = _read_date(start)
        content = b"".join(otel(pack, start=date, messages=messages) for pack in packs)
    else:
        content = perfetto(packs) if kind == "perfetto" else chrome(packs)
    write_atomically(out, content)
    print(f"trace      {out}")
    print(f"episodes   {len(packs)}")


def _refuse_existing(out: Path, replace: bool) -> None:
    from timeful.errors import SettingsError

    if out.exists() and not replace:
        raise SettingsError(f"{out} exists; give another --out, or --replace")


def _write_log(source: Path, out: Path, *, replace: bool, start: str | None) -> None:
    """Write the records of a run, or one record, as a log of Inspect."""
    from timeful.bridges.inspect.logs import LogWriter
    from timeful.cli.record_files import record_files
    from timeful.cli.suite_command import load_suite
    from timeful.errors import SettingsError
    from timeful.records.folder import SETTINGS, read_settings

    if out.suffix not in (".eval", ".json"):
        raise SettingsError(f"a log of Inspect ends in .eval or .json, got {out.name}")
    _refuse_existing(out, replace)
    settings = read_settings(source) if (source / SETTINGS).is_file() else {}
    name = str(settings.get("suite", ""))
    suite = load_suite(str(settings.get("file") or name)) if name else None
    writer = LogWriter(suite=suite, name=name or source.stem, start_ns=_read_date(start))
    count = writer.write(record_files([source]), out, settings)
    print(f"log        {out}")
    print(f"episodes   {count}")


def _read_date(text: str | None) -> int:
    """A date as nanoseconds since 1970."""
    from datetime import UTC, datetime

    from timeful.errors import SettingsError
    from timeful.viewer.traces import START_NS

    if text is None:
        return START_NS
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise SettingsError(
            f"--start must be a date like 2000-01-01T00:00:00Z, got {text!r}"
        ) from None
    return round((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()) * 10**9


def _form(out: Path, form: str | None) -> "Format":
    """The format of the file, from the option or its suffix."""
    from timeful.errors import SettingsError

    forms = {"": "jsonl", ".jsonl": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
    if form is None and out.suffix not in forms:
        raise SettingsError(
            f"unknown format of {out.name}; end it in .jsonl or .parquet, or give --format"
        )
    return cast("Format", form or forms[out.suffix])
