"""The tables of the toy experiments: which numbers stand in which, and all of them as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from timeful.suites.engagement.comparison import Published
from timeful.suites.engagement.parts import brief, short
from timeful.suites.engagement.toys.deliberation import CELLS
from timeful.suites.engagement.toys.numbers import METRICS, Number
from timeful.suites.engagement.toys.published import (
    DEPTH_2,
    DEPTH_3,
    MODULE,
    PUBLISHED,
    PUBLISHED_MAIN,
    SEQUENTIAL,
    SINGLE,
    Key,
)

Optima = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A published table: its rows as experiment and method, and what it printed."""

    name: str
    title: str
    rows: tuple[tuple[str, str], ...]
    printed: Mapping[Key, Published]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns: those of the experiment that the table prints."""
        experiment, method = self.rows[0]
        names = [metric.name for metric in METRICS[experiment]]
        return tuple(name for name in names if (experiment, method, name) in self.printed)

    def label(self, experiment: str, method: str) -> str:
        """The name of a row; with its experiment where the table holds several."""
        several = len({row[0] for row in self.rows}) > 1
        return f"{experiment.partition('/')[2]}, {method}" if several else method


def _rows(experiment: str, *methods: str) -> tuple[tuple[str, str], ...]:
    return tuple((experiment, method) for method in methods)


_METHODS = ("EP", "PatchPro", "Patch", "Loop")

MAIN: tuple[Layout, ...] = (
    Layout(
        name="Table 1",
        title="deliberation, evaluated in EP",
        rows=(
            *_rows(SINGLE, "EP -> EP", "Step -> EP"),
            *_rows(SEQUENTIAL, "EP -> EP", "Step -> EP"),
        ),
        printed=PUBLISHED_MAIN,
    ),
    Layout(
        name="Table 2a",
        title="patrol, interruption of modules",
        rows=_rows(MODULE, "EP", "Loop"),
        printed=PUBLISHED_MAIN,
    ),
    Layout(
        name="Table 2b",
        title="patrol, interruption within modules",
        rows=(*_rows(DEPTH_2, *_METHODS), *_rows(DEPTH_3, *_METHODS)),
        printed=PUBLISHED_MAIN,
    ),
)
"""The tables of the main text."""

APPENDIX: tuple[Layout, ...] = tuple(
    Layout(name=name, title=title, rows=_rows(experiment, *methods), printed=PUBLISHED)
    for name, title, experiment, methods in (
        ("Table 8", "deliberation, a single task", SINGLE, CELLS),
        ("Table 9", "deliberation, ten tasks in sequence", SEQUENTIAL, CELLS),
        ("Table 14", "patrol, module level", MODULE, ("EP", "Loop")),
        ("Table 15", "patrol, two phases", DEPTH_2, _METHODS),
        ("Table 16", "patrol, three phases", DEPTH_3, _METHODS),
    )
)
"""The complete tables of the appendix."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table under a method: whose numbers, and one for each metric, or None."""

    name: str
    entries: tuple[Number | Published | float | None, ...]


def lines(
    layout: Layout, row: tuple[str, str], numbers: Iterable[Number], optima: Optima
) -> list[Line]:
    """What stands under a method: the published line, one for each learner, and the optimum.

    Returns:
        The lines; none if nothing of ours was run.
    """
    found: dict[str, dict[str, Number]] = {}
    for number in numbers:
        if (number.experiment, number.method) == row:
            found.setdefault(number.learner, {})[number.metric.name] = number
    if not found:
        return []
    printed = tuple(layout.printed.get((*row, metric)) for metric in layout.metrics)
    made = [Line("published", printed)]
    for learner, by_metric in found.items():
        made.append(Line(learner, tuple(by_metric.get(metric) for metric in layout.metrics)))
    if row in optima:
        made.append(Line("optimum", (optima[row], *[None] * (len(layout.metrics) - 1))))
    return made


_NAME = 11
_ENTRY = 17


def text_tables(numbers: Sequence[Number], optima: Optima) -> str:
    """All tables as plain text of at most 80 columns, for the end of a run."""
    blocks = [block for layout in APPENDIX if (block := _block(layout, numbers, optima))]
    return "\n\n".join([*blocks, "\n".join(_legend(numbers))]) + "\n"


def _block(layout: Layout, numbers: Sequence[Number], optima: Optima) -> str:
    made = [f"{layout.name}: {layout.title}", _line("", layout.metrics)]
    for row in layout.rows:
        shown = lines(layout, row, numbers, optima)
        made += [layout.label(*row)] if shown else []
        for line in shown:
            entries = [
                text_entry(entry, decimals=metric.decimals)
                for entry, metric in zip(line.entries, METRICS[row[0]], strict=False)
            ]
            made += _named(line.name, entries)
    return "\n".join(made) if len(made) > 2 else ""


def _named(name: str, entries: Sequence[str]) -> list[str]:
    """A line with its name before it, or above it if it is long."""
    if len(name) < _NAME:
        return [_line(name, entries)]
    return [f"{name}", _line("", entries)]


def _line(name: str, entries: Iterable[str]) -> str:
    return (name.ljust(_NAME) + "".join(f"{entry:<{_ENTRY - 1}} " for entry in entries)).rstrip()


def text_entry(entry: Number | Published | float | None, *, decimals: int) -> str:
    """One entry in at most 16 characters, such as "0.77±.05 [.10]"."""
    match entry:
        case None:
            return ""
        case float():
            return f"{entry:.{decimals}f}"
        case Published():
            width = "" if entry.half_width is None else short(entry.half_width, decimals)
            return f"{entry.value:.{decimals}f}{'±' if width else ''}{width}"
        case Number():
            half = short((entry.high - entry.low) / 2, decimals)
            spread = "" if entry.spread is None else f" [{brief(entry.spread)}]"
            return f"{entry.mean:.{decimals}f}±{half}{spread}"


def outside(numbers: Iterable[Number]) -> list[Number]:
    """The numbers that have a band and are not in it."""
    return [
        number
        for number in numbers
        if number.band is not None and not number.band.holds(number.mean)
    ]


def _legend(numbers: Sequence[Number]) -> Iterator[str]:
    yield "Means over training seeds, with half of the 95 % bootstrap interval over"
    yield "evaluation episodes, as published; [spread]: standard deviation over seeds."
    yield "Published numbers are those of one training seed. Optimum: the exact mean of"
    yield "the best policy there is. Tables 1 and 2 are parts of these, and in the report."
    banded = [number for number in numbers if number.band is not None]
    missed = outside(numbers)
    yield f"Bands: {len(banded) - len(missed)} of {len(banded)} numbers are inside."
    for number in missed:
        assert number.band is not None
        yield f"outside: {number.experiment}, {number.method}, {number.learner}:"
        yield (f"  {number.metric.name} {number.mean:.4g}, band {number.band.words}")
