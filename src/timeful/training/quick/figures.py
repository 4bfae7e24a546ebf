"""Figures of the embedded run: what becomes of lengths while it learns, and what came of them.

This module imports matplotlib, so import it only when a figure is to be drawn. The same numbers
give the same bytes.
"""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeful.reports.style import OTHER, WIDTH, style, to_svg
from timeful.training.curves import COLOURS
from timeful.training.quick.asked import Asked
from timeful.training.quick.clock import TIMELY, Cell, mean
from timeful.training.quick.recipe import BASE
from timeful.training.quick.scores import Score
from timeful.training.quick.tables import budgets, estimate, models, pick
from timeful.training.tiny.language import EIGHTHS

_MODELS = (OTHER, "#0072B2", "#009E73", "#D55E00", "#CC79A7")
"""The palette of `curves`, for models; the base is grey."""

_MARKERS = ("o", "s", "^", "D", "v", "P")


def by_budget(asked: Asked, scores: Sequence[Score]) -> str | None:
    """Draw budgeted success and tokens against the budget, a line for each model.

    Returns:
        The SVG, or None if nothing was graded yet.
    """
    steps = list(asked.recipe.language.allowed)
    if not any(one.exam == "graded" for one in scores):
        return None
    with style():
        figure = Figure(figsize=(WIDTH, 4.6))
        left, right = figure.subplots(1, 2)
        for place, model in enumerate(models(asked)):
            look = {
                "color": _MODELS[place % len(_MODELS)],
                "marker": _MARKERS[place % len(_MARKERS)],
                "label": model,
            }
            for axes, measure in ((left, "success"), (right, "tokens")):
                _plot(axes, asked, scores, model, measure, look)
        right.plot(steps, steps, color=OTHER, lw=1, ls=":")
        for axes, name in ((left, "budgeted success"), (right, "tokens of an answer")):
            axes.set_xscale("log", base=2)
            axes.set_xticks(steps, [str(n) for n in steps])
            axes.minorticks_off()
            axes.set_xlabel("budget in tokens")
            axes.set_ylabel(name)
            axes.set_ylim(bottom=0)
        left.set_ylim(0, 1.02)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=len(labels))
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        return to_svg(figure)


def by_clock(asked: Asked, cells: Sequence[Cell]) -> str | None:
    """Draw what is said after the clock against what it told.

    Left, a line for each model, by clocks that are right; right, the timely arm alone, by clocks
    that tell a multiple of the time: who reads the clock is on one curve.

    Returns:
        The SVG, or None if the timer was never asked.
    """
    heard = [one for one in cells if one.clock is not None and one.exam != "hurried"]
    if not heard:
        return None
    timely = next((arm.name for arm in asked.learnt if arm.reward == TIMELY), BASE)
    scales = sorted({one.scale for one in heard})
    with style():
        figure = Figure(figsize=(WIDTH, 4.6))
        left, right = figure.subplots(1, 2, sharey=True)
        for place, model in enumerate(models(asked)):
            true = [one for one in heard if one.model == model and one.scale == 1]
            look = {"color": _MODELS[place], "marker": _MARKERS[place], "label": model}
            left.plot(*_after(true), lw=2, **look)
        for place, scale in enumerate(scales):
            mine = [one for one in heard if one.model == timely and one.scale == scale]
            look = {"color": COLOURS[place], "marker": _MARKERS[place], "label": f"x{scale:g}"}
            right.plot(*_after(mine), lw=2, **look)
        left.set_ylabel("tokens said after the clock")
        right.set_title(f"{timely}, by what the clock tells")
        for axes in (left, right):
            axes.set_xlabel("eighths of the budget that it told")
            axes.set_xticks(range(EIGHTHS + 1))
            axes.set_ylim(bottom=0)
            axes.legend()
        figure.tight_layout()
        return to_svg(figure)


def _after(cells: Sequence[Cell]) -> tuple[list[int], list[float]]:
    told = sorted({one.clock for one in cells if one.clock is not None})
    return told, [mean([one for one in cells if one.clock == k], "after") for k in told]


def _plot(
    axes: Axes,
    asked: Asked,
    scores: Sequence[Score],
    model: str,
    measure: str,
    look: Mapping[str, str],
) -> None:
    points = []
    for n, budget in zip(asked.recipe.language.allowed, budgets(asked), strict=True):
        found = estimate(pick(scores, model, "graded", budget), measure)  # type: ignore[arg-type]
        if found is not None:
            points.append((n, found))
    for n, found in points:
        if found.low is not None and found.high is not None:
            axes.plot([n, n], [found.low, found.high], color=look["color"], lw=1.2)
    axes.plot([n for n, _ in points], [f.mean for _, f in points], lw=2, **look)  # type: ignore[arg-type]
