"""Learning curves: reward, success and tokens by update, and the loss of a training by examples.

This module imports matplotlib, so import it only when a figure is to be drawn. The same numbers
give the same bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from timeful.reports.style import OTHER, WIDTH, style, to_svg
from timeful.training.update_metrics import UpdateMetrics

COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7")
"""Okabe and Ito, safe for colour-blind readers; budgets from cold to warm."""

_SMOOTH = 5
"""Updates that are averaged in a curve."""


Curves = Mapping[str, Sequence[Sequence[UpdateMetrics]]]
"""The updates of each training, by seed."""

_Read = Callable[[UpdateMetrics], float | None]


def draw_curves(curves: Curves, budgets: Mapping[str, str]) -> str | None:
    """Draw reward, success in time and tokens by update; a column for each training.

    Each seed is a thin line, and their mean a thick one.

    Args:
        curves: See there.
        budgets: The labels of budgets, by their names in the metrics.

    Returns:
        The SVG, or None if there is no update yet.
    """
    trainings = {name: [seed for seed in seeds if seed] for name, seeds in curves.items()}
    trainings = {name: seeds for name, seeds in trainings.items() if seeds}
    if not trainings:
        return None
    lines = [line for seeds in trainings.values() for seed in seeds for line in seed]
    is_share = all(0 <= line.reward <= 1 for line in lines if line.reward is not None)
    has_right = any(line.right_in_time for line in lines)  # turns are not right or wrong
    names = ("reward", *("right in time",) * has_right, "tokens")
    with style():
        figure = Figure(figsize=(WIDTH, 84 * len(names) / 30))
        panels = figure.subplots(
            len(names), len(trainings), sharex=True, sharey="row", squeeze=False
        )
        for column, (name, seeds) in enumerate(trainings.items()):
            top, *panels_between, bottom = panels[:, column]
            top.set_title(name)
            _curve(top, seeds, lambda line: line.reward, OTHER)
            for i, budget in enumerate(budgets):
                colour = COLOURS[i % len(COLOURS)]
                for middle in panels_between:
                    _curve(middle, seeds, lambda line, b=budget: line.right_in_time.get(b), colour)  # type: ignore[misc]
                _curve(bottom, seeds, lambda line, b=budget: line.tokens.get(b), colour)  # type: ignore[misc]
            for axes in (top, *panels_between)[not is_share :]:
                axes.set_ylim(-0.02, 1.02)
            bottom.set_ylim(bottom=0)
        for axes, name in zip(panels[:, 0], names, strict=True):
            axes.set_ylabel(name)
        figure.supxlabel("updates", fontsize=13)
        keys = [
            Line2D([], [], color=COLOURS[i % len(COLOURS)], lw=2.5, label=label)
            for i, label in enumerate(budgets.values())
            if label != "none"
        ]
        if keys:
            figure.legend(handles=keys, loc="upper center", ncols=len(keys))
        figure.tight_layout(rect=(0, 0.0, 1, 0.95))
        return to_svg(figure)


def draw_loss(points: Sequence[tuple[int, float]]) -> str:
    """Draw the loss by update."""
    with style():
        figure = Figure(figsize=(WIDTH, 4.2))
        axes = figure.subplots()
        mean = _smooth(points)
        axes.plot(list(mean), list(mean.values()), color=OTHER, lw=2.4)
        axes.set_ylabel("loss")
        axes.set_xlabel("updates")
        figure.tight_layout()
        return to_svg(figure)


def _curve(axes: Axes, seeds: Sequence[Sequence[UpdateMetrics]], read: _Read, colour: str) -> None:
    curves = [_smooth([(line.update, read(line)) for line in lines]) for lines in seeds]
    for points in curves:
        axes.plot(list(points), list(points.values()), color=colour, lw=0.7, alpha=0.45)
    mean = mean_curve(curves)
    axes.plot(list(mean), list(mean.values()), color=colour, lw=2.4)


def mean_curve(curves: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The mean of curves over the updates that all of them reach.

    Under relative budgets a budget is not in every update of every seed: a curve keeps its value
    until its next point.
    """
    curves = [points for points in curves if points]
    if not curves:
        return {}
    reach = range(max(map(min, curves)), min(map(max, curves)) + 1)
    return {u: fmean(points[max(v for v in points if v <= u)] for points in curves) for u in reach}


def _smooth(points: Sequence[tuple[int, float | None]]) -> dict[int, float]:
    values = [(update, value) for update, value in points if value is not None]
    return {
        update: fmean(value for _, value in values[max(0, i - _SMOOTH + 1) : i + 1])
        for i, (update, _) in enumerate(values)
    }
