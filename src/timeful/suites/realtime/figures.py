"""Figures: scores over load and pressure, the reserve sweep, and p-values.

After Figures 5, 7 and 8 of Real-Time Reasoning Gym. This module imports matplotlib, so import
it only when a figure is to be drawn. The same cells give the same bytes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from timeful.environments.game import DIFFICULTIES
from timeful.reports.html import INK
from timeful.reports.style import DASHES, OTHER, WIDTH, style, to_svg
from timeful.suites.realtime.cells import Cell
from timeful.suites.realtime.comparisons import ALPHA, BASELINES, Comparison
from timeful.suites.realtime.conditions import Experiment, short_tokens
from timeful.suites.realtime.drawing import COLOURS, method_handles, plot_ours, score_axes
from timeful.suites.realtime.scores import GAMES
from timeful.suites.realtime.tables import Grid, make_grids, short_p

_RED = "#C62828"


def curves(cells: Sequence[Cell], experiment: Experiment) -> str | None:
    """Draw scores over load or pressure, a panel for each game, as in Figure 5.

    Ours are solid with their intervals, the published ones dashed.

    Returns:
        The SVG, or None if the experiment has no score of ours.
    """
    grids = [grid for grid in make_grids(cells) if grid.experiment == experiment and _any(grid)]
    if not grids:
        return None
    with style():
        figure = Figure(figsize=(WIDTH, 4.3))
        panels = figure.subplots(1, len(grids), sharey=True, squeeze=False)[0]
        for axes, grid in zip(panels, grids, strict=True):
            _curves_panel(axes, grid)
        score_axes(panels)
        is_load = experiment == "load"
        figure.supxlabel(
            "cognitive load" if is_load else "time pressure, tokens per step", y=0.145, fontsize=12
        )
        panels[0].set_ylabel("normalised score")
        _legend(figure, grids)
        figure.subplots_adjust(left=0.06, right=0.995, top=0.92, bottom=0.26, wspace=0.08)
        return to_svg(figure)


def _any(grid: Grid) -> bool:
    return any(cell.score is not None for cell in grid.cells.values())


def _curves_panel(axes: Axes, grid: Grid) -> None:
    count = len(grid.methods)
    for place, method in enumerate(grid.methods):
        row = [grid.at(method, column) for column in grid.columns]
        agent = next(cell.agent for cell in row if cell is not None)
        # Methods stand side by side, so that intervals do not hide each other.
        shift = 0.28 * (place / (count - 1) - 0.5) if count > 1 else 0.0
        plot_ours(axes, [(x + shift, cell) for x, cell in enumerate(row)], agent)
        theirs = [
            (x + shift, cell.published.value)
            for x, cell in enumerate(row)
            if cell is not None and cell.published is not None
        ]
        axes.plot(
            [x for x, _ in theirs],
            [y for _, y in theirs],
            color=COLOURS.get(agent, OTHER),
            linestyle=DASHES,
            linewidth=1.2,
            alpha=0.75,
            zorder=1,
        )
    axes.set_title(grid.game)
    labels = [column.label(grid.experiment) for column in grid.columns]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_xlim(-0.4, len(labels) - 0.6)


def _legend(figure: Figure, grids: Sequence[Grid]) -> None:
    """Name the methods, and the two kinds of lines, below the panels."""
    cells = [cell for grid in grids for cell in grid.cells.values()]
    run = {cell.method: cell.agent for cell in cells if cell.score is not None}
    absent = {cell.method: cell.agent for cell in cells if cell.method not in run}
    handles = method_handles(run) + method_handles(absent, remark=" (not run)")
    handles.append(Line2D([], [], color=INK, linewidth=2, label="ours, 95 % interval"))
    handles.append(
        Line2D([], [], color=INK, linewidth=1.2, linestyle=DASHES, label="theirs, other models")
    )
    columns = min(len(handles), 5)
    figure.legend(handles=handles, loc="lower center", ncols=columns, fontsize=11)


def reserve_sweep(cells: Sequence[Cell]) -> str | None:
    """Draw scores over the reactor's budget, a panel for each game, as in Figure 7.

    Behind them stands the share of reactive calls that needed no more tokens than the budget,
    from the episodes with the largest budget, where calls are cut least.

    Returns:
        The SVG, or None if no sweep was run.
    """
    grids = [grid for grid in make_grids(cells) if grid.experiment == "reserve" and _any(grid)]
    if not grids:
        return None
    with style():
        figure = Figure(figsize=(WIDTH, 4.3))
        panels = figure.subplots(1, len(grids), sharey=True, squeeze=False)[0]
        twins = [_sweep_panel(axes, grid) for axes, grid in zip(panels, grids, strict=True)]
        score_axes(panels)
        for twin in twins:
            twin.set_ylim(panels[0].get_ylim())
            twin.tick_params(axis="y", labelright=twin is twins[-1])
        panels[0].set_ylabel("normalised score")
        twins[-1].set_ylabel("share of reactive calls (shaded)")
        figure.supxlabel("reactor's budget, tokens per step", y=0.095, fontsize=12)
        _sweep_legend(figure, grids)
        figure.subplots_adjust(left=0.06, right=0.915, top=0.92, bottom=0.22, wspace=0.12)
        return to_svg(figure)


def _sweep_panel(axes: Axes, grid: Grid) -> Axes:
    """Draw one game's sweep; return the twin axis with the distribution of call lengths."""
    twin = axes.twinx()
    budgets = [column.reserve or 1 for column in grid.columns]
    lengths = _free_lengths(grid)
    if lengths:
        points = np.geomspace(min(budgets) / 1.5, max(budgets) * 1.2, 160)
        shares = np.searchsorted(np.sort(lengths), points, side="right") / len(lengths)
        twin.fill_between(points, shares, color=OTHER, alpha=0.22, linewidth=0, step="post")
    for method in grid.methods:
        row = [(float(c.reserve or 1), grid.at(method, c)) for c in grid.columns]
        agent = next(cell.agent for _, cell in row if cell is not None)
        plot_ours(axes, row, agent)
    axes.set_title(grid.game)
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [_short(budget) for budget in budgets])
    axes.set_xticks([], minor=True)
    axes.set_xlim(min(budgets) / 1.5, max(budgets) * 1.2)
    twin.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    # The scores are drawn over the shaded distribution.
    axes.set_zorder(twin.get_zorder() + 1)
    return twin


