"""Figures 2, 3 and 4 of the Timely Machine: what a larger budget brings.

This module imports matplotlib, so import it only when a figure is to be drawn. The same cells
give the same bytes. What is published was printed as pictures only, so there is nothing of it to
draw beside ours.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from timeful.reports.style import OTHER, WIDTH, style, to_svg
from timeful.suites.timely.numbers import (
    HEADLINE,
    TOKENS,
    Cell,
    Measure,
    budgets_of,
    latency_order,
)

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito, safe for colour-blind readers."""

_MARKERS = ("o", "s", "^", "D", "v", "P")
_SECOND = 1e9
_ROW, _EDGE = 2.5, 1.15  # inches: a row of panels, and what stands below all of them


def score_by_time(cells: Sequence[Cell]) -> str | None:
    """Draw scores of games against seconds, a row for each latency, a column for each game.

    After Figure 2. Budgets are steps of one's own, so that the same number of steps is another
    time for each player; what is drawn is the time.

    Returns:
        The SVG, or None if no game was played under a budget.
    """
    games = [cell for cell in cells if cell.family == "fiction" and _budgets(cell)]
    if not games:
        return None
    columns = list(dict.fromkeys(cell.group for cell in games))
    rows = sorted({cell.latency for cell in games}, key=latency_order)
    with style():
        figure, panels = _grid(len(rows), len(columns))
        for line, latency in zip(panels, rows, strict=True):
            for axes, game in zip(line, columns, strict=True):
                mine = [c for c in games if (c.latency, c.group) == (latency, game)]
                for cell in mine:
                    points = [(_span(cell, budget), budget) for budget in _budgets(cell)]
                    _plot(axes, cell, HEADLINE["fiction"], points, _place(games, cell.who))
                _seconds_axis(axes, {_span(cell, b) for cell in mine for b in _budgets(cell)})
                axes.set_title(f"{game}, latency {latency}")
            line[0].set_ylabel("points")
        return _finish(figure, games, "time budget in seconds")


def length_by_budget(cells: Sequence[Cell]) -> str | None:
    """Draw the tokens of reasoning against the budget, a panel for each set (Figure 3).

    Returns:
        The SVG, or None if there is no reasoning under a budget.
    """
    mine = [cell for cell in cells if cell.family == "reasoning" and _budgets(cell)]
    return _by_name(mine, TOKENS) if mine else None


def value_by_budget(cells: Sequence[Cell]) -> str | None:
    """Draw how good the work is against the budget, for ML tasks and games (Figure 4).

    Of games, only those without latency; `score_by_time` has the others.

    Returns:
        The SVG, or None if there is neither under a budget.
    """
    mine = [cell for cell in cells if cell.family != "reasoning" and _budgets(cell)]
    least = min((latency_order(cell.latency) for cell in mine), default=None)
    mine = [c for c in mine if c.family == "coding" or latency_order(c.latency) == least]
    return _by_name(mine, None) if mine else None


_UNITS = {"fiction": "points", "coding": "accuracy in %"}


def _by_name(cells: Sequence[Cell], measure: Measure | None) -> str:
    """Panels over budgets by their names, which stand at even distances."""
    groups = list(dict.fromkeys((cell.family, cell.group) for cell in cells))
    width = min(4, len(groups))
    with style():
        figure, panels = _grid(-(-len(groups) // width), width)
        places = [axes for line in panels for axes in line]
        for axes, key in zip(places, groups, strict=False):
            mine = [cell for cell in cells if (cell.family, cell.group) == key]
            names = [name for name in budgets_of(mine) if name != "none"]
            for cell in mine:
                points = [(float(names.index(name)), name) for name in _budgets(cell)]
                shown = measure or HEADLINE[cell.family]
                _plot(axes, cell, shown, points, _place(cells, cell.who))
            axes.set_xticks(range(len(names)), names)
            axes.set_xlim(-0.45, len(names) - 0.55)
            axes.set_title(key[1])
            if axes in [line[0] for line in panels]:
                axes.set_ylabel(_UNITS[key[0]] if measure is None else measure.name)
        for axes in places[len(groups) :]:
            axes.set_visible(False)
        return _finish(figure, cells, "budget")


# --- parts ----------------------------------------------------------------------------------------


def _budgets(cell: Cell) -> list[str]:
    return [budget for budget in budgets_of([cell]) if budget != "none"]


def _span(cell: Cell, budget: str) -> float:
    """How long a budget is, in seconds; a mean over cases."""
    return fmean(row.budget_ns or 0 for row in cell.rows if row.budget == budget) / _SECOND


def _place(cells: Iterable[Cell], who: str) -> int:
    return sorted({cell.who for cell in cells}).index(who)


def _grid(rows: int, columns: int) -> tuple[Figure, Sequence[Sequence[Axes]]]:
    height = _ROW * rows + _EDGE
    figure = Figure(figsize=(WIDTH, height))
    panels = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=0.065,
        right=0.99,
        top=1 - 0.4 / height,
        bottom=_EDGE / height,
        wspace=0.2,
        hspace=0.45,
    )
    return figure, [list(line) for line in panels]


def _plot(
    axes: Axes, cell: Cell, measure: Measure, points: Sequence[tuple[float, str]], place: int
) -> None:
    colour = _COLOURS[place % len(_COLOURS)]
    found = [(x, cell.number(measure, budget=budget)) for x, budget in points]
    shown = [(x, number) for x, number in found if number is not None]
    axes.plot(
        [x for x, _ in shown],
        [number.mean for _, number in shown],
        color=colour,
        marker=_MARKERS[place % len(_MARKERS)],
        markersize=6,
        linewidth=2,
        zorder=3,
    )
    for x, number in shown:
        if number.low is not None and number.high is not None:
            axes.plot([x, x], [number.low, number.high], color=colour, linewidth=1.4, zorder=2)
    axes.grid(axis="y", color=OTHER, alpha=0.25, linewidth=0.8)
    axes.set_axisbelow(True)


def _short(span: float) -> str:
    return f"{span:.0f}" if span >= 100 else f"{span:.3g}"


def _seconds_axis(axes: Axes, spans: set[float]) -> None:
    """A logarithmic axis that names the spans that were run."""
    axes.set_xscale("log")
    axes.set_xticks(sorted(spans), [_short(span) for span in sorted(spans)])
    axes.set_xticks([], minor=True)


def _finish(figure: Figure, cells: Sequence[Cell], label: str) -> str:
    for axes in figure.axes:  # when all is drawn: an axis that was set adapts no more
        low, high = min(0.0, axes.get_ylim()[0]), axes.get_ylim()[1]
        # A margin of all that is shown, or a marker near the top is cut where 0 is far below.
        axes.set_ylim(low, max(high, low + 1.06 * (axes.dataLim.y1 - low)))
    height = figure.get_figheight()
    figure.supxlabel(label, y=0.52 / height, fontsize=12)
    stand_ins = {cell.who: cell.stand_in for cell in cells}
    handles = [
        Line2D(
            [],
            [],
            color=_COLOURS[place % len(_COLOURS)],
            marker=_MARKERS[place % len(_MARKERS)],
            linewidth=2,
            label=f"{who} (stand-in)" if stand_ins[who] else who,
        )
        for place, who in enumerate(sorted(stand_ins))
    ]
    figure.legend(handles=handles, loc="lower center", ncols=min(5, len(handles)), fontsize=11)
    return to_svg(figure)
