"""The kitchen experiment as one call (Engagement Process, 5.2.2; Tables 4, 20 to 24; Figure 7)."""

from collections.abc import Sequence
from pathlib import Path

from timeful.errors import SettingsError
from timeful.models.pace import TOKEN_TIME
from timeful.records.recorder import read_record
from timeful.suites.engagement.kitchen.play import job
from timeful.suites.engagement.kitchen.report import write_report
from timeful.suites.engagement.kitchen.rows import KitchenRow
from timeful.suites.engagement.kitchen.spec import SUITE, KitchenSpec, Rig, Sweep, episodes
from timeful.suites.engagement.kitchen.trace import trace
from timeful.suites.engagement.run import (
    Experiment,
    Finished,
    Watcher,
    report_again,
    run_experiment,
)


def experiment(api_key: str = "") -> Experiment[KitchenSpec, KitchenRow]:
    """How the kitchen is run; the key goes to the endpoint and is never written down."""
    return Experiment(name=SUITE, job=job(api_key), check=check, write_report=write_report)


def check(specs: Sequence[KitchenSpec]) -> None:
    """Find what would make a run fail, before anything runs.

    Raises:
        SettingsError: If a model cannot be made.
        RecordError: If a cassette cannot be read.
    """
    for rig in {id(spec.rig): spec.rig for spec in specs}.values():
        rig.controller.check(pace=TOKEN_TIME)
        rig.tutor.check(pace=TOKEN_TIME)


def run_kitchen(
    sweep: Sweep,
    rig: Rig,
    out: Path,
    *,
    workers: int,
    replace: bool = False,
    retry_failed: bool = False,
    api_key: str = "",
    watcher: Watcher | None = None,
) -> Finished[KitchenRow]:
    """Run a part of the experiment in a folder, or go on where a run of it stopped.

    A sweep may be widened in the same folder; the rig may not change.

    Args:
        sweep: Which part.
        rig: What all its episodes have in common.
        out: The run folder.
        workers: How many processes play side by side.
        replace: Start afresh if the folder holds a run with other settings.
        retry_failed: Play failed episodes again.
        api_key: For the endpoint; never written down.
        watcher: Told how the run goes on.

    Raises:
        SettingsError: If a setting cannot work, before anything is played or written.
        RecordError: If the folder's records cannot be read.
    """
    return run_experiment(
        experiment(api_key),
        episodes(sweep, rig),
        out,
        settings=rig.settings(),
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
        watcher=watcher,
    )


def report_kitchen(out: Path) -> Finished[KitchenRow]:
    """Make the report of a run folder from its records alone.

    Raises:
        RecordError: If the folder holds no kitchen run, or a record cannot be read.
    """
    return report_again(experiment(), out)


def draw(records: Sequence[Path], figure: Path) -> Path:
    """Draw recorded episodes of the kitchen, one below the other, as an SVG file.

    Args:
        records: At least one record.
        figure: Where the figure goes.

    Raises:
        SettingsError: If there is none.
        RecordError: If one is of no kitchen episode, or cannot be read.
    """
    if not records:
        raise SettingsError("nothing to draw: give at least one record of a kitchen episode")
    traces = [trace(read_record(record)) for record in records]
    # matplotlib takes a while to load, and nothing but a figure needs it.
    from timeful.suites.engagement.kitchen.figure import timeline  # noqa: PLC0415

    figure.write_text(timeline(traces), encoding="utf-8", newline="\n")
    return figure
