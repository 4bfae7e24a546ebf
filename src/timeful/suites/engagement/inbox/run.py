"""The inbox experiment as one call (Engagement Process, 5.2.1; Tables 3, 17 to 19)."""

from pathlib import Path

from timeful.suites.engagement.inbox.play import check, job
from timeful.suites.engagement.inbox.report import write_report
from timeful.suites.engagement.inbox.rows import InboxRow
from timeful.suites.engagement.inbox.spec import NAME, InboxEpisode, InboxSweep
from timeful.suites.engagement.run import (
    Experiment,
    Finished,
    Watcher,
    report_again,
    run_experiment,
)


def experiment(api_key: str = "") -> Experiment[InboxEpisode, InboxRow]:
    """How the inbox is run; the key goes to the endpoint and is never written down."""
    return Experiment(name=NAME, job=job(api_key), check=check, write_report=write_report)


def run_inbox(
    sweep: InboxSweep,
    like: InboxEpisode,
    out: Path,
    *,
    workers: int,
    replace: bool = False,
    retry_failed: bool = False,
    api_key: str = "",
    watcher: Watcher | None = None,
) -> Finished[InboxRow]:
    """Run a part of the experiment in a folder, or go on where a run of it stopped.

    A sweep may be widened in the same folder; the world, the models and the interval of polls
    may not change.

    Args:
        sweep: Which part.
        like: What all its episodes have in common.
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
        sweep.spell_out(like),
        out,
        settings=like.common(),
        workers=workers,
        replace=replace,
        retry_failed=retry_failed,
        watcher=watcher,
    )


def report_inbox(out: Path) -> Finished[InboxRow]:
    """Make the report of a run folder from its records alone.

    Raises:
        RecordError: If the folder holds no inbox run, or a record cannot be read.
    """
    return report_again(experiment(), out)
