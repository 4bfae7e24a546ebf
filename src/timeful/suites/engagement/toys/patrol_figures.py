"""Figures 5 and 6: five ticks of a patrol, the grid of each in a panel of its own.

This module imports matplotlib, so import it only when a figure is to be drawn. The same trace
gives the same bytes.
"""

from string import ascii_uppercase

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Rectangle

from timeful.reports.html import INK
from timeful.reports.style import OTHER, WIDTH, style, to_svg
from timeful.suites.engagement.toys.patrol import Frame, Trace

COLOURS = {
    "handling": "#F0C419",
    "to checkpoint": "#56B4E9",
    "to alarm": "#D7301F",
    "resolving": "#8C1D13",
    "walking on": OTHER,
}
"""One colour for each thing that the agent does."""

_ALARM = "#D7301F"


def trace_figure(trace: Trace) -> str:
    """Draw a trace, a panel for each tick.

    Returns:
        The SVG. A square letter is a checkpoint, the badge at the one in hand the ticks that
        are left of handling it; the dot is the agent, coloured by what it does in this tick; a
        dashed circle is the alarm, with the ticks until its deadline.
    """
    with style():
        figure = Figure(figsize=(WIDTH, 3.4))
        panels = figure.subplots(1, len(trace.frames), squeeze=False)[0]
        for axes, frame in zip(panels, trace.frames, strict=True):
            _panel(axes, frame)
        shown = {frame.doing for frame in trace.frames}
        handles: list[Patch | Line2D] = [
            Patch(facecolor=colour, label=f"agent {doing}")
            for doing, colour in COLOURS.items()
            if doing in shown
        ]
        badge = Patch(facecolor="#FFFFFF", edgecolor=INK, label="ticks of handling left")
        circle = Line2D(
            [],
            [],
            color=_ALARM,
            marker="o",
            markersize=11,
            fillstyle="none",
            linestyle="",
            label="alarm, ticks to its deadline",
        )
        handles += [badge, circle]
        figure.legend(handles=handles, loc="lower center", ncols=len(handles), fontsize=11)
        figure.subplots_adjust(left=0.005, right=0.995, top=0.91, bottom=0.1, wspace=0.05)
        return to_svg(figure)


def _panel(axes: Axes, frame: Frame) -> None:
    view = frame.view
    axes.set_title(f"tick {view.turn}: {frame.doing}", fontsize=12)
    for line in range(view.size + 1):
        axes.plot([0, view.size], [line, line], color=OTHER, alpha=0.35, linewidth=0.6)
        axes.plot([line, line], [0, view.size], color=OTHER, alpha=0.35, linewidth=0.6)
    for number, (row, col) in enumerate(view.checkpoints):
        axes.add_patch(Rectangle((col, row), 1, 1, facecolor=OTHER, alpha=0.3))
        name = ascii_uppercase[number % len(ascii_uppercase)]
        axes.text(col + 0.5, row + 0.5, name, ha="center", va="center", color=INK, fontsize=12)
    _agent(axes, frame)
    _alarm(axes, frame)
    _badge(axes, frame)
    axes.set_xlim(-0.7, view.size + 0.7)
    axes.set_ylim(view.size + 1.25, -1.25)  # row 0 is on top
    axes.set_aspect("equal")
    axes.set_axis_off()


def _agent(axes: Axes, frame: Frame) -> None:
    row, col = frame.view.agent
    axes.add_patch(
        Circle(
            (col + 0.5, row + 0.5),
            0.48,
            facecolor=COLOURS[frame.doing],
            edgecolor=INK,
            linewidth=1.2,
            alpha=0.85,
            zorder=3,
        )
    )
    if frame.view.agent in frame.view.checkpoints:
        name = ascii_uppercase[frame.view.checkpoints.index(frame.view.agent)]
        axes.text(
            col + 0.5,
            row + 0.5,
            name,
            ha="center",
            va="center",
            color=INK,
            fontsize=12,
            zorder=4,
        )


def _alarm(axes: Axes, frame: Frame) -> None:
    """Draw the alarm, and its deadline beside it, towards the middle of the grid."""
    alarm, size = frame.view.alarm, frame.view.size
    if alarm is None:
        return
    x, y = alarm.col + 0.5, alarm.row + 0.5
    axes.add_patch(
        Circle((x, y), 0.85, fill=False, edgecolor=_ALARM, linewidth=2, linestyle=(0, (3, 2)))
    )
    is_right = x > size / 2
    axes.text(
        x - 1.1 if is_right else x + 1.1,
        y,
        str(alarm.deadline),
        ha="right" if is_right else "left",
        va="center",
        color=_ALARM,
        fontsize=14,
        fontweight="bold",
        zorder=5,
    )


def _badge(axes: Axes, frame: Frame) -> None:
    """Write what is left of handling beside its checkpoint, on the side away from the middle."""
    view = frame.view
    row, col = view.checkpoints[view.checkpoint]
    axes.text(
        col + 0.5,
        row - 0.65 if row < view.size / 2 else row + 1.65,
        str(view.left),
        ha="center",
        va="center",
        color=INK,
        fontsize=11,
        zorder=5,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": "#FFFFFF", "edgecolor": INK},
    )
