"""The cells, tables and figures of an embedded run, as declarations for the report layer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from timeful.metrics.statistics import Estimate
from timeful.reports.cube import CellName, list_not_run, make_cells, with_margins
from timeful.reports.estimate import ClusterBootstrap
from timeful.reports.figure import Lines
from timeful.reports.metric import Metric, read_column
from timeful.reports.published import Reference, load_reference
from timeful.reports.results import ResultRow, Scalar, Where
from timeful.reports.table import Context, Table
from timeful.training.quick.answers import Answer, find_collapses
from timeful.training.quick.claims import (
    SeedClaim,
    comparable_budgets,
    is_comparable,
    one_lengths,
    without_clock,
)
from timeful.training.quick.plan import SUITE, QuickRun
from timeful.training.quick.recipe import BASE

METRICS = (
    Metric("success", "success", digits=3),
    Metric("accuracy", "accuracy", digits=3),
    Metric("on_time", "on_time", digits=3),
    Metric("tokens", "tokens", digits=1, better=""),
)
AFTER = Metric("after", "after", digits=1, better="")
ASKED = Metric("asked", "has_reading", digits=3, better="")
COLLAPSED = Metric("collapsed", "value", digits=2, better="lower")
ON_TIME_PERCENT = Metric("on time, %", "on_time", digits=1)

MARGINS = ("budget", "seed")
_OVER_SEEDS = ClusterBootstrap(
    cluster="model", repetition="seed", purpose=("training", "bootstrap"), resamples=10_000
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A number of one seed that is not a mean over its answers."""

    exam: str
    fraction: float | None = None
    seed: int
    model: str
    value: float
    status: str = "ok"
    stand_in: bool = True


@dataclass(frozen=True, slots=True)
class View:
    """A table of the timer: one metric of the answers with a value in a column, over that column.

    `name` is that of the experiment in results.
    """

    name: str
    title: str
    metric: Metric
    column: str
    value: Callable[[Answer], Scalar]

    def groups(self, answer: Answer) -> list[Where]:
        """The cell of an answer."""
        return [_where(self.name, answer, {self.column: self.value(answer)})]


def make_all_cells(
    run: QuickRun, answers: Sequence[Answer], *, claims: Sequence[SeedClaim]
) -> list[ResultRow]:
    """Compute all cells: by budget, over seeds and of length seed; claims; published numbers."""
    context, cells = make_context(run), list[ResultRow]()
    naming = partial(name_cell, context=context)

    def add(rows: Sequence[Any], metrics: Sequence[Metric], groups: Callable[[Any], Any]) -> None:
        cells.extend(
            make_cells(
                rows,
                suite=SUITE,
                metrics=metrics,
                groups=groups,
                levels=context.levels,
                estimator=estimate,
                naming=naming,
                reference=Reference(),
            )
        )

    add([a for a in answers if a.exam != "misled"], METRICS, _by_budget)
    collapses = [
        Outcome(exam="graded", fraction=fraction, seed=seed, model=model, value=bool(alarm))
        for (fraction, seed, model), alarm in find_collapses(answers).items()
    ]
    add(collapses, [COLLAPSED], lambda row: with_margins(_of_seed(row), ["seed"]))
    add(list(_limits(run, answers)), [Metric("success", "value", digits=3)], _of_seed)
    for claim in claims:
        rows = [
            Outcome(exam="claim", seed=s, model=claim.model, value=s in claim.confirmed)
            for s in claim.seeds
        ]
        add(rows, [Metric(f"seeds: {claim.name}", "value")], lambda row: [_where("claim", row, {})])
    for view in views(run):
        members = [answer for answer in answers if view.value(answer) is not None]
        add(members, [view.metric], view.groups)
    if run.fractions:
        return cells
    return cells + list_not_run(context.reference, suite=SUITE, naming=naming)


