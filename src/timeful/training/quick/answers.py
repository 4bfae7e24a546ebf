"""The graded answers of all models, and their means by model, seed and budget."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeVar

import msgspec

from timeful.metrics.budgets import right_in_time
from timeful.tasks.rows import TaskRow
from timeful.training.collapse_detection import find_collapse
from timeful.training.quick.plan import QuickRun
from timeful.training.quick.rows import ClockRow, read_clocks, read_rows
from timeful.training.quick.steps import EXAMS, Step

Trained = tuple[float | None, int, str]
"""A trained model: its cold start fraction, its seed and its name."""

M = TypeVar("M", bound=msgspec.Struct)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One graded answer.

    `fraction` is the cold start fraction of an ablation. `budget` is the told budget; on devices,
    in the exams "graded" and "misled", the budget that leaves as much time on a device of speed 1.
    `alpha` is the weight of thinking time on the device, and `scale` the factor of a wrong timer.
    `clock` is the reading of the timer in eighths of the budget (None: not asked), and `after` the
    number of tokens after it.
    """

    fraction: float | None
    seed: int
    model: str
    exam: str
    budget: str
    budget_ns: int
    alpha: float
    scale: float
    clock: int | None
    tokens: int
    after: int
    on_time: bool
    success: float
    accuracy: float
    status: str
    stand_in: bool = True

    @property
    def trained(self) -> Trained:
        """The model that gave the answer."""
        return self.fraction, self.seed, self.model

    @property
    def has_reading(self) -> bool:
        """Whether the timer was asked."""
        return self.clock is not None


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """The means of one model of one seed under one budget; failed answers are only counted."""

    fraction: float | None
    seed: int
    model: str
    exam: str
    budget: str
    seconds: float
    success: float
    accuracy: float
    on_time: float
    tokens: float
    count: int
    failed: int


class ClockScore(msgspec.Struct, frozen=True, kw_only=True):
    """The means of one model of one seed under one budget, on one device, after one reading."""

    seed: int
    model: str
    exam: str
    budget: str
    alpha: float
    scale: float
    clock: int | None
    count: int
    tokens: float
    after: float
    on_time: float
    success: float
    accuracy: float


def read_answers(run: QuickRun, out: Path) -> list[Answer]:
    """All answers that were graded.

    Raises:
        RecordError: If a file of them cannot be read.
    """
    return [answer for step in run.exams(out) if step.is_done for answer in _answers(step)]


def _answers(step: Step) -> Iterator[Answer]:
    recipe, exam = step.recipe, EXAMS[step.kind]
    rows: Sequence[TaskRow] = (read_clocks if recipe.language.opening else read_rows)(step.result)
    for row in rows:
        clock_row = row if isinstance(row, ClockRow) else None
        budget = row.budget
        if clock_row is not None and exam != "hurried":
            budget = recipe.budget(clock_row.room(recipe.language.pace))
        yield Answer(
            fraction=step.fraction,
            seed=step.seed,
            model=step.model_name,
            exam=exam,
            budget=budget,
            budget_ns=row.budget_ns or 0,
            alpha=clock_row.alpha if clock_row else 1.0,
            scale=clock_row.scale if clock_row else 1.0,
            clock=clock_row.clock if clock_row else None,
            tokens=row.tokens,
            after=clock_row.after if clock_row else 0,
            on_time=row.is_on_time,
            success=right_in_time(row),
            accuracy=row.value,
            status=row.status,
        )


def mean_rows(kind: type[M], answers: Iterable[Answer]) -> list[M]:
    """Group answers by the columns of a struct that are not means, and compute its means."""
    names = kind.__struct_fields__
    keys = [n for n in names if n in Answer.__struct_fields__ and n not in _MEANS]
    groups: dict[tuple[object, ...], list[Answer]] = {}
    for answer in answers:
        groups.setdefault(tuple(getattr(answer, key) for key in keys), []).append(answer)
    rows = []
    for values, members in groups.items():
        if completed := [answer for answer in members if answer.status == "ok"]:
            numbers = {name: mean(completed) for name, mean in _MEANS.items()}
            numbers["failed"] = len(members) - len(completed)
            means = {name: number for name, number in numbers.items() if name in names}
            rows.append(kind(**dict(zip(keys, values, strict=True)), **means))
    return rows


_MEANS: dict[str, Callable[[Sequence[Answer]], float]] = {
    "seconds": lambda answers: fmean(answer.budget_ns for answer in answers) / 1e9,
    "success": lambda answers: fmean(answer.success for answer in answers),
    "accuracy": lambda answers: fmean(answer.accuracy for answer in answers),
    "on_time": lambda answers: fmean(answer.on_time for answer in answers),
    "tokens": lambda answers: fmean(answer.tokens for answer in answers),
    "after": lambda answers: fmean(answer.after for answer in answers),
    "count": len,
}


def mean_success(scores: Iterable[Score]) -> dict[Trained, float]:
    """The budgeted success of each model, averaged over the steps of the budget."""
    return {
        model: fmean(score.success for score in members)
        for model, members in _by_model(scores).items()
    }


def find_collapses(scores: Iterable[Score]) -> dict[Trained, str]:
    """The collapse of each model to one length; empty where its length follows the budget."""
    return {
        model: find_collapse({score.seconds: score.tokens for score in members})
        for model, members in _by_model(scores).items()
    }


def _by_model(scores: Iterable[Score]) -> dict[Trained, list[Score]]:
    graded = [score for score in scores if score.exam == "graded"]
    models: dict[Trained, list[Score]] = {}
    for score in graded:
        models.setdefault((score.fraction, score.seed, score.model), []).append(score)
    return models
