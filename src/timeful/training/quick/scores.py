"""The numbers behind all tables: each model of each seed under each budget, from graded rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec

from timeful.metrics.budgets import by_budget, right_in_time
from timeful.metrics.statistics import Estimate, bootstrap_grand_mean
from timeful.seeding import child
from timeful.tasks.rows import TaskRow
from timeful.training.collapse_detection import find_collapse
from timeful.training.quick.asked import Asked
from timeful.training.quick.recipe import BASE
from timeful.training.quick.rows import ClockRow, read_clocks, read_rows
from timeful.training.quick.stages import Stage

Exam = Literal["graded", "hurried"]
Measure = Literal["success", "accuracy", "on_time", "tokens"]
RESAMPLES = 10_000


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One model of one seed under one budget.

    `exam` is "graded" under the steps of the budget, "hurried" under multiples of the unhurried
    time. `budget` is what was told; on devices, what there was room for as one that counts once
    would be told. `fraction` is the cold start fraction of an ablation. `seconds` is the mean of
    what was told.
    `success` is right and within the budget, `accuracy` right whenever it came; `tokens` is the
    mean length of an answer. Episodes that failed are counted and left out.
    """

    fraction: float | None
    seed: int
    model: str
    exam: Exam
    budget: str
    seconds: float
    success: float
    accuracy: float
    on_time: float
    tokens: float
    count: int
    failed: int


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One model of one seed under all steps of the budget.

    `alarm` names its collapse to one length, and is empty where its length follows the budget.
    """

    fraction: float | None
    seed: int
    model: str
    scores: tuple[Score, ...]
    alarm: str

    @property
    def success(self) -> float:
        """Budgeted success, averaged over budgets."""
        return fmean(score.success for score in self.scores)


def model_of(stage: Stage) -> str:
    """What tables call the model that a stage grades."""
    return BASE if stage.arm is None else stage.arm.name


def read_scores(asked: Asked, out: Path) -> list[Score]:
    """All that was graded; what failed or was not reached is missing."""
    return [
        score
        for fraction, rows, stage in graded(asked, out)
        for score in _scores(rows, stage, fraction)
    ]


def graded(
    asked: Asked, out: Path, *, exams: Sequence[str] = ("grade", "hurry")
) -> Iterator[tuple[float | None, list[TaskRow], Stage]]:
    """The examinations that were held, each with its rows and its cold start fraction."""
    shares = {folder: share for share, _, folder in asked.parts(out)}
    for stage in asked.stages(out):
        if stage.kind in exams and stage.is_done:
            rows = read_clocks if stage.recipe.language.opening else read_rows
            yield shares[stage.out], list(rows(stage.result)), stage


def _scores(rows: Iterable[TaskRow], stage: Stage, fraction: float | None) -> Iterator[Score]:
    for budget, all_of in _by_budget(rows, stage).items():
        ok = [row for row in all_of if row.status == "ok"]
        if not ok:
            continue
        yield Score(
            fraction=fraction,
            seed=stage.seed,
            model=model_of(stage),
            exam="graded" if stage.kind == "grade" else "hurried",
            budget=budget,
            seconds=fmean(row.budget_ns or 0 for row in ok) / 1e9,
            success=fmean(map(right_in_time, ok)),
            accuracy=fmean(row.value for row in ok),
            on_time=fmean(row.is_on_time for row in ok),
            tokens=fmean(row.tokens for row in ok),
            count=len(ok),
            failed=len(all_of) - len(ok),
        )


def _by_budget(rows: Iterable[TaskRow], stage: Stage) -> Mapping[str, list[TaskRow]]:
    """Rows by budget; on devices, where a budget tells little, by how much there was room for."""
    recipe = stage.recipe
    if stage.kind != "grade" or not recipe.language.opening:
        return by_budget(rows)
    groups: dict[str, list[TaskRow]] = {}
    for row in rows:
        assert isinstance(row, ClockRow)
        groups.setdefault(recipe.budget(row.room(recipe.language.pace)), []).append(row)
    return groups


def standings(scores: Iterable[Score]) -> list[Standing]:
    """Each model of each seed under the steps of the budget, with its alarm."""
    groups: dict[tuple[float | None, int, str], list[Score]] = {}
    for score in scores:
        if score.exam == "graded":
            groups.setdefault((score.fraction, score.seed, score.model), []).append(score)
    return [
        Standing(
            fraction=fraction,
            seed=seed,
            model=model,
            scores=tuple(found),
            alarm=find_collapse({score.seconds: score.tokens for score in found}),
        )
        for (fraction, seed, model), found in groups.items()
    ]


def over_seeds(scores: Iterable[Score], measure: Measure) -> Estimate:
    """The mean over seeds, with a 95 % interval by drawing seeds; one seed has no interval."""
    values = [float(getattr(score, measure)) for score in scores]
    return mean_of(values, measure)


def mean_of(values: Sequence[float], name: str) -> Estimate:
    """The mean of one value for each seed, and its interval."""
    rng = child(0, "training", "bootstrap", name)
    return bootstrap_grand_mean([[[value] for value in values]], rng=rng, resamples=RESAMPLES)