def _where(exam: str, row: Any, columns: Where) -> dict[str, Scalar]:
    fraction = {} if row.fraction is None else {"fraction": row.fraction}
    return {"exam": exam, **fraction, "model": row.model, **columns}


def _by_budget(answer: Answer) -> Iterator[Where]:
    where = _where(answer.exam, answer, {"budget": answer.budget, "seed": answer.seed})
    return with_margins([where], MARGINS)


def _of_seed(outcome: Outcome) -> list[Where]:
    return [_where(outcome.exam, outcome, {"seed": outcome.seed})]


def _limits(run: QuickRun, answers: Sequence[Answer]) -> Iterator[Outcome]:
    if run.fractions:
        return
    if run.recipe.language.opening:
        limits = [("no clock", *limit) for limit in without_clock(run, answers).items()]
    else:
        best = one_lengths(run, answers)
        limits = [
            (f"always {length.tokens} tokens", length.seed, length.success) for length in best
        ]
    for model, seed, value in limits:
        yield Outcome(exam="graded", seed=seed, model=model, value=value)


def estimate(metrics: Sequence[Metric], rows: Sequence[Any], where: Where) -> dict[str, Estimate]:
    """Means over seeds with intervals; of one seed, the mean over its answers without one."""
    if "seed" not in where:
        return _OVER_SEEDS(metrics, rows, where)
    means = {metric.name: fmean(read_column(rows, metric.value)) for metric in metrics}
    return {
        name: Estimate(mean=mean, low=None, high=None, n=len(rows), clusters=1)
        for name, mean in means.items()
    }


def name_cell(where: Where, context: Context) -> CellName:
    """The names of a cell in `results.json`."""
    exam, fraction, seed = where["exam"], where.get("fraction"), where.get("seed")
    column = next((name for name in _COLUMNS if name in where), "")
    if column:
        setting = context.label(column, where[column])
    else:
        setting = f"budget {where['budget']}" if "budget" in where else "all budgets"
    return CellName(
        experiment=str(exam) + (f"/fraction {fraction:g}" if fraction is not None else ""),
        setting=setting + (f", seed {seed}" if seed is not None else ""),
        method=str(where["model"]),
    )


_COLUMNS = ("clock", "alpha", "scale", "problems")


def views(run: QuickRun) -> list[View]:
    """The tables of the timer; none without one."""
    recipe, language = run.recipe, run.recipe.language
    if not language.opening:
        return []
    factors = [f"{factor:g}x" for factor in recipe.factors]
    comparable = comparable_budgets(recipe)
    shared = [
        n
        for n in language.budgets
        if all(n / device in language.allowed for device in language.devices)
    ]
    budgets = {
        (recipe.budget(int(n / device)), device) for n in shared for device in language.devices
    }

    steps = ", ".join(map(str, shared)) or "no"
    tokens, on_time = METRICS[3], METRICS[2]

    def scale(answer: Answer) -> Scalar:
        return answer.scale if is_comparable(answer, comparable) else None

    rows: tuple[tuple[str, str, Metric, str, Callable[[Answer], Scalar]], ...] = (
        (
            *("clock", "After the clock, by its reading", AFTER, "clock"),
            lambda a: a.clock if a.exam == "graded" else None,
        ),
        (
            *("device", f"At {factors[0]}, by device", on_time, "alpha"),
            lambda a: a.alpha if a.budget == factors[0] else None,
        ),
        (
            *("same budget", f"Told {steps} tokens, by device", tokens, "alpha"),
            lambda a: a.alpha if a.exam == "graded" and (a.budget, a.alpha) in budgets else None,
        ),
        (
            *("asked", "How often the timer is asked", ASKED, "problems"),
            lambda a: {"graded": "in turn", "hurried": a.budget}.get(a.exam),
        ),
        ("misled, after", "After a timer of this speed", AFTER, "scale", scale),
        ("misled, on time", "With a timer of this speed", on_time, "scale", scale),
    )
    return [View(*row) for row in rows]


