"""Figures 3 and 4: which mode of thinking is chosen at which slack.

This module imports matplotlib, so import it only when a figure is to be drawn. The same counts
give the same bytes.
"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from timeful.reports.html import INK
from timeful.reports.style import WIDTH, style, to_svg


def mode_shares(panels: Mapping[str, NDArray[np.int64]], slacks: Sequence[str]) -> str:
    """Draw the share of each mode at each slack, a panel for each policy.

    Args:
        panels: By the title of the panel, how often each mode (columns) was chosen at each
            slack (rows).
        slacks: The names of the slacks, from urgent to relaxed.

    Returns:
        The SVG. Above each bar stands how many of a policy's choices were made there.
    """
    with style():
        figure = Figure(figsize=(WIDTH, 4.2))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for panel, (title, counts) in zip(axes, panels.items(), strict=True):
            _panel(panel, counts, slacks)
            panel.set_title(title, pad=24)
        axes[0].set_ylabel("share of choices")
        modes = next(iter(panels.values())).shape[1]
        handles = [
            Patch(facecolor=colour, label=f"mode {number}")
            for number, colour in enumerate(_colours(modes), start=1)
        ]
        figure.supxlabel("slack when the task comes up", y=0.12, fontsize=12)
        figure.legend(handles=handles, loc="lower center", ncols=modes, fontsize=11)
        figure.subplots_adjust(left=0.07, right=0.995, top=0.86, bottom=0.26, wspace=0.06)
        return to_svg(figure)


def _panel(axes: Axes, counts: NDArray[np.int64], slacks: Sequence[str]) -> None:
    visits = counts.sum(axis=1)
    shares = counts / np.maximum(visits, 1)[:, np.newaxis]
    positions = np.arange(len(slacks))
    below = np.zeros(len(slacks))
    for mode, colour in enumerate(_colours(counts.shape[1])):
        axes.bar(positions, shares[:, mode], bottom=below, color=colour, width=0.8)
        below += shares[:, mode]
    for position, share in zip(positions, visits / max(visits.sum(), 1), strict=True):
        axes.annotate(
            f"{share:.0%}",
            (position, 1.02),
            ha="center",
            fontsize=10.5,
            color=INK,
            annotation_clip=False,
        )
    axes.set_xticks(positions, slacks)
    axes.set_ylim(0, 1)


def _colours(modes: int) -> list[str]:
    """One colour for each mode, the deeper the darker."""
    scale = mpl.colormaps["viridis_r"]
    return [mpl.colors.to_hex(scale(0.08 + 0.85 * k / max(modes - 1, 1))) for k in range(modes)]
