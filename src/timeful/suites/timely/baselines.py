"""Baselines: the time of unhurried runs, by case and by all settings that change the time.

Those of endpoints are kept in a file, a line for each run; of two runs with one number of one
case, the later one counts. (Timely Machine, section 5.2.2 and A.1.1.)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from timeful.errors import SettingsError
from timeful.experiments.suite import MissingBaselineError
from timeful.records.store import KeyedLog, read_log
from timeful.suites.timely.episode import TimelyEpisode
from timeful.tasks.budgets import NO_LIMIT, Baseline
from timeful.tasks.episode import TaskEpisode
from timeful.tasks.rows import TaskRow

_NAMED = 3
"""The number of cases without a baseline that an error names."""


class UnhurriedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The nanoseconds that counted in an unhurried run of a case, and its thoughts."""

    case: str
    conditions: dict[str, Any]
    run: int
    counted: int
    steps: int

    @property
    def key(self) -> tuple[str, int]:
        """The case under its conditions, and the number of the run."""
        return baseline_key(self.case, self.conditions), self.run


Baselines = Mapping[str, Baseline]
"""The means over runs, by case and conditions."""


def baseline_key(case: str, conditions: Mapping[str, Any]) -> str:
    """The key of the baseline of a case under some conditions."""
    return msgspec.json.encode([case, dict(conditions)], order="deterministic").decode()


def average(runs: Iterable[UnhurriedRun]) -> Baselines:
    """The baselines of runs."""
    groups: dict[str, list[UnhurriedRun]] = {}
    for run in {run.key: run for run in runs}.values():
        groups.setdefault(run.key[0], []).append(run)
    return {
        key: Baseline(
            counted=fmean(run.counted for run in members), steps=fmean(run.steps for run in members)
        )
        for key, members in groups.items()
    }


def read_runs(pairs: Iterable[tuple[TimelyEpisode, TaskRow]]) -> Iterator[UnhurriedRun]:
    """The unhurried runs; an episode that failed, or used no time, is none."""
    for episode, row in pairs:
        if row.status == "ok" and row.counted_ns and row.rounds:
            task = episode.task
            yield UnhurriedRun(
                case=task.case,
                conditions=task.conditions,
                run=task.run,
                counted=row.counted_ns,
                steps=row.rounds,
            )


def plan_unhurried(episodes: Sequence[TimelyEpisode]) -> list[TimelyEpisode]:
    """The unhurried episodes that relative budgets need, of players that cost nothing."""
    if not any(episode.budget.is_relative for episode in episodes):
        return []
    free = (episode for episode in episodes if not episode.player.is_live)
    return list(dict.fromkeys(replace(e, budget=NO_LIMIT, run=0) for e in free))


def complete(
    episodes: Sequence[TimelyEpisode], pairs: Sequence[tuple[TimelyEpisode, TaskRow]]
) -> list[TimelyEpisode]:
    """Compute the spans of budgets from baselines.

    Raises:
        MissingBaselineError: If a relative budget has no baseline; the first such cases are named.
        RecordError: If the file of baselines cannot be read.
    """
    runs: list[UnhurriedRun] = []
    if any(e.player.is_live and e.budget.is_relative for e in episodes):
        runs = list(read_log(Path(episodes[0].baselines), UnhurriedRun))
    baselines = average([*runs, *read_runs(pairs)])
    roles = {episode.player.spec: episode.player for episode in episodes}
    references = [
        replace(episode, player=roles.get(episode.budget.player, episode.player)).task
        for episode in episodes
    ]
    missing = list(dict.fromkeys(_missing(references, baselines)))
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise MissingBaselineError(
            f"no baseline is known for {', '.join(missing[:_NAMED])}{more}; budgets such as 0.75x "
            "and 30steps are multiples of it"
        )
    return [
        replace(episode, span=episode.budget.span(_find(reference, baselines)))
        for episode, reference in zip(episodes, references, strict=True)
    ]


def _missing(references: Iterable[TaskEpisode], baselines: Baselines) -> Iterator[str]:
    for task in references:
        if task.budget.is_relative and _find(task, baselines) is None:
            yield f"{task.case} by {task.player} with latency {task.latency}"


def _find(task: TaskEpisode, baselines: Baselines) -> Baseline | None:
    return baselines.get(baseline_key(task.case, task.conditions)) if baselines else None


def check_spans(pairs: Iterable[tuple[TimelyEpisode, TaskRow]]) -> None:
    """Refuse to resume a run whose episodes had other budgets by the same name.

    Raises:
        SettingsError: If a baseline has changed since.
    """
    for episode, row in pairs:
        if row.budget_ns != episode.span:
            raise SettingsError(
                f"the run has an episode of {episode.case} by {episode.player.spec} whose budget "
                f"{episode.budget} was {(row.budget_ns or 0) / 1e9:g} s and is "
                f"{(episode.span or 0) / 1e9:g} s now: its baseline has changed. Choose another "
                "folder with --out, or delete this one"
            )


def keep(pairs: Sequence[tuple[TimelyEpisode, TaskRow]]) -> str:
    """Add baselines to the file, and say where they are."""
    path = Path(pairs[0][0].baselines)
    log = KeyedLog(path, UnhurriedRun, key=lambda run: run.key, sync=True)
    runs = list(read_runs(pairs))
    for run in runs:
        log.put(run)
    return f"kept     {len(average(runs))} baselines in {path}"
