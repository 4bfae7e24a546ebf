"""Sections as plain text of at most 80 columns, for the end of a run."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from timeful.reports.page import Block, Bullets, Entry, Figure, Grid, Notice, Paragraph, Section

WIDTH = 80
_LABEL = 30
_GAP = 2


def render_text(sections: Iterable[Section]) -> str:
    """Render the sections that are printed."""
    blocks = [
        "\n".join(lines)
        for section in sections
        if section.is_printed
        for block in section.blocks
        if (lines := list(_block(block)))
    ]
    return "\n\n".join(blocks) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text) | Notice(text):
            yield from wrap(text, WIDTH, break_on_hyphens=False)
        case Bullets(items):
            for item in items:
                yield from wrap(
                    item, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
                )
        case Grid():
            yield from render_grid(block)
        case Figure():
            return


def render_grid(grid: Grid) -> Iterator[str]:
    """Render a grid; columns that do not fit on a line follow below, each with the words."""
    rows = [[_text(content) for content in row] for row in grid.rows]
    table = [list(grid.head), *rows]
    labels = [line[0] for line in table]
    label_width = min(_LABEL, max(len(label) for label in labels))
    widths = [max(len(line[index]) for line in table) + _GAP for index in range(1, len(grid.head))]
    if grid.caption:
        yield from wrap(grid.caption, WIDTH, break_on_hyphens=False)
    gap = "" if grid.words == 1 else " " * _GAP
    for columns in _split_columns(widths, WIDTH - label_width - len(gap), grid.words - 1):
        for line, label in zip(table, labels, strict=True):
            entries = [
                text.ljust(width)[:WIDTH] if index < grid.words - 1 else text.rjust(width)
                for index in columns
                for text, width in [(line[index + 1], widths[index])]
            ]
            if line is not table[0] and not any(text.strip() for text in (label, *entries)):
                continue
            *above, last = wrap(label, label_width, break_on_hyphens=False) or [""]
            if label.startswith(" "):
                above, last = [], label[:label_width]
            yield from above
            yield f"{last:<{label_width}}{gap}{''.join(entries)}".rstrip()


def _split_columns(widths: Sequence[int], room: int, words: int) -> Iterator[list[int]]:
    """Cut columns into parts that fit; each begins with the columns of words."""
    first = list(range(min(words, len(widths))))
    part = list(first)
    for index in range(words, len(widths)):
        if sum(widths[i] for i in part) + widths[index] > room and len(part) > words:
            yield part
            part = list(first)
        part.append(index)
    yield part


def _text(content: str | Entry | tuple[Entry, ...]) -> str:
    if isinstance(content, tuple):
        return " ".join(_text(entry) for entry in content)
    if isinstance(content, Entry):
        return content.text + ("!" if content.tone == "alarm" and content.text else "")
    return content


def format_span(seconds: float) -> str:
    """A span of time in a few letters."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def shorten(number: float) -> str:
    """A number in a few letters."""
    if number < 1e4:
        return f"{number:,.0f}"
    size, unit = next(pair for pair in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if number >= pair[0])
    return f"{number / size:,.1f} {unit}"
