"""Figure 7: episodes in the kitchen as timelines, one below the other.

This module imports matplotlib, so import it only when a figure is to be drawn. The same records
give the same bytes.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeful.environments.kitchen.settings import in_ticks
from timeful.reports.html import INK
from timeful.reports.style import OTHER, WIDTH, style, to_svg
from timeful.suites.engagement.kitchen.trace import Execution, Signal, Stretch, Trace

_PROBLEMS = "Blues"
_CRITICAL, _SOFT = "#E8743B", "#3FA66B"
_GOOD, _BAD = "#1B7F3B", "#C62828"
_LANE, _HEAD, _FOOT = 0.27, 0.5, 1.25  # inches: a lane, what stands above an episode, the legend


def timeline(traces: Sequence[Trace]) -> str:
    """Draw episodes on one time axis, a panel for each.

    Args:
        traces: At least one; those of one case under several interfaces can be compared.

    Returns:
        The SVG. Upper lanes hold the stretches of tutoring of each problem, lower ones, for each
        dish, its signal, the window in which it counts, and the actions on it.
    """
    end = max(in_ticks(trace.end) for trace in traces)
    lanes = [_names(trace) for trace in traces]
    heights = [_HEAD + _LANE * len(names) for names in lanes]
    handles: dict[str, Any] = {}
    with style():
        height = sum(heights) + _FOOT
        figure = Figure(figsize=(WIDTH, height))
        bottom = 1.0
        for lane, (trace, names) in enumerate(zip(traces, lanes, strict=True)):
            bottom -= heights[lane] / height
            panel = figure.add_axes((0.055, bottom, 0.93, _LANE * len(names) / height))
            _panel(panel, trace, names, end)
            panel.tick_params(labelbottom=lane == len(traces) - 1)
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        panel.set_xlabel("ticks")
        figure.legend(handles.values(), handles, loc="lower center", ncols=6, fontsize=10)
        return to_svg(figure)


def _names(trace: Trace) -> list[str]:
    menu = trace.settings["menu"]
    return [item["name"] for item in (*menu["problems"], *menu["dishes"])]


def _panel(axes: Axes, trace: Trace, names: list[str], end: float) -> None:
    lane_of = {name: lane for lane, name in enumerate(names)}
    axes.set_xlim(-0.005 * end, 1.01 * end)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    for lane in range(len(names) - 1):
        axes.axhline(lane + 0.5, color=OTHER, alpha=0.25, linewidth=0.6)
    for stretch in trace.stretches:
        _stretch(axes, stretch, lane_of)
    for signal in trace.signals.values():
        _window(axes, signal, lane_of[signal.dish], end)
    for execution in trace.executions:
        _execution(axes, execution, lane_of[execution.dish])
    for poll in trace.polls:
        line = [in_ticks(poll)] * 2
        axes.plot(line, [-0.5, -0.28], color=INK, linewidth=0.7, alpha=0.6, label="poll")
    axes.axvline(in_ticks(trace.end), color=INK, linewidth=0.9, linestyle=(0, (1, 2)), label="end")
    axes.set_title(_title(trace), loc="left", fontsize=12, pad=5)


def _title(trace: Trace) -> str:
    dishes = len(trace.settings["menu"]["dishes"])
    good = sum(execution.quality or 0 for execution in trace.executions)
    problems = len(trace.settings["menu"]["problems"])
    score = "failed" if trace.score is None else f"{in_ticks(trace.end):g} ticks"
    return (
        f"{trace.method}: {good} of {dishes} dishes in time, "
        f"{len(trace.complete)} of {problems} problems complete, {score}"
    )


def _stretch(axes: Axes, stretch: Stretch, lane_of: dict[str, int]) -> None:
    lane = lane_of[stretch.problem]
    shade = mpl.colormaps[_PROBLEMS](0.45 + 0.15 * (lane % 3))
    start, end = in_ticks(stretch.start), in_ticks(stretch.end)
    axes.barh(lane, end - start, left=start, height=0.62, color=shade, label="tutoring")
    if stretch.ending == "interrupted":
        line = [lane - 0.42, lane + 0.42]
        axes.plot([end, end], line, color=INK, linewidth=1.6, label="interrupted")


def _window(axes: Axes, signal: Signal, lane: int, end: float) -> None:
    start, ideal = in_ticks(signal.at), in_ticks(signal.window_end)
    colour = _CRITICAL if signal.is_critical else _SOFT
    label = "window, critical" if signal.is_critical else "window, soft, and warm"
    until = min(in_ticks(signal.deadline), inf if signal.is_critical else 1.01 * end)
    axes.barh(lane, until - start, left=start, height=0.62, color=colour, alpha=0.28)
    axes.barh(lane, ideal - start, left=start, height=0.62, color=colour, alpha=0.55, label=label)
    _mark(axes, start, lane, marker="d", markersize=6.5, color=colour, label="signal")


def _execution(axes: Axes, execution: Execution, lane: int) -> None:
    start = in_ticks(execution.start)
    if execution.verb == "stage":
        _mark(axes, start, lane, marker="^", markersize=5, color=OTHER, label="staged")
        return
    end = start if execution.end is None else in_ticks(execution.end)
    if execution.verb == "prepare":
        axes.barh(lane, end - start, left=start, height=0.3, color=OTHER, label="preparing")
        return
    colour = _GOOD if execution.quality else _BAD
    label = "finished in time" if execution.quality else "finished too late"
    axes.barh(lane, end - start, left=start, height=0.3, color=colour)
    marker = "o" if execution.quality else "X"
    _mark(axes, end, lane, marker=marker, markersize=6, color=colour, label=label)
    if execution.by == "reflex":
        label = "by the reflex"
        hollow = {"marker": "o", "markersize": 10, "fillstyle": "none", "color": colour}
        _mark(axes, end, lane, label=label, **hollow)


def _mark(axes: Axes, at: float, lane: float, **look: Any) -> None:
    axes.plot([at], [lane], linestyle="", **look)
