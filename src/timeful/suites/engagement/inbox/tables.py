"""The tables of the inbox as plain text of at most 80 columns, for the end of a run."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from timeful.suites.engagement.comparison import Metric, Published
from timeful.suites.engagement.inbox.numbers import COLUMNS, Cell, claims, make_cells
from timeful.suites.engagement.inbox.published import MAIN_MODEL
from timeful.suites.engagement.inbox.rows import InboxRow
from timeful.suites.engagement.inbox.spec import METHODS, MODEL, Sweep
from timeful.suites.engagement.parts import (
    BAND_WORDS,
    order_lines,
    verdict,
)
from timeful.suites.parts import unusable, with_half

POLICY_TITLES = {
    "stand-in": "stand-in: fitted rules sort the emails",
    "urgent-first": "ablation: all emails are handled, urgent first",
}

STAND_IN = "Stand-in: rules sort the emails, no language model was run."

WHOLE = Sweep().seeds * Sweep().episodes
"""How many episodes of each kind the paper has."""

_NAME, _WHOSE, _ENTRY = 14, 10, 11


def title(cell: Cell) -> str:
    """What the table says that a cell stands in."""
    policy = POLICY_TITLES.get(cell.policy, f"{cell.model} sorts the emails")
    return f"{cell.decomposition}; {policy}"


def text_tables(rows: Sequence[InboxRow]) -> str:
    """All tables of episodes and what is to be said about them."""
    cells = make_cells(rows)
    blocks = ["\n".join(_block(list(part))) for _, part in groupby(cells, key=title)]
    return "\n\n".join([*blocks, "\n".join([*_legend(cells), *_spoken(rows)])]) + "\n"


def _block(cells: Sequence[Cell]) -> Iterator[str]:
    yield f"Tables 3 and 18: {title(cells[0])}"
    yield _line("", "", [metric.name for metric in COLUMNS])
    for cell in cells:
        name = METHODS.get(cell.interface, cell.interface)
        if not cell.numbers:
            yield _line(name, "ours", ["failed"])
            continue
        yield _line(name, "ours", [_ours(cell, metric) for metric in COLUMNS])
        if any(cell.published(metric.name) for metric in COLUMNS):
            theirs = [text_published(cell.published(each.name), each) for each in COLUMNS]
            yield _line("", "published", theirs)
        inside = [verdict(cell.band(one.name), cell.mean(one.name)) for one in COLUMNS]
        if any(inside):
            yield _line("", "band", inside)


def _ours(cell: Cell, metric: Metric) -> str:
    number = cell.numbers[metric.name]
    return _fitted(number.mean, number.half_width, metric)


def text_published(published: Published | None, metric: Metric) -> str:
    """A published number with its half-width, as it was printed."""
    if published is None:
        return ""
    return _fitted(published.value, published.half_width or 0.0, metric)


def _fitted(mean: float, half_width: float, metric: Metric) -> str:
    """A mean and half its interval, with as many digits as fit."""
    for digits in range(metric.decimals, -1, -1):
        text = with_half(mean, half_width, digits)
        if len(text) < _ENTRY:
            break
    return text


def _line(name: str, whose: str, entries: Sequence[str]) -> str:
    cells = "".join(entry.ljust(_ENTRY) for entry in entries)
    return f"{name:<{_NAME}}{whose:<{_WHOSE}}{cells}".rstrip()


def outside(cells: Sequence[Cell]) -> list[tuple[Cell, str]]:
    """The numbers that have a band and are not in it."""
    return [
        (cell, metric.name)
        for cell in cells
        for metric in COLUMNS
        if cell.numbers
        and (band := cell.band(metric.name)) is not None
        and not band.holds(cell.mean(metric.name))
    ]


def _legend(cells: Sequence[Cell]) -> Iterator[str]:
    if all(cell.stand_in for cell in cells):
        yield STAND_IN
    yield f"Published: {MAIN_MODEL}. ±: bootstrap 95 % over episodes, 1,000 resamples."
    banded = sum(
        cell.band(metric.name) is not None for cell in cells if cell.numbers for metric in COLUMNS
    )
    missed = outside(cells)
    if banded:
        yield BAND_WORDS
        yield f"Bands: {banded - len(missed)} of {banded} numbers are inside."
        if any(cell.episodes < WHOLE for cell in cells):
            yield f"With fewer than {WHOLE:,} episodes, some may be outside by chance."
    for cell, metric in missed:
        band = cell.band(metric)
        assert band is not None
        yield f"outside: {cell.decomposition}, {cell.policy}, {METHODS[cell.interface]}:"
        yield f"  {metric} {cell.mean(metric):.3f}, band {band.words}"
    yield from order_lines(claims(cells))
    if any(cell.policy == MODEL for cell in cells):
        yield "No band is set for language models."


def counted(rows: Sequence[InboxRow]) -> tuple[int, int]:
    """How many answers of language models could not be used, and how many there were."""
    spoken = [row for row in rows if not row.stand_in]
    return sum(row.malformed for row in spoken), sum(row.answers for row in spoken)


def _spoken(rows: Sequence[InboxRow]) -> Iterator[str]:
    """What is to be said of a language model."""
    spoken = [row for row in rows if not row.stand_in]
    if not spoken:
        return
    yield unusable(*counted(rows))
    if any(row.hints for row in spoken):
        yield "Emails came with a recommendation: the fitted rule's own odds (--no-hints)."
    if any(row.priced_by == "decision" for row in spoken):
        yield "A decision took the same time whatever was said: to reason about emails was"
        yield "free of time, as in Table 17 (--triage-pace tokens)."
