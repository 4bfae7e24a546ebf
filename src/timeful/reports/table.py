"""Tables: a declaration of rows and columns, laid out as grids of cells."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from timeful.reports.cube import Levels, level_order
from timeful.reports.metric import Metric
from timeful.reports.page import Entry, Grid, Row, Tone
from timeful.reports.published import Published, Reference
from timeful.reports.results import ResultRow, Scalar, Where

Labels = Mapping[str, Mapping[Any, str]]
"""The names of values in tables, by column; a value without a name is shown as it is."""


@dataclass(frozen=True, slots=True, kw_only=False)
class Table:
    """A table of cells: one grid for each combination of the values of `split_by`.

    Attributes:
        title: The title of each grid.
        rows: The column, or columns, whose values are the rows.
        columns: The column whose values are the columns, or "metric".
        metrics: The names of the metrics shown; all that are not further ones if none is given.
        split_by: The columns of which each combination of values has a grid of its own.
        where: Only cells with these values.
        without: No cells with these values; None is the margin of a column.
        is_published: Whether the table shows the published numbers that were not run here.
    """

    title: str
    rows: str | tuple[str, ...]
    columns: str = "metric"
    metrics: tuple[str, ...] = ()
    split_by: tuple[str, ...] = ()
    where: Where = field(default_factory=dict)
    without: Where = field(default_factory=dict)
    is_published: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns whose values are the rows."""
        return (self.rows,) if isinstance(self.rows, str) else self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts of a suite that every table and figure needs.

    Attributes:
        metrics: By name.
        labels: The names of values.
        levels: The order of values.
        reference: The published numbers and bands.
        margins: The columns over whose values there are cells too.
        columns: The columns of episodes: numbers link to the episodes with a cell's values in them.
    """

    metrics: Mapping[str, Metric]
    labels: Labels
    levels: Levels
    reference: Reference
    margins: tuple[str, ...] = ()
    columns: Collection[str] = ()

    def locate(self, cell: ResultRow) -> tuple[tuple[str, Scalar], ...]:
        """The values of the episodes of a cell; none for a number without episodes, an optimum."""
        if not cell.n and not cell.failed:
            return ()
        return tuple(pair for pair in cell.where.items() if pair[0] in self.columns)

    def label(self, column: str, value: Scalar) -> str:
        """The name of a value."""
        if value in self.labels.get(column, {}):
            return self.labels[column][value]
        if value is None:
            return "all"
        return f"{value:g}" if isinstance(value, float) else str(value)

    def title(self, where: Where) -> str:
        """The names of several values; a value without a label keeps the name of its column."""
        return ", ".join(
            self.label(column, value)
            if isinstance(value, str | None) or column in self.labels
            else f"{column} {self.label(column, value)}"
            for column, value in where.items()
        )

    def ordered(self, column: str, cells: Sequence[ResultRow]) -> list[Scalar]:
        """The values of a column in some cells, in order."""
        values = list(dict.fromkeys(cell.where.get(column) for cell in cells))

        def position(value: Scalar) -> tuple[int, float, int]:
            level, number, _ = level_order(self.levels, column, value)
            return level, number, values.index(value)

        return sorted(values, key=position)

    def select_margins(self, cells: Sequence[ResultRow], columns: Sequence[str]) -> list[ResultRow]:
        """Take the margin of each margin column that is not among the columns shown.

        Of a column that is shown, the margin is left out where there is one other value only.
        """
        selected = list(cells)
        for name in self.margins:
            if name not in columns:
                selected = [cell for cell in selected if name not in cell.where]
            elif len({cell.where.get(name) for cell in selected} - {None}) == 1:
                selected = [cell for cell in selected if name in cell.where]
        return selected


def lay_out(table: Table, cells: Sequence[ResultRow], context: Context) -> list[Grid]:
    """Lay out a table; no grid if no cell belongs to it."""
    metrics = table.metrics or tuple(
        metric.name for metric in context.metrics.values() if not metric.is_further
    )
    visible = [
        cell
        for cell in cells
        if (cell.stand_in is None) == table.is_published
        and cell.metric in metrics
        and cell.matches(table.where)
        and not (table.without and cell.matches(table.without))
    ]
    if not table.is_published:
        columns = (*table.keys, table.columns, *table.split_by, *table.where)
        visible = context.select_margins(visible, columns)
    return [
        grid
        for where in distinct(visible, table.split_by)
        if (members := [cell for cell in visible if cell.matches(where)])
        for grid in _grids(table, members, where, metrics, context)
    ]


def distinct(cells: Sequence[ResultRow], columns: Sequence[str]) -> list[dict[str, Scalar]]:
    """The combinations of values of some columns, in order of appearance."""
    return [
        dict(zip(columns, values, strict=True))
        for values in dict.fromkeys(tuple(cell.where.get(c) for c in columns) for cell in cells)
    ]


def _grids(
    table: Table,
    cells: Sequence[ResultRow],
    where: Where,
    metrics: Sequence[str],
    context: Context,
) -> list[Grid]:
    if table.columns == "metric":
        return [_grid(table, cells, where, {name: {} for name in metrics}, metrics, context)]
    grids = []
    for metric in metrics:
        members = [cell for cell in cells if cell.metric == metric]
        if members:
            columns = {
                context.label(table.columns, value): {table.columns: value}
                for value in context.ordered(table.columns, members)
            }
            names = [metric] * len(columns)
            grids.append(_grid(table, members, where, columns, names, context))
    return grids


def _grid(
    table: Table,
    cells: Sequence[ResultRow],
    where: Where,
    columns: Mapping[str, Where],
    metrics: Sequence[str],
    context: Context,
) -> Grid:
    first, *further_keys = table.keys
    keys = (first, *(key for key in further_keys if len(distinct(cells, (key,))) > 1))
    counts = Counter(cell.n for cell in cells if cell.value is not None)
    usual = max(counts, key=lambda n: (counts[n], n), default=0)
    rows: list[Row] = []
    for row in distinct(cells, keys):
        entries = [
            next((c for c in cells if c.metric == m and c.matches({**row, **column})), None)
            for column, m in zip(columns.values(), metrics, strict=True)
        ]
        label = context.title(row)
        rows.append((label, *(format_ours(cell, table, usual, context) for cell in entries)))
        published = [
            None if cell is None else context.reference.number(cell.where, cell.metric)
            for cell in entries
        ]
        if not table.is_published and any(published):
            digits = [context.metrics[m].digits for m in metrics]
            rows.append(
                (
                    Entry("  published", tone="quiet"),
                    *(format_published(p, d) for p, d in zip(published, digits, strict=True)),
                )
            )
    one_metric = metrics[0] if table.columns != "metric" else ""
    title = ": ".join(p for p in (table.title, context.title(where), one_metric) if p)
    return Grid(
        caption=f"{title} (n={usual})" if usual else title,
        head=(", ".join(keys), *columns),
        rows=tuple(rows),
    )


def format_ours(cell: ResultRow | None, table: Table, usual: int, context: Context) -> Entry:
    """A number of ours: its interval, and in small print its spread, band and failures."""
    if cell is None:
        return Entry("")
    if table.is_published and cell.published is not None:
        digits = context.metrics[cell.metric].digits
        deviation = "" if cell.spread is None else f"±{cell.spread:.{digits}f}"
        return Entry(f"{cell.published:.{digits}f}", deviation, tone="quiet")
    if cell.value is None:
        return (
            Entry("failed", tone="alarm", where=context.locate(cell))
            if cell.failed and not cell.n
            else Entry("-")
        )
    digits = context.metrics[cell.metric].digits
    text = f"{cell.value:.{digits}f}"
    if cell.half_width is not None:
        text += f"±{cell.half_width:.{digits}f}".replace("±0.", "±.")
    small = []
    if cell.half_width is None and cell.spread is not None:
        text += f"±{cell.spread:.{digits}f}".replace("±0.", "±.")
    elif cell.spread is not None:
        small.append(f"spread {cell.spread:.{digits}f}")
    if cell.n != usual:
        small.append(f"n={cell.n}")
    if cell.failed:
        small.append(f"{cell.failed} failed")
    band = context.reference.band(cell)
    if band is None:
        return Entry(text, ", ".join(small), "strong", where=context.locate(cell))
    is_inside = band.holds(cell.value)
    small.append(f"{'in' if is_inside else 'outside'} {band}")
    tone: Tone = "strong" if is_inside else "alarm"
    return Entry(text, ", ".join(small), tone, where=context.locate(cell))


def format_published(published: Published | None, digits: int) -> Entry:
    """A published number with its half-width."""
    if published is None:
        return Entry("")
    text = f"{published.value:.{digits}f}"
    if published.half_width:
        text += f"±{published.half_width:.{digits}f}".replace("±0.", "±.")
    return Entry(text, tone="quiet")
