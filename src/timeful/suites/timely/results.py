"""All numbers of Timely-Eval as rows of the shape that all suites share, the published ones too."""

from collections.abc import Iterable, Sequence

from timeful.reports.results import ResultRow
from timeful.suites.timely.numbers import ALL, HEADLINE, HURRY, MEASURES, Cell, Measure, budgets_of
from timeful.suites.timely.published import (
    ABLATION,
    COLUMNS,
    HURRIED,
    ON_TIME,
    SCORES,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    column_of,
    published_model,
)
from timeful.suites.timely.spec import NAME
from timeful.tasks.episode import FAMILIES, Family


def result_rows(cells: Sequence[Cell]) -> list[ResultRow]:
    """All numbers as rows of the shape that all suites share, and the published ones."""
    families = [family for family in FAMILIES if any(cell.family == family for cell in cells)]
    return [
        *(row for cell in cells for row in _ours(cell)),
        *(row for family in families for row in _published(family)),
    ]


def _ours(cell: Cell) -> Iterable[ResultRow]:
    budgets = budgets_of([cell])
    for measure in MEASURES[cell.family]:
        for budget in (None, *budgets):
            found = cell.number(measure, budget=budget)
            theirs = _beside(cell, measure, budget)
            yield ResultRow(
                suite=NAME,
                experiment=f"{cell.family}/{cell.group}",
                setting=f"latency {cell.latency}, budget {budget or ALL}",
                method=cell.who,
                metric=measure.name,
                value=None if found is None else found.mean,
                low=None if found is None else found.low,
                high=None if found is None else found.high,
                n=0 if found is None else found.n,
                published=theirs,
                source=None if theirs is None else TABLE_1 if budget is None else TABLE_2,
                stand_in=cell.stand_in,
            )


def _beside(cell: Cell, measure: Measure, budget: str | None) -> float | None:
    """What was published of the same model on the same benchmark; of a stand-in, nothing."""
    column = column_of(cell.family, cell.group)
    model = None if cell.stand_in else published_model(cell.who)
    if column is None or model is None:
        return None
    if budget is None and measure is HEADLINE[cell.family]:
        return SCORES[model][column.name]
    if budget == HURRY:
        return HURRIED.get(model, {}).get((column.name, measure.name))
    return None


def _published(family: Family) -> Iterable[ResultRow]:
    """The numbers of the paper, of models that were not run here."""
    names = [column.name for column in COLUMNS if column.family == family]
    for model, row in SCORES.items():
        for name in names:
            yield _not_run(family, model, name, HEADLINE[family].name, row[name], TABLE_1)
    if family == "reasoning":
        for model, hurried in HURRIED.items():
            for (name, what), value in hurried.items():
                yield _not_run(family, model, name, what, value, TABLE_2)
        for method, ablation in ABLATION.items():
            for name, value in ablation.items():
                yield _not_run(family, method, name, ON_TIME, value, TABLE_3)


def _not_run(
    family: Family, model: str, column: str, metric: str, published: float, source: str
) -> ResultRow:
    return ResultRow(
        suite=NAME,
        experiment=f"{family}/{column}",
        setting=f"budget {HURRY if source != TABLE_1 else ALL}",
        method=model,
        metric=metric,
        value=None,
        low=None,
        high=None,
        n=0,
        published=published,
        source=source,
        stand_in=None,
    )
