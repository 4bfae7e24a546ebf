"""Baselines: the time of unhurried runs, by case and by all settings that change the time.

A file of them is JSON that people can read; a file and new runs are merged by case and repetition.
(Timely Machine, section 5.2.2 and A.1.1.)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import msgspec

from timeful.errors import RecordError, SettingsError
from timeful.experiments.suite import MissingBaselineError
from timeful.records.store import write_atomically
from timeful.suites.timely.episode import TimelyEpisode
from timeful.tasks.budgets import NO_LIMIT, Baseline
from timeful.tasks.episode import TaskEpisode
from timeful.tasks.rows import TaskRow
from timeful.version import __version__

_NAMED = 3
"""The number of cases without a baseline that an error names."""


class UnhurriedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The nanoseconds that counted in an unhurried run, and its thoughts."""

    counted: int
    steps: int


class CaseBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """The unhurried runs of a case under some conditions, by repetition."""

    case: str
    conditions: dict[str, Any]
    runs: dict[str, UnhurriedRun]

    @property
    def key(self) -> str:
        """The case and its conditions."""
        return baseline_key(self.case, self.conditions)

    @property
    def baseline(self) -> Baseline:
        """The mean over its runs."""
        runs = self.runs.values()
        return Baseline(
            counted=fmean(run.counted for run in runs), steps=fmean(run.steps for run in runs)
        )


class _File(msgspec.Struct, frozen=True, kw_only=True):
    schema: Literal[1] = 1
    version: str
    baselines: list[CaseBaseline]


Baselines = Mapping[str, CaseBaseline]
"""Baselines by their keys."""


def baseline_key(case: str, conditions: Mapping[str, Any]) -> str:
    """The key of the baseline of a case under some conditions."""
    return msgspec.json.encode([case, dict(conditions)], order="deterministic").decode()


def merge(*groups: Iterable[CaseBaseline]) -> Baselines:
    """Merge baselines; of two runs with one number of one case, the later one counts."""
    by_key: dict[str, CaseBaseline] = {}
    for baseline in (baseline for group in groups for baseline in group):
        previous = by_key.get(baseline.key)
        runs = baseline.runs if previous is None else {**previous.runs, **baseline.runs}
        by_key[baseline.key] = msgspec.structs.replace(baseline, runs=runs)
    return by_key


def load_baselines(path: Path) -> Baselines:
    """Read a file of baselines; a missing file has none.

    Raises:
        RecordError: If the file is not one of baselines.
    """
    if not path.exists():
        return {}
    try:
        return merge(msgspec.json.decode(path.read_bytes(), type=_File).baselines)
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read as baselines: {error}") from error


def save_baselines(path: Path, baselines: Baselines) -> None:
    """Write a file of baselines whole, or leave the previous one."""
    ordered = [baselines[key] for key in sorted(baselines)]
    text = msgspec.json.encode(_File(version=__version__, baselines=ordered), order="deterministic")
    write_atomically(path, msgspec.json.format(text) + b"\n")


def read_baselines(pairs: Iterable[tuple[TimelyEpisode, TaskRow]]) -> Baselines:
    """The baselines of unhurried runs; an episode that failed, or used no time, has none."""
    return merge(
        CaseBaseline(
            case=task.case,
            conditions=task.conditions,
            runs={str(task.run): UnhurriedRun(counted=row.counted_ns, steps=row.rounds)},
        )
        for task, row in ((episode.task, row) for episode, row in pairs)
        if row.status == "ok" and row.counted_ns and row.rounds
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
    baselines: Baselines = {}
    if any(e.player.is_live and e.budget.is_relative for e in episodes):
        baselines = load_baselines(Path(episodes[0].baselines))
    baselines = merge(baselines.values(), read_baselines(pairs).values())
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
    entry = baselines.get(baseline_key(task.case, task.conditions)) if baselines else None
    return None if entry is None else entry.baseline


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
    baselines = read_baselines(pairs)
    save_baselines(path, merge(load_baselines(path).values(), baselines.values()))
    return f"kept     {len(baselines)} baselines in {path}"