def _free_lengths(grid: Grid) -> list[int]:
    """The lengths of the reactive calls under the largest budget that was tried."""
    for column in reversed(grid.columns):
        cells = [grid.at(method, column) for method in grid.methods]
        rows = [row for cell in cells if cell is not None for row in cell.rows]
        lengths = [length for row in rows for length in row.reactor_tokens]
        if lengths:
            return lengths
    return []


def _short(tokens: int) -> str:
    return "0.5k" if tokens == 512 else short_tokens(tokens)


def _sweep_legend(figure: Figure, grids: Sequence[Grid]) -> None:
    methods = {cell.method: cell.agent for grid in grids for cell in grid.cells.values()}
    handles: list[Line2D | Rectangle] = []
    handles += method_handles(methods, remark=", ours with 95 % interval")
    share = "reactive calls that fit the budget"
    handles.append(Rectangle((0, 0), 1, 1, color=OTHER, alpha=0.22, linewidth=0, label=share))
    figure.legend(handles=handles, loc="lower center", ncols=min(len(handles), 3), fontsize=11)


def p_values(comparisons: Sequence[Comparison]) -> str | None:
    """Draw the p-values of AgileThinker's advantage by load and pressure, as in Figure 8.

    Each square holds the p of the t-test, and below it that of the permutation test; red where
    the t-test's is below 0.05.

    Returns:
        The SVG, or None if nothing in token time was compared.
    """
    shown: dict[tuple[str, str, str, int], Comparison] = {}
    for one in comparisons:
        at = one.condition
        if at.tokens_per_step is not None and at.reserve is None:
            shown.setdefault((one.baseline, at.game, at.difficulty, at.tokens_per_step), one)
    if not shown:
        return None
    baselines = [name for name in BASELINES if any(key[0] == name for key in shown)]
    games = [game for game in GAMES if any(key[1] == game for key in shown)]
    loads = [load for load in DIFFICULTIES if any(key[2] == load for key in shown)]
    pressures = sorted({key[3] for key in shown}, reverse=True)
    height = (0.62 * len(loads) + 0.75) * len(baselines) + 0.3
    with style():
        figure = Figure(
            figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.08)
        )
        panels = figure.subplots(len(baselines), len(games), squeeze=False)
        for baseline, line in zip(baselines, panels, strict=True):
            for game, axes in zip(games, line, strict=True):
                for y, load in enumerate(loads):
                    for x, pressure in enumerate(pressures):
                        _square(axes, (x, y), shown.get((baseline, game, load, pressure)))
                _square_axes(axes, loads, pressures)
                axes.set_title(f"{game}{_dagger(shown, game)}: agile vs {baseline}", fontsize=12)
                axes.tick_params(labelleft=game == games[0], labelbottom=baseline == baselines[-1])
        figure.supxlabel("time pressure, tokens per step", fontsize=12)
        return to_svg(figure)


def _dagger(shown: Mapping[tuple[str, str, str, int], Comparison], game: str) -> str:
    """Mark a game whose pairs are copies."""
    is_marked = any(one.is_copies for key, one in shown.items() if key[1] == game)
    return " †" if is_marked else ""


def _square(axes: Axes, at: tuple[int, int], one: Comparison | None) -> None:
    """Draw one condition's p-values, or an empty square where nothing was compared."""
    x, y = at
    is_clear = one is not None and one.p_t is not None and one.p_t < ALPHA
    axes.add_patch(
        Rectangle(
            (x - 0.47, y - 0.45),
            0.94,
            0.9,
            facecolor=_RED if is_clear else "none",
            edgecolor=OTHER,
            linewidth=0.6,
        )
    )
    if one is None:
        return
    colour = "#FFFFFF" if is_clear else INK
    axes.text(x, y - 0.02, short_p(one.p_t), ha="center", va="bottom", color=colour, fontsize=11.5)
    below = short_p(one.p_permutation)
    axes.text(x, y + 0.04, below, ha="center", va="top", color=colour, fontsize=9, alpha=0.85)


def _square_axes(axes: Axes, loads: Sequence[str], pressures: Sequence[int]) -> None:
    axes.set_xticks(range(len(pressures)), [short_tokens(pressure) for pressure in pressures])
    axes.set_yticks(range(len(loads)), loads)
    axes.set_xlim(-0.5, len(pressures) - 0.5)
    axes.set_ylim(len(loads) - 0.5, -0.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
