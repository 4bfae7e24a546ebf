"""The tables of the inbox as plain text of at most 80 columns, for the end of a run."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from timeful.suites.engagement.comparison import Metric, Published
from timeful.suites.engagement.inbox.numbers import COLUMNS, Cell, claims
from timeful.suites.engagement.inbox.published import MAIN_MODEL
from timeful.suites.engagement.inbox.spec import METHODS, MODEL
from timeful.suites.engagement.parts import order_lines, verdict, with_half

POLICY_TITLES = {
    "stand-in": "stand-in: fitted rules sort the emails",
    "urgent-first": "ablation: all emails are handled, urgent first",
}

STAND_IN = "Stand-in: rules sort the emails, no language model was run."

_NAME, _WHOSE, _ENTRY = 14, 10, 11


def title(cell: Cell) -> str:
    """What the table says that a cell stands in."""
    policy = POLICY_TITLES.get(cell.policy, f"{cell.model} sorts the emails")
    return f"{cell.decomposition}; {policy}"


def text_tables(cells: Sequence[Cell]) -> str:
    """All tables and what is to be said about them."""
    blocks = ["\n".join(_block(list(part))) for _, part in groupby(cells, key=title)]
    return "\n\n".join([*blocks, "\n".join(_legend(cells))]) + "\n"


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
        yield f"Bands: {banded - len(missed)} of {banded} numbers are inside."
    for cell, metric in missed:
        band = cell.band(metric)
        assert band is not None
        yield f"outside: {cell.decomposition}, {cell.policy}, {METHODS[cell.interface]}:"
        yield f"  {metric} {cell.mean(metric):.3f}, band {band.words}"
    yield from order_lines(claims(cells))
    if any(cell.policy == MODEL for cell in cells):
        yield "No band is set for language models."
