"""Figures of the embedded run: what becomes of lengths while it learns, and what came of them.

This module imports matplotlib, so import it only when a figure is to be drawn. The same numbers
give the same bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from timeful.reports.style import OTHER, WIDTH, style, to_svg
from timeful.training.quick.asked import Asked
from timeful.training.quick.clock import TIMELY, Cell, mean
from timeful.training.quick.recipe import BASE
from timeful.training.quick.rows import Line
from timeful.training.quick.scores import Score
from timeful.training.quick.tables import budgets, estimate, models, pick
from timeful.training.tiny.language import EIGHTHS

_COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7")
"""Okabe and Ito, safe for colour-blind readers; budgets from cold to warm."""

_MODELS = (OTHER, "#0072B2", "#009E73", "#D55E00", "#CC79A7")
"""The same, for models; the base is grey."""

_MARKERS = ("o", "s", "^", "D", "v", "P")
_SMOOTH = 5
"""So many updates are averaged in a curve."""

Curves = Mapping[str, Sequence[Sequence[Line]]]
"""The updates of each arm, of each seed."""

_Read = Callable[[Line], float | None]


def by_update(curves: Curves, steps: Mapping[str, str]) -> str | None:
    """Draw reward, what is right in time, and tokens against updates; a column for each arm.

    Each seed is a thin line, and their mean a thick one.

    Args:
        curves: See there.
        steps: What budgets are called, by what they are called in the lines.

    Returns:
        The SVG, or None if nothing was learnt yet.
    """
    told = {arm: [lines for lines in each if lines] for arm, each in curves.items()}
    told = {arm: each for arm, each in told.items() if each}
    if not told:
        return None
    every = [line for each in told.values() for lines in each for line in lines]
    is_share = all(0 <= line.reward <= 1 for line in every if line.reward is not None)
    has_right = any(line.right_in_time for line in every)  # of turns nothing is right or wrong
    names = ("reward", *("right in time",) * has_right, "tokens")
    with style():
        figure = Figure(figsize=(WIDTH, 84 * len(names) / 30))
        panels = figure.subplots(len(names), len(told), sharex=True, sharey="row", squeeze=False)
        for column, (arm, seeds) in enumerate(told.items()):
            top, *others, bottom = panels[:, column]
            top.set_title(arm)
            _curve(top, seeds, lambda line: line.reward, OTHER)
            for place, step in enumerate(steps):
                colour = _COLOURS[place % len(_COLOURS)]
                for middle in others:
                    _curve(middle, seeds, lambda line, b=step: line.right_in_time.get(b), colour)  # type: ignore[misc]
                _curve(bottom, seeds, lambda line, b=step: line.tokens.get(b), colour)  # type: ignore[misc]
            for axes in (top, *others)[not is_share :]:
                axes.set_ylim(-0.02, 1.02)
            bottom.set_ylim(bottom=0)
        for axes, name in zip(panels[:, 0], names, strict=True):
            axes.set_ylabel(name)
        figure.supxlabel("updates", fontsize=13)
        keys = [
            Line2D([], [], color=_COLOURS[i % len(_COLOURS)], lw=2.5, label=name)
            for i, name in enumerate(steps.values())
            if name != "none"
        ]
        if keys:
            figure.legend(handles=keys, loc="upper center", ncols=len(keys))
        figure.tight_layout(rect=(0, 0.0, 1, 0.95))
        return to_svg(figure)


def by_loss(points: Sequence[tuple[int, float]]) -> str:
    """Draw the loss against updates."""
    with style():
        figure = Figure(figsize=(WIDTH, 4.2))
        axes = figure.subplots()
        mean = _smooth(points)
        axes.plot(list(mean), list(mean.values()), color=OTHER, lw=2.4)
        axes.set_ylabel("loss")
        axes.set_xlabel("updates")
        figure.tight_layout()
        return to_svg(figure)


def _curve(axes: Axes, seeds: Sequence[Sequence[Line]], read: _Read, colour: str) -> None:
    each = [_smooth([(line.update, read(line)) for line in lines]) for lines in seeds]
    for points in each:
        axes.plot(list(points), list(points.values()), color=colour, lw=0.7, alpha=0.45)
    mean = over_seeds(each)
    axes.plot(list(mean), list(mean.values()), color=colour, lw=2.4)


def over_seeds(each: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The mean of curves, as far as all of them go.

    Under relative budgets a step of the budget is not in every update of every seed: a seed stays
    where it was until there is news of it.
    """
    known = [points for points in each if points]
    if not known:
        return {}
    reach = range(max(map(min, known)), min(map(max, known)) + 1)
    return {u: fmean(one[max(v for v in one if v <= u)] for one in known) for u in reach}


def _smooth(points: Sequence[tuple[int, float | None]]) -> dict[int, float]:
    """The mean of each update and of those just before it."""
    known = [(update, value) for update, value in points if value is not None]
    return {
        update: fmean(value for _, value in known[max(0, i - _SMOOTH + 1) : i + 1])
        for i, (update, _) in enumerate(known)
    }


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
            look = {"color": _COLOURS[place], "marker": _MARKERS[place], "label": f"x{scale:g}"}
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
