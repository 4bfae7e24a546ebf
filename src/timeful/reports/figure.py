"""Figures of cells: lines over a column, and heat maps.

Figures are values; `draw` imports matplotlib, since only a report needs it. The same cells give
the same bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from timeful.reports.cube import level_order
from timeful.reports.page import Figure
from timeful.reports.results import ResultRow, Scalar, Where
from timeful.reports.table import Context, distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A metric over the values of a column: a line for each value of `hue`, panels by `panel`.

    Ours are solid, with bars for 95 % intervals; published numbers are dashed.

    Attributes:
        x: The column of the horizontal axis; numbers are placed to scale, words evenly.
        at: The metric whose value places a cell on that axis, in place of the column's value.
        y: The name of the metric.
        hue: The column whose values are lines; "" for a single line.
        panel: The column, or columns, whose values are panels; "" for a single panel.
        where: Only cells with these values.
        without: No cells with these values.
        title: The title of the figure.
        x_label: The name of the horizontal axis; the column's name if not given.
        is_log: Whether the horizontal axis is logarithmic.
        caption: Shown below the figure.
        name: The name of its own file in the run folder; "" for none.
    """

    x: str
    y: str
    at: str = ""
    hue: str = ""
    panel: str | tuple[str, ...] = ""
    where: Where = field(default_factory=dict)
    without: Where = field(default_factory=dict)
    title: str = ""
    x_label: str = ""
    is_log: bool = False
    caption: str = ""
    name: str = ""

    def draw(self, cells: Sequence[ResultRow], context: Context) -> Figure | None:
        """Draw the figure; None if there are fewer than two positions on the horizontal axis."""
        keys = (self.panel,) if isinstance(self.panel, str) else self.panel
        keys = tuple(key for key in keys if key)
        visible = [
            cell
            for cell in cells
            if cell.metric == self.y
            and cell.value is not None
            and cell.matches(self.where)
            and not (self.without and cell.matches(self.without))
        ]
        points = self._points(cells, context.select_margins(visible, (self.x, self.hue, *keys)))
        visible = [cell for _, cell in points]
        name = self.at or self.x
        xs = sorted({x for x, _ in points}, key=lambda x: level_order(context.levels, name, x))
        if len(xs) < 2:
            return None
        from timeful.reports import style  # noqa: PLC0415 - loads matplotlib

        panels = sorted(
            distinct(visible, keys),
            key=lambda where: [level_order(context.levels, *item) for item in where.items()],
        )
        hues = context.ordered(self.hue, visible) if self.hue else [None]
        keys = tuple(key for key in keys if len(distinct(visible, (key,))) > 1) or keys[:1]
        with style.style():
            figure, grid = style.panels(len(panels))
            for axes, panel in zip(grid, panels, strict=False):
                members = [(x, cell) for x, cell in points if cell.matches(panel)]
                for index, hue in enumerate(hues):
                    line = [p for p in members if not self.hue or p[1].where.get(self.hue) == hue]
                    self._line(axes, line, xs, index, context)
                self._axis(axes, xs, context)
                axes.set_title(context.title({key: panel[key] for key in keys}))
            grid[0].set_ylabel(self.y)
            figure.supxlabel(self.x_label or self.x, y=0.5 / figure.get_figheight(), fontsize=12)
            names = [context.label(self.hue, hue) for hue in hues] if self.hue else []
            style.legend(figure, names)
            title = self.title or f"{self.y} over {self.x_label or self.x}"
            alt = f"{title}; the numbers are in the tables"
            legend = "Bars: 95 % intervals."
            if any(context.reference.number(cell.where, cell.metric) for cell in visible):
                legend += " Dashed: published."
            caption = f"{legend} {self.caption}".strip()
            image = style.to_svg(figure)
            return Figure(image=image, alt=alt, title=title, caption=caption, name=self.name)

    def _points(
        self, cells: Sequence[ResultRow], visible: Sequence[ResultRow]
    ) -> list[tuple[Scalar, ResultRow]]:
        """Each cell with its value on the horizontal axis; a margin of that column has none."""
        places = {tuple(c.where.items()): c.value for c in cells if c.metric == self.at}
        pairs: list[tuple[Scalar, ResultRow]] = [
            (places.get(tuple(cell.where.items())) if self.at else cell.where[self.x], cell)
            for cell in visible
            if cell.where.get(self.x) is not None
        ]
        return [(x, cell) for x, cell in pairs if x is not None]

    def _x(self, xs: Sequence[Scalar], value: Scalar) -> float:
        if not all(isinstance(x, int | float) for x in xs):
            return float(xs.index(value))
        return float(value)  # type: ignore[arg-type]

    def _line(
        self,
        axes: "Axes",
        cells: Sequence[tuple[Scalar, ResultRow]],
        xs: Sequence[Scalar],
        index: int,
        context: Context,
    ) -> None:
        from timeful.reports import style  # noqa: PLC0415

        points = [(self._x(xs, x), cell) for x, cell in cells]
        points.sort(key=lambda point: point[0])
        look: dict[str, Any] = style.look(index)
        axes.plot([x for x, _ in points], [c.value for _, c in points], zorder=3, **look)  # type: ignore[arg-type]
        for x, cell in points:
            if cell.low is not None and cell.high is not None:
                axes.plot([x, x], [cell.low, cell.high], color=look["color"], linewidth=1.4)
        published = [
            (x, n.value) for x, c in points if (n := context.reference.number(c.where, c.metric))
        ]
        axes.plot(
            [x for x, _ in published],
            [y for _, y in published],
            color=look["color"],
            linestyle=style.DASHES,
            linewidth=1.2,
            zorder=1,
        )

    def _axis(self, axes: "Axes", xs: Sequence[Scalar], context: Context) -> None:
        if self.is_log:
            axes.set_xscale("log")
        if not self.at:  # values of a metric are too close for a mark each
            axes.set_xticks([self._x(xs, x) for x in xs], [context.label(self.x, x) for x in xs])
            axes.set_xticks([], minor=True)
        axes.grid(axis="y", alpha=0.25, linewidth=0.8)
        axes.set_axisbelow(True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A metric as a square for each pair of values of two columns, panels by `panel`.

    Attributes:
        x: The column across.
        y: The column down.
        metric: The name of the metric.
        panel: The column whose values are panels; "" for a single panel.
        where: Only cells with these values.
        title: The title.
        limit: Values below this one are highlighted; None: the greater, the deeper the colour.
        caption: Shown below the figure.
    """

    x: str
    y: str
    metric: str
    panel: str = ""
    where: Where = field(default_factory=dict)
    title: str = ""
    limit: float | None = None
    caption: str = ""

    def draw(self, cells: Sequence[ResultRow], context: Context) -> Figure | None:
        """Draw the figure; None if there is no cell."""
        visible = [c for c in cells if c.metric == self.metric and c.matches(self.where)]
        if not visible:
            return None
        from timeful.reports import style  # noqa: PLC0415

        panels = context.ordered(self.panel, visible) if self.panel else [None]
        digits = context.metrics[self.metric].digits if self.metric in context.metrics else 3
        with style.style():
            figure, grid = style.panels(len(panels))
            for axes, panel in zip(grid, panels, strict=False):
                members = [c for c in visible if not self.panel or c.where.get(self.panel) == panel]
                xs, ys = context.ordered(self.x, members), context.ordered(self.y, members)
                for cell in members:
                    column, line = xs.index(cell.where[self.x]), ys.index(cell.where[self.y])
                    style.square(axes, column, line, **self._look(cell.value, visible))
                    text = "-" if cell.value is None else f"{cell.value:.{digits}f}"
                    axes.text(column, line, text, ha="center", va="center")
                axes.set_xticks(range(len(xs)), [context.label(self.x, x) for x in xs])
                axes.set_yticks(range(len(ys)), [context.label(self.y, y) for y in ys])
                axes.set_xlim(-0.5, len(xs) - 0.5)
                axes.set_ylim(len(ys) - 0.5, -0.5)
                if self.panel:
                    axes.set_title(context.label(self.panel, panel))
            title = self.title or self.metric
            alt = f"{title}; the numbers are in the tables"
            image = style.to_svg(figure)
            return Figure(image=image, alt=alt, title=title, caption=self.caption)

    def _look(self, value: float | None, cells: Sequence[ResultRow]) -> dict[str, Any]:
        """The colour of a square: it marks low values, or deepens with the value."""
        if self.limit is not None:
            return {"is_marked": value is not None and value < self.limit}
        most = max(abs(cell.value or 0.0) for cell in cells) or 1.0
        return {"is_marked": True, "depth": 0.05 + 0.55 * abs(value or 0.0) / most}


def draw_text(texts: Mapping[str, str], *, alt: str, title: str, caption: str) -> Figure:
    """Draw texts of fixed width next to each other, each below its title."""
    from timeful.reports import style  # noqa: PLC0415

    with style.style():
        figure, grid = style.panels(len(texts), per_row=3)
        for axes, (name, text) in zip(grid, texts.items(), strict=False):
            axes.set_title(name, fontsize=11)
            axes.set_axis_off()
            axes.text(0.0, 0.98, text, va="top", family="monospace", linespacing=1.6)
        return Figure(image=style.to_svg(figure), alt=alt, title=title, caption=caption)
