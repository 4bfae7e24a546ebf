"""The style of figures in all suites; the same figure gives the same bytes.

This module imports matplotlib, so import it only when a figure is to be drawn.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from timeful.reports.html import INK

OTHER = "#7F7F7F"
"""For series without a colour of their own."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1")
"""The palette of Okabe and Ito, safe for colour-blind readers, and one more."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")

DASHES = (0, (4, 2.5))
"""How published numbers are drawn."""

WIDTH = 12.4
"""In inches at 72 points: 893 pixels, so that nothing is shrunk on the page."""


def style() -> AbstractContextManager[None]:
    """Draw with these settings for as long as the context lasts."""
    return mpl.rc_context(
        {
            "svg.hashsalt": "timeful",
            "svg.fonttype": "path",
            "text.parse_math": False,  # a model's name may hold dollars
            "font.size": 12.5,
            "font.family": "DejaVu Sans",
            "text.color": INK,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.titlecolor": INK,
            "axes.titlesize": 13,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )


def to_svg(figure: Figure) -> str:
    """The figure as SVG text, without a date, so that it is the same every time."""
    text = StringIO()
    FigureCanvasSVG(figure)
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def look(index: int) -> dict[str, Any]:
    """The colour and marker of the series with this number."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 6,
        "linewidth": 2,
    }


def panels(count: int, *, per_row: int = 4) -> tuple[Figure, list[Axes]]:
    """Make a figure with this many panels, and room for a legend below them."""
    columns = min(count, per_row)
    rows = -(-count // columns)
    height = 2.9 * rows + 1.2
    figure = Figure(figsize=(WIDTH, height))
    axes = [a for line in figure.subplots(rows, columns, squeeze=False) for a in line]
    figure.subplots_adjust(
        left=0.07, right=0.99, top=1 - 0.4 / height, bottom=1.25 / height, wspace=0.2, hspace=0.45
    )
    for unused in axes[count:]:
        unused.set_visible(False)
    return figure, axes


def legend(figure: Figure, names: Sequence[str]) -> None:
    """Name the series below the panels, in the order of their numbers."""
    handles = [Line2D([], [], label=name, **look(index)) for index, name in enumerate(names)]
    if handles:
        columns = min(len(handles), 5)
        figure.legend(handles=handles, loc="lower center", ncols=columns, fontsize=11)


def square(axes: Axes, column: int, row: int, *, is_marked: bool, depth: float = 0.25) -> None:
    """Fill one square of a heat map."""
    colour = "#D55E00" if is_marked else OTHER
    axes.add_patch(
        Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, color=colour, alpha=depth, linewidth=0)
    )
