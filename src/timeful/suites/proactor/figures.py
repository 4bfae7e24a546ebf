"""Two figures: the consistency-timing trade-off over thresholds, and what a slow model loses.

This module imports matplotlib, so import it only when a figure is to be drawn. The same cells
give the same bytes.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeful.metrics.proactor.spread import Spread
from timeful.reports.style import OTHER, WIDTH, style, to_svg
from timeful.suites.proactor.numbers import COLUMNS, Cell, curve_cells, timed_cells
from timeful.suites.proactor.published import Published

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito, safe for colour-blind readers."""

_MARKERS = ("o", "s", "^", "D", "v", "P")
_HEIGHT = 4.6


def trade_off(cells: Sequence[Cell], published: Sequence[Published]) -> str | None:
    """Draw the metrics against the threshold, and consistency against timing.

    Returns:
        The SVG, or None if fewer than three thresholds were played.
    """
    mine = [cell for cell in curve_cells(cells) if cell.numbers["pt"] is not None]
    if len(mine) < 3:
        return None
    with style():
        figure, (left, right) = _panels()
        for place, name in enumerate(name for name in COLUMNS if name != "difference"):
            found = [(cell.threshold, cell.numbers[name]) for cell in mine]
            points = [(x, number.mean) for x, number in found if number is not None]
            if points:
                left.plot(*zip(*points, strict=True), label=COLUMNS[name], **_look(place))
        left.set_xlabel("threshold of the stand-in: eager to cautious")
        left.set_title("each metric")
        _legend_below(left, 5)
        _consistency(right, mine, published)
        return to_svg(figure)


def _consistency(axes: Axes, cells: Sequence[Cell], published: Sequence[Published]) -> None:
    axes.plot(
        [row.means["rar"] for row in published],
        [row.means["ac"] for row in published],
        linestyle="none",
        marker="x",
        color=OTHER,
        label="published: other data and models",
    )
    points = [
        (cell.numbers["rar"], cell.numbers["ac"], cell.threshold)
        for cell in cells
        if cell.numbers["rar"] is not None and cell.numbers["ac"] is not None
    ]
    axes.plot(
        [rar.mean for rar, _, _ in points if rar],
        [ac.mean for _, ac, _ in points if ac],
        label="stand-in, by its threshold",
        **_look(0),
    )
    for rar, ac, threshold in points:
        if rar and ac:
            axes.annotate(
                f"{threshold:g}",
                (rar.mean, ac.mean),
                xytext=(7, 4),
                textcoords="offset points",
                fontsize=10.5,
            )
    axes.set_xlabel("ready action rate, RAR")
    axes.set_title("action consistency, AC, against readiness")
    _legend_below(axes, 2)


def by_pace(cells: Sequence[Cell]) -> str | None:
    """Draw the share of lost turns, and PT with lost turns as 0, against the model's pace.

    Returns:
        The SVG, or None if no conversation was played at two paces or more.
    """
    timed = [cell for cell in timed_cells(cells) if cell.token_ns]
    mine = [list(part) for _, part in groupby(timed, key=lambda c: (c.title, c.timing))]
    mine = [part for part in mine if len(part) > 1]
    if not mine:
        return None
    with style():
        figure, (left, right) = _panels()
        for place, part in enumerate(mine):
            _over_pace(left, part, place, lambda cell: cell.share("lost"))
            _over_pace(right, part, place, lambda cell: cell.of_all("pt"))
        paces = sorted({1e9 / cell.token_ns for part in mine for cell in part})
        for axes, title in ((left, "share of turns lost"), (right, "PT, a lost turn as 0")):
            axes.set_xscale("log")
            axes.set_xticks(paces, [f"{pace:.4g}" for pace in paces])
            axes.set_xticks([], minor=True)
            axes.set_xlabel("tokens a second")
            axes.set_title(title)
            axes.set_ylim(bottom=0)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=11)
        return to_svg(figure)


def _over_pace(
    axes: Axes, cells: Sequence[Cell], place: int, value: Callable[[Cell], Spread | None]
) -> None:
    points = [(1e9 / cell.token_ns, value(cell)) for cell in cells]
    known = [(x, y) for x, y in points if y is not None]
    axes.errorbar(
        [x for x, _ in known],
        [y.mean for _, y in known],
        yerr=[y.std or 0.0 for _, y in known],
        label=cells[0].title,
        **_look(place),
    )


def _look(place: int) -> dict[str, Any]:
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "marker": _MARKERS[place % len(_MARKERS)],
        "markersize": 6,
        "linewidth": 2,
    }


def _panels() -> tuple[Figure, tuple[Axes, Axes]]:
    figure = Figure(figsize=(WIDTH, _HEIGHT))
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.05, right=0.99, top=0.92, bottom=0.25, wspace=0.14)
    for axes in (left, right):
        axes.grid(axis="y", color=OTHER, alpha=0.25, linewidth=0.8)
        axes.set_axisbelow(True)
    return figure, (left, right)


def _legend_below(axes: Axes, columns: int) -> None:
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=columns, fontsize=11, borderpad=0
    )
