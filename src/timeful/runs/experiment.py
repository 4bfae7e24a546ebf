"""An experiment of many episodes as one call: play what is missing, then write the report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from timeful.errors import RecordError, SettingsError
from timeful.records.events import Entry, EpisodeFailed, EpisodeStarted
from timeful.records.folder import open_folder
from timeful.records.recorder import Recorder, read_record
from timeful.runs.batch import RUN, Job, Row, Spec, run_batch
from timeful.version import __version__


class EpisodeSpec(Spec, Protocol):
    """What an experiment needs to know of an episode; it can be pickled."""

    def settings(self) -> dict[str, Any]:
        """All that makes the episode what it is, as its record begins."""
        ...


S = TypeVar("S", bound=EpisodeSpec)
R = TypeVar("R", bound=Row)


class Watcher(Protocol):
    """Somebody who follows a run."""

    def start(self, total: int) -> None:
        """All settings have been found good, and so many episodes are to be played."""
        ...

    def advance(self, row: Row) -> None:
        """One more episode is done, now or by an earlier call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment(Generic[S, R]):
    """What a run needs to know of an experiment. `play` and `summarize` can be pickled.

    Attributes:
        name: Such as "engagement/inbox"; it stands in the settings of a run folder.
        play: Plays an episode and writes its whole record, a failed episode's included.
        summarize: Makes the row of an episode from its record alone.
        row: The type of the rows.
        check: Raises a SettingsError for episodes that could not be played.
        write_report: From rows in any order, a folder and its settings to the report's path; it
            needs nothing beside them, so that a report can be made again from records.
    """

    name: str
    play: Callable[[S, Recorder], object]
    summarize: Callable[[Iterable[Entry]], R]
    row: type[R]
    check: Callable[[Sequence[S]], None]
    write_report: Callable[[Sequence[R], Path, Mapping[str, Any]], Path]

    @property
    def job(self) -> Job[S, R]:
        """How a batch plays its episodes."""
        # Workers are sent this, and need neither the check nor the report.
        sum_up = partial(_sum_up, summarize=self.summarize)
        return Job(play=self.play, sum_up=sum_up, give_up=_give_up, row=self.row)


def _sum_up(record: Path, *, summarize: Callable[[Iterable[Entry]], R]) -> R:
    return summarize(read_record(record))


def _give_up(spec: EpisodeSpec, recorder: Recorder, why: str) -> None:
    """Write the record of an episode whose process died."""
    recorder.write(EpisodeStarted(at=0, version=__version__, settings=spec.settings()))
    recorder.write(EpisodeFailed(at=0, boundary="process", error=why))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Generic[R]):
    """What a run came to."""

    rows: list[R]
    report: Path

    @property
    def failed(self) -> list[R]:
        """The episodes that failed."""
        return [row for row in self.rows if row.status == "failed"]


def run_experiment(
    experiment: Experiment[S, R],
    specs: Sequence[S],
    out: Path,
    *,
    settings: Mapping[str, Any],
    workers: int,
    replace: bool = False,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
) -> Finished[R]:
    """Play the episodes of an experiment in a folder, or go on where a run of it stopped.

    Args:
        experiment: Which one.
        specs: Its episodes.
        out: The run folder.
        settings: What all episodes of the folder have in common, as plain JSON values without
            secrets; a run with other settings does not go on in it.
        workers: How many processes play side by side.
        replace: Start afresh if the folder holds a run with other settings.
        retry_failed: Play failed episodes again.
        watcher: Told how the run goes on.

    Raises:
        SettingsError: If a setting cannot work, or another process is at work in the folder,
            before anything is played or written.
        RecordError: If the folder's records cannot be read.
    """
    if workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {workers}")
    if not specs:
        raise SettingsError("nothing to run: no episode is left of what was asked for")
    experiment.check(specs)
    common = {"suite": experiment.name, "version": __version__, **settings}
    with open_folder(out, common, RUN, replace=replace):
        if watcher is not None:
            watcher.start(len(specs))
        rows = run_batch(
            specs,
            experiment.job,
            out,
            workers=workers,
            retry_failed=retry_failed,
            on_row=watcher.advance if watcher is not None else lambda _: None,
        )
        # Read back as a later report will read them.
        report = experiment.write_report(rows, out, read_settings(out))
    return Finished(rows=rows, report=report)


def report_again(experiment: Experiment[S, R], out: Path) -> Finished[R]:
    """Make the report of a run folder from its records alone.

    Raises:
        RecordError: If the folder holds no run of this experiment, or a record cannot be read.
    """
    settings = read_settings(out)
    if settings.get("suite") != experiment.name:
        raise RecordError(
            f"{out} holds a run of {settings.get('suite')!r}, not of {experiment.name!r}"
        )
    paths = sorted((out / "episodes").glob("*.jsonl"))
    rows = [experiment.summarize(read_record(path)) for path in paths]
    return Finished(rows=rows, report=experiment.write_report(rows, out, settings))


def read_settings(out: Path) -> dict[str, Any]:
    """The settings of a run folder; the name of its suite is under "suite".

    Raises:
        RecordError: If the folder holds no run.
    """
    try:
        return msgspec.json.decode((out / "settings.json").read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        inside = ", ".join(str(path.parent) for path in sorted(out.glob("*/settings.json")))
        raise RecordError(
            f"{out} holds no run" + (f", but these do: {inside}" if inside else "")
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{out} holds no run: {error}") from error
