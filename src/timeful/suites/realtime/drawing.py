"""How figures look: one colour and marker for each agent, and the same bytes every time.

This module imports matplotlib, so import it only when a figure is to be drawn.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from io import StringIO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from timeful.runs.page import INK
from timeful.suites.realtime.cells import Cell
from timeful.suites.realtime.conditions import agent_order

COLOURS = {
    "code-policy": "#CC79A7",
    "reactive-budget": "#E69F00",
    "reactive": "#D55E00",
    "planning": "#0072B2",
    "agile": "#009E73",
    "agile-concurrent": "#56B4E9",
    "agile-reduced": "#8C6BB1",
}
"""One colour for each agent in all figures (Okabe and Ito, safe for colour-blind readers)."""

_MARKERS = {
    "code-policy": "D",
    "reactive-budget": "v",
    "reactive": "s",
    "planning": "^",
    "agile": "o",
    "agile-concurrent": "P",
    "agile-reduced": "X",
}
OTHER = "#7F7F7F"
"""For agents without a colour of their own, and for all that is not an agent."""

DASHES = (0, (4, 2.5))
"""How published numbers are drawn."""

WIDTH = 12.4
"""In inches at 72 points: 893 pixels, so that nothing is shrunk on the page."""


def style() -> AbstractContextManager[None]:
    """Draw with the suite's settings for as long as the context lasts."""
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


def method_handles(methods: Mapping[str, str], *, remark: str = "") -> list[Line2D]:
    """Name methods by colour and marker, for a legend; `methods` gives the agent of each."""
    order = sorted(methods, key=lambda name: (agent_order(methods[name]), name))
    return [
        Line2D(
            [],
            [],
            color=COLOURS.get(methods[name], OTHER),
            marker=_MARKERS.get(methods[name], "."),
            linewidth=2,
            label=name + remark,
        )
        for name in order
    ]


def plot_ours(axes: Axes, points: Iterable[tuple[float, Cell | None]], agent: str) -> None:
    """Plot our means with their intervals; without an interval, the mean alone."""
    shown = [(x, cell.score) for x, cell in points if cell is not None and cell.score is not None]
    colour = COLOURS.get(agent, OTHER)
    axes.plot(
        [x for x, _ in shown],
        [score.mean for _, score in shown],
        color=colour,
        marker=_MARKERS.get(agent, "."),
        markersize=6,
        linewidth=2,
        zorder=3,
    )
    for x, score in shown:
        if score.low is not None and score.high is not None:
            axes.plot([x, x], [score.low, score.high], color=colour, linewidth=1.4, zorder=2)


def score_axes(panels: Iterable[Axes]) -> None:
    """Show at least 0 to 1, and whatever lies beyond, in all panels of one figure.

    Called when all panels are drawn: they share an axis, which stops adapting once it is set.
    """
    for axes in panels:
        low, high = axes.get_ylim()
        axes.set_ylim(min(-0.03, low), max(1.05, high))
        axes.grid(axis="y", color=OTHER, alpha=0.25, linewidth=0.8)
        axes.set_axisbelow(True)


def to_svg(figure: Figure) -> str:
    """The figure as SVG text, without a date, so that it is the same every time."""
    text = StringIO()
    FigureCanvasSVG(figure)
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()
