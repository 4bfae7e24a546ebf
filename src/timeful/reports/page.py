"""The content of a report: sections of text, grids and figures, whatever renders them.

`html.py` renders a page as one file, `text.py` as plain text of at most 80 columns, and the viewer
on the page of a run, from the page model in `report.json`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from timeful.errors import RecordError
from timeful.files import decode
from timeful.reports.results import Scalar

MODEL = "report.json"
"""The file of a run folder that has the page of its report."""

Tone = Literal["", "quiet", "strong", "alarm"]


class Paragraph(msgspec.Struct, frozen=True, tag=True):
    """A few sentences."""

    text: str


class Notice(msgspec.Struct, frozen=True, tag=True):
    """A sentence that must not be overlooked, such as that stand-ins were run."""

    text: str


class Bullets(msgspec.Struct, frozen=True, tag=True):
    """A list of remarks."""

    items: tuple[str, ...]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of a grid.

    Attributes:
        text: The value.
        small: Details, shown below the value in small print; not shown in plain text.
        tone: Emphasis; "alarm" is marked with "!" in plain text.
        link: An address relative to the page.
        where: The values, by column, of the episodes that a number was computed from.
    """

    text: str
    small: str = ""
    tone: Tone = ""
    link: str = ""
    where: tuple[tuple[str, Scalar], ...] = ()


Row = tuple[str | Entry | tuple[Entry, ...], ...]


class Grid(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A table that is laid out: a head, and rows with as many entries.

    Attributes:
        head: The name of each column.
        rows: The entries; several entries in one position are shown below each other.
        caption: The title.
        words: The number of leading columns that hold text and are aligned left.
    """

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    words: int = 1


class Figure(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A figure as SVG markup.

    Attributes:
        image: The markup.
        alt: What it shows, in words.
        title: What is seen, shown above it.
        caption: Details, shown below it.
        name: The name of its own file; "" for none.
    """

    image: str
    alt: str
    title: str = ""
    caption: str = ""
    name: str = ""


Block = Paragraph | Notice | Bullets | Grid | Figure


class Section(msgspec.Struct, frozen=True):
    """A heading and its blocks.

    Attributes:
        title: The heading.
        blocks: The content, in order.
        is_folded: Whether a page shows the content only after a click.
        is_printed: Whether the section is also printed at the end of a run.
    """

    title: str
    blocks: tuple[Block, ...]
    is_folded: bool = False
    is_printed: bool = False


def bullets(items: Sequence[str]) -> tuple[Bullets, ...]:
    """Make a list of remarks; nothing if there are none."""
    return (Bullets(tuple(items)),) if items else ()


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A whole page.

    Attributes:
        title: The heading.
        subtitle: A line below it.
        sections: The content; a page of more than two sections gets a list of contents.
        links: Links to other pages, at the top.
    """

    title: str
    subtitle: str = ""
    sections: Sequence[Section] = ()
    links: Sequence[Entry] = ()


def read_page(folder: Path) -> Page | None:
    """Read the page of the report in a folder; None if there is none.

    Raises:
        RecordError: If the file cannot be read as a page.
    """
    path = folder / MODEL
    if not path.is_file():
        return None
    try:
        return decode(path.read_bytes(), Page)
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read as a page: {error}") from error
