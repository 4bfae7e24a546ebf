"""From the rows of episodes to cells: one result row for each group of episodes and metric."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from timeful.metrics.statistics import Estimate
from timeful.reports.estimate import Estimator
from timeful.reports.metric import Metric
from timeful.reports.published import Reference
from timeful.reports.results import ResultRow, Scalar, Where

Groups = Callable[[Any], Iterable[Where]]
"""The cells that an episode's row belongs to: mostly one, identified by values of its columns."""

Levels = Mapping[str, Sequence[Scalar] | Callable[[Any], float]]
"""The order of the values of a column in tables and results: the values, or a sort key.

Unknown values follow, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellName:
    """How a result row names its cell."""

    experiment: str
    setting: str
    method: str


Naming = Callable[[Where], CellName]


def group_rows(
    rows: Iterable[Any], groups: Groups, levels: Levels
) -> list[tuple[Where, list[Any]]]:
    """Group rows by cell, cells in the order of the levels of their columns."""
    cells: dict[tuple[tuple[str, Scalar], ...], list[Any]] = {}
    for row in rows:
        for where in groups(row):
            cells.setdefault(tuple(where.items()), []).append(row)
    ordered = sorted(cells, key=lambda key: [level_order(levels, *pair) for pair in key])
    return [(dict(key), cells[key]) for key in ordered]


def with_margins(cells: Iterable[Where], margins: Sequence[str]) -> Iterator[Where]:
    """Cells, and those over all values of each margin column: they lack that column."""
    for where in cells:
        for count in range(len(margins) + 1):
            for dropped in combinations(margins, count):
                yield {name: value for name, value in where.items() if name not in dropped}


def level_order(levels: Levels, column: str, value: Scalar) -> tuple[int, float, str]:
    """The position of a value among the values of its column."""
    levels_of_column = levels.get(column, ())
    if value is None:  # the margin
        return -1, 0.0, ""
    if callable(levels_of_column):
        return 0, levels_of_column(value), str(value)
    order = list(levels_of_column)
    if value in order:
        return order.index(value), 0.0, ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return len(order), float(value) if is_number else 0.0, "" if is_number else str(value)


def make_cells(
    rows: Sequence[Any],
    *,
    suite: str,
    metrics: Sequence[Metric],
    groups: Groups,
    levels: Levels,
    estimator: Estimator,
    naming: Naming,
    reference: Reference,
) -> list[ResultRow]:
    """Compute all cells of a suite, and list the published numbers that are not compared.

    Args:
        rows: The rows of the episodes, with a column `status`, in a fixed order.
        suite: The name of the suite.
        metrics: The metrics of each cell.
        groups: The cells of an episode.
        levels: The order of cells.
        estimator: Computes metrics of a cell.
        naming: The names of a cell.
        reference: The published numbers.
    """
    cells = []
    metrics = [metric for metric in metrics if metric.value]
    for where, members in group_rows(rows, groups, levels):
        completed = [row for row in members if row.status == "ok"]
        estimates = estimator(metrics, completed, where) if completed else {}
        for metric in metrics:
            cells.append(
                make_cell(
                    estimates.get(metric.name),
                    suite=suite,
                    metric=metric.name,
                    where=where,
                    name=naming(where),
                    members=members,
                    reference=reference,
                )
            )
    return cells + list_not_run(reference, suite=suite, naming=naming)


def make_cell(
    estimate: Estimate | None,
    *,
    suite: str,
    metric: str,
    where: Where,
    name: CellName,
    members: Sequence[Any],
    reference: Reference,
) -> ResultRow:
    """Make the result row of one estimate; without an estimate its value is None."""
    published = reference.number(where, metric)
    failed = sum(row.status == "failed" for row in members)
    return ResultRow(
        suite=suite,
        experiment=name.experiment,
        setting=name.setting,
        method=name.method,
        metric=metric,
        value=estimate.mean if estimate else None,
        low=estimate.low if estimate else None,
        high=estimate.high if estimate else None,
        n=estimate.n if estimate else len(members) - failed,
        published=published.value if published else None,
        source=published.source if published else None,
        stand_in=any(getattr(row, "stand_in", False) for row in members),
        spread=estimate.spread if estimate else None,
        where=dict(where),
        failed=failed,
    )


def list_not_run(reference: Reference, *, suite: str, naming: Naming) -> list[ResultRow]:
    """The published numbers that are listed as not run, as rows without a value."""
    rows = []
    for number in reference.numbers:
        if number.is_listed:
            where = {"model": number.model, **number.where}
            name = naming(where)
            rows.append(
                ResultRow(
                    suite=suite,
                    experiment=name.experiment,
                    setting=name.setting,
                    method=name.method,
                    metric=number.metric,
                    published=number.value,
                    source=number.source,
                    spread=number.spread,
                    where=where,
                )
            )
    return rows