def make_context(run: QuickRun) -> Context:
    """The order and the names of values in tables, and the published numbers."""
    recipe, language = run.recipe, run.recipe.language
    factors = [f"{factor:g}x" for factor in recipe.factors]
    budgets = {recipe.budget(tokens): f"{tokens} tokens" for tokens in language.allowed}
    models = [BASE, *(arm.name for arm in recipe.arms)]
    labels: Mapping[str, Mapping[Any, str]] = {
        "budget": {**budgets, None: "mean"},
        "clock": {k: f"{k}/8" for k in range(9)},
        "alpha": {alpha: f"x{alpha:g}" for alpha in language.devices},
        "scale": {scale: f"x{scale:g}" for scale in (1.0, *recipe.lies)},
    }
    reference = load_reference(Path(__file__).with_name("published.toml"))
    if language.opening:
        numbers = tuple(n for n in reference.numbers if n.where["exam"] == "Table 3")
        reference = Reference(numbers=numbers)
    metrics = (*METRICS, AFTER, ASKED, COLLAPSED, ON_TIME_PERCENT)
    return Context(
        metrics={metric.name: metric for metric in metrics},
        labels=labels,
        levels={
            "exam": ("graded", "hurried"),
            "model": models,
            "budget": [*budgets, *factors],
            "problems": ["in turn", *factors],
        },
        reference=reference,
        margins=MARGINS,
    )


_GRADED, _HURRIED = {"exam": "graded"}, {"exam": "hurried"}
_ROWS = ("model", "fraction")


def tables(run: QuickRun) -> list[Table]:
    """The tables over seeds, the published ones, and those of each seed."""
    seeds: dict[str, Any] = {"title": "Each seed", "without": {"seed": None}}
    return [
        Table("By budget", _ROWS, "budget", ("success", "accuracy", "tokens"), where=_GRADED),
        Table("By multiple of the cold start's time", _ROWS, "budget", _LATE, where=_HURRIED),
        *(
            Table(view.title, "model", view.column, (view.metric.name,), where={"exam": view.name})
            for view in views(run)
        ),
        Table("Tokens do not follow the budget", _ROWS, "metric", ("collapsed",), where=_GRADED),
        *(
            Table(
                f"{source}, another model and task",
                "model",
                "budget",
                metrics,
                where={"exam": source.rpartition(", ")[2]},
                is_published=True,
            )
            for source, metrics in _PUBLISHED.items()
        ),
        Table(rows=(*_ROWS, "seed"), columns="budget", metrics=_SEED, where=_GRADED, **seeds),
        Table(rows=(*_ROWS, "seed"), columns="budget", metrics=_LATE[:1], where=_HURRIED, **seeds),
        Table(rows=_ROWS, columns="seed", metrics=("collapsed",), where=_GRADED, **seeds),
    ]


_SEED, _LATE = ("success", "tokens"), ("on_time", "success", "tokens")
_PUBLISHED = {
    "Engagement Process, Table 25": ("success", "tokens"),
    "Timely Machine, Table 3": ("on time, %",),
}


def figures(run: QuickRun) -> list[Lines]:
    """The figures; those of the timer have no cells without one."""
    panel = "fraction" if run.fractions else ""
    declared = [
        ("budgets-success", "budget", "success", "graded", panel, "Success in time by budget"),
        ("budgets-tokens", "budget", "tokens", "graded", panel, "Tokens by budget"),
        ("clock", "clock", "after", "clock", "", "Tokens after the clock was shown"),
        ("misled", "scale", "after", "misled, after", "", "Tokens after a clock of a wrong scale"),
    ]
    caption = "With 95 % intervals over seeds."
    return [
        Lines(
            x=x,
            y=y,
            hue="model",
            panel=panel,
            where={"exam": exam},
            name=name,
            title=title,
            caption=caption,
        )
        for name, x, y, exam, panel, title in declared
    ]
