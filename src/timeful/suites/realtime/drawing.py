"""What the figures of the suite share: one colour and marker for each agent, and how ours plot.

This module imports matplotlib, so import it only when a figure is to be drawn.
"""

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from timeful.reports.style import OTHER
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
