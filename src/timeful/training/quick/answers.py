"""The graded answers of all models, and their means by model, seed and budget."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean

import msgspec

from timeful.metrics.budgets import right_in_time
from timeful.training.collapse_detection import find_collapse
from timeful.training.quick.plan import QuickRun
from timeful.training.quick.rows import read_rows
from timeful.training.quick.steps import EXAMS, Step

Trained = tuple[float | None, int, str]
"""A trained model: its cold start fraction, its seed and its name."""


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
    error: str | None = None

    @property
    def trained(self) -> Trained:
        """The model that gave the answer."""
        return self.fraction, self.seed, self.model

    @property
    def has_reading(self) -> bool:
        """Whether the timer was asked."""
        return self.clock is not None


def read_answers(run: QuickRun, out: Path) -> list[Answer]:
    """All answers that were graded.

    Raises:
        RecordError: If a file of them cannot be read.
    """
    return [answer for step in run.exams(out) if step.is_done for answer in _answers(step)]


def _answers(step: Step) -> Iterator[Answer]:
    recipe, exam = step.recipe, EXAMS[step.kind]
    for row in read_rows(step.result):
        budget = row.budget
        if recipe.language.opening and exam != "hurried":
            budget = recipe.budget(row.room(recipe.language.pace))
        yield Answer(
            fraction=step.fraction,
            seed=step.seed,
            model=step.model_name,
            exam=exam,
            budget=budget,
            budget_ns=row.budget_ns or 0,
            alpha=row.alpha,
            scale=row.scale,
            clock=row.clock,
            tokens=row.tokens,
            after=row.after,
            on_time=row.is_on_time,
            success=right_in_time(row),
            accuracy=row.value,
            status=row.status,
            error=row.error,
        )


def mean_success(answers: Iterable[Answer]) -> dict[Trained, float]:
    """The budgeted success of each model, averaged over the steps of the budget."""
    return {
        model: fmean(fmean(answer.success for answer in same) for same in budgets.values())
        for model, budgets in _by_budget(answers).items()
    }


def find_collapses(answers: Iterable[Answer]) -> dict[Trained, str]:
    """The collapse of each model to one length; empty where its length follows the budget."""
    return {
        model: find_collapse(
            {
                fmean(answer.budget_ns for answer in same): fmean(a.tokens for a in same)
                for same in budgets.values()
            }
        )
        for model, budgets in _by_budget(answers).items()
    }


def _by_budget(answers: Iterable[Answer]) -> dict[Trained, dict[str, list[Answer]]]:
    """The completed answers of each model under the steps of the budget, by that step."""
    models: dict[Trained, dict[str, list[Answer]]] = {}
    for answer in answers:
        if answer.exam == "graded" and answer.status == "ok":
            budgets = models.setdefault(answer.trained, {})
            budgets.setdefault(answer.budget, []).append(answer)
    return models
