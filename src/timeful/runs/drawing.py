"""How figures look in every suite, and the same bytes every time.

This module imports matplotlib, so import it only when a figure is to be drawn.
"""

from contextlib import AbstractContextManager
from io import StringIO

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from timeful.runs.page import INK

OTHER = "#7F7F7F"
"""For what has no colour of its own."""

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
