"""The tables of the kitchen: which numbers stand in which, and all of them as plain text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from timeful.suites.engagement.comparison import Band, Published
from timeful.suites.engagement.kitchen.numbers import Cell, claims, make_cells
from timeful.suites.engagement.kitchen.published import (
    ALL,
    CRITICAL,
    DEFER,
    DISH,
    FINISHED,
    INTERRUPTED,
    MODEL,
    MULTI,
    ONE,
    OVERLAP,
    PRIORITY,
    RESTART,
    RESUME,
    RESUMED,
    SEEN,
    SOFT,
    SWITCHES,
    UTILITY,
)
from timeful.suites.engagement.kitchen.rows import KitchenRow
from timeful.suites.engagement.numbers import Number
from timeful.suites.engagement.parts import (
    BAND_WORDS,
    order_lines,
    verdict,
)
from timeful.suites.parts import unusable, with_half

STAND_IN = "Stand-in: a rule cooks and prose is tutored; no language model was run."

ONLY_WHOLE = "Bands and orders are for whole sets of cases, 128 and 72."

_NAME, _ENTRY = 18, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A published table, or a part of it."""

    name: str
    title: str
    setting: str
    metrics: tuple[str, ...]
    by_family: bool = False

    def cells(self, cells: Sequence[Cell]) -> list[Cell]:
        """Those that stand in it."""
        return [
            cell
            for cell in cells
            if cell.setting == self.setting and (cell.family != ALL) == self.by_family
        ]


_CONTINUITY = (INTERRUPTED, RESUMED, OVERLAP, RESTART)

LAYOUTS = (
    Layout(
        name="Tables 4 and 20",
        title="one dish, one problem",
        setting=ONE,
        metrics=(UTILITY, DISH, SEEN, FINISHED, SWITCHES),
    ),
    Layout(
        name="Tables 4 and 22",
        title="several dishes and problems",
        setting=MULTI,
        metrics=(UTILITY, CRITICAL, SOFT, SEEN, FINISHED),
    ),
    Layout(
        name="Table 22, continued",
        title="several dishes and problems",
        setting=MULTI,
        metrics=(PRIORITY, DEFER, RESUME),
    ),
    Layout(
        name="Table 24",
        title="continuity of tutoring, one dish",
        setting=ONE,
        metrics=_CONTINUITY,
    ),
    Layout(
        name="Table 24",
        title="continuity of tutoring, several dishes",
        setting=MULTI,
        metrics=_CONTINUITY,
    ),
    Layout(
        name="Table 21",
        title="one dish, by dish family",
        setting=ONE,
        metrics=(UTILITY, SEEN, FINISHED),
        by_family=True,
    ),
    Layout(
        name="Table 23",
        title="several dishes, by case family",
        setting=MULTI,
        metrics=(UTILITY, CRITICAL, SOFT, DEFER, RESUME),
        by_family=True,
    ),
)


def text_tables(rows: Sequence[KitchenRow]) -> str:
    """All tables of episodes, in at most 80 columns, and what is to be said about them."""
    cells = make_cells(rows)
    blocks = ["\n".join(_block(layout, cells)) for layout in LAYOUTS if layout.cells(cells)]
    return "\n\n".join([*blocks, "\n".join([*_legend(cells), *_spoken(rows)])]) + "\n"


def _block(layout: Layout, cells: Sequence[Cell]) -> Iterator[str]:
    yield f"{layout.name}: {layout.title}"
    yield _line("", layout.metrics)
    family = ALL
    for cell in layout.cells(cells):
        if cell.family != family:
            family = cell.family
            yield family
        if not cell.numbers:
            yield _line(cell.method, ["failed"])
            continue
        yield _line(cell.method, [text_ours(cell.numbers[name]) for name in layout.metrics])
        published = [cell.published(name) for name in layout.metrics]
        if any(published):
            digits = [cell.numbers[name].metric.decimals for name in layout.metrics]
            entries = [text_published(p, d) for p, d in zip(published, digits, strict=True)]
            yield _line("  published", entries)
        bands = [verdict(cell.band(name), cell.mean(name)) for name in layout.metrics]
        if any(bands):
            yield _line("  band", bands)


def text_ours(number: Number) -> str:
    """A mean and half its interval, such as "21.20±.38"; a dash if nothing was counted."""
    if not number.is_known:
        return "-"
    return with_half(number.mean, number.half_width, number.metric.decimals)


def text_published(published: Published | None, decimals: int) -> str:
    """A published number with its half-width; nothing if none was printed."""
    if published is None:
        return ""
    return with_half(published.value, published.half_width or 0.0, decimals)


def _line(name: str, entries: Sequence[str]) -> str:
    return (f"{name:<{_NAME}}" + "".join(e.ljust(_ENTRY) for e in entries)).rstrip()


def banded(cells: Sequence[Cell]) -> list[tuple[Cell, str, Band]]:
    """The numbers that have a band."""
    return [
        (cell, metric, band)
        for cell in cells
        for metric in cell.numbers
        if (band := cell.band(metric)) is not None
    ]


def _legend(cells: Sequence[Cell]) -> Iterator[str]:
    if all(cell.stand_in for cell in cells):
        yield STAND_IN
    yield f"Published: {MODEL}. Ours: mean over sets of cases, with half of the 95 %"
    yield "bootstrap interval over cases; delays in ticks. Rows without a published line"
    yield "are variants of the rule, and none of the paper's."
    found = banded(cells)
    if not found and all(cell.stand_in for cell in cells):
        yield ONLY_WHOLE
        yield "Numbers of fewer may be far off by chance."
    missed = [(c, m, b) for c, m, b in found if not b.holds(c.mean(m))]
    if found:
        yield BAND_WORDS
        yield f"Bands: {len(found) - len(missed)} of {len(found)} numbers are inside."
    for cell, metric, band in missed:
        yield f"outside: {cell.setting}, {cell.method}: {metric} {cell.mean(metric):.4g},"
        yield f"  band {band.words}"
    yield from order_lines(claims(cells))
    stand_ins = {cell.method for cell in cells if cell.stand_in}
    if {"ReflexPatch", "EP"} <= stand_ins:
        yield "ReflexPatch and EP coincide: the rule, too, finishes soft dishes at once."


def counted(rows: Sequence[KitchenRow]) -> tuple[int, int]:
    """How many answers of language models came to nothing, and how many calls there were."""
    spoken = [row for row in rows if not row.stand_in]
    return sum(row.refused for row in spoken), sum(row.calls for row in spoken)


def _spoken(rows: Sequence[KitchenRow]) -> Iterator[str]:
    """What is to be said of a language model."""
    spoken = [row for row in rows if not row.stand_in]
    if spoken:
        yield unusable(*counted(rows))
        ended = sum(row.out_of_calls for row in spoken)
        yield f"episodes ended by --calls: {ended} of {len(spoken)}"
