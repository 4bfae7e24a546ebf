"""The real-time suite as one call: play what is missing, then write the report."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from timeful.environments.registry import make_game
from timeful.errors import RecordError, SettingsError
from timeful.records.rows import EpisodeRow
from timeful.runs.batch import open_run, run_batch
from timeful.runs.lock import locked
from timeful.sandbox.policy import unavailable
from timeful.suites.realtime.play import job, sum_up
from timeful.suites.realtime.report import write_report
from timeful.suites.realtime.spec import EpisodeSpec, Sweep, episodes, roles
from timeful.version import __version__

TITLE = "timeful: the real-time suite"
_VARIED = ("game", "difficulty", "agent", "step", "reserve", "budget", "game_seed", "sample")


class Watcher(Protocol):
    """Somebody who follows a run."""

    def start(self, total: int) -> None:
        """All settings have been found good, and so many episodes are to be played."""
        ...

    def advance(self, row: EpisodeRow) -> None:
        """One more episode is done, now or by an earlier call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a run came to."""

    rows: list[EpisodeRow]
    report: Path

    @property
    def failed(self) -> int:
        """How many episodes failed."""
        return sum(row.status == "failed" for row in self.rows)


def identity(sweep: Sweep, like: EpisodeSpec) -> dict[str, Any]:
    """What episodes of one run folder have in common; a sweep may be widened, this may not."""
    common = {name: value for name, value in asdict(like).items() if name not in _VARIED}
    # An address may hold a password, and the settings stand in files and in the report.
    common["planner"]["base_url"] = like.planner.endpoint
    common["reactor"]["base_url"] = like.reactor.endpoint
    if like.pace is not None:
        common["pace"] = {"first_ns": like.pace.first, "per_token_ns": like.pace.per_token}
    return {"suite": "realtime", "version": __version__, "budget": sweep.budget, **common}


def run_suite(
    sweep: Sweep,
    like: EpisodeSpec,
    out: Path,
    *,
    workers: int,
    replace: bool = False,
    retry_failed: bool = False,
    api_key: str = "",
    watcher: Watcher | None = None,
) -> Finished:
    """Run a part of the suite in a folder, or go on where a run of it stopped.

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
        SettingsError: If a setting cannot work, or another process is at work in the folder,
            before anything is played or written.
        RecordError: If the folder's records cannot be read.
    """
    specs = episodes(sweep, like)
    check(specs, workers=workers)
    settings = msgspec.json.format(msgspec.json.encode(identity(sweep, like)))
    with locked(out):
        open_run(out, settings, replace=replace)
        if watcher is not None:
            watcher.start(len(specs))
        rows = run_batch(
            specs,
            job(api_key),
            out,
            workers=workers,
            retry_failed=retry_failed,
            on_row=watcher.advance if watcher is not None else lambda _: None,
        )
        report = write_report(rows, out, TITLE, msgspec.json.decode(settings))
    return Finished(rows=rows, report=report)


def check(specs: Sequence[EpisodeSpec], *, workers: int) -> None:
    """Find what would make a run fail, before anything runs.

    Raises:
        SettingsError: If there are no workers, a game has no such seed, a model cannot be made
            (no client, a cassette without a pace), or policies cannot be run on this machine.
        RecordError: If a cassette cannot be read.
    """
    if workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {workers}")
    for game, difficulty, seed, mode in {
        (spec.game, spec.difficulty, spec.game_seed, spec.mode): None for spec in specs
    }:
        make_game(game, difficulty=difficulty, seed=seed, mode=mode)
    made = {
        (role, choice): spec
        for spec in specs
        for role, choice in zip(roles(spec.agent), spec.models, strict=True)
    }
    for (role, choice), spec in made.items():
        # Without its cassette to record to, which only a run may begin.
        replace(choice, record=None).make(role, pace=spec.pace, scope=spec.scope, api_key="")
    if any(spec.agent == "code-policy" for spec in specs):
        reason = unavailable()
        if reason is not None:
            raise SettingsError(f"code-policy cannot run here: {reason}")


def report_again(out: Path) -> Finished:
    """Make the report of a run folder from its records alone.

    Raises:
        RecordError: If the folder holds no run of this suite, or a record cannot be read.
    """
    try:
        settings = msgspec.json.decode((out / "settings.json").read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{out} holds no run: {error}") from error
    rows = [sum_up(path) for path in sorted((out / "episodes").glob("*.jsonl"))]
    return Finished(rows=rows, report=write_report(rows, out, TITLE, settings))
