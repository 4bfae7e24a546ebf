"""The content of a report: sections of text, grids and figures, whatever renders them.

`html.py` renders sections as one page, `text.py` as plain text of at most 80 columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["", "quiet", "strong", "alarm"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A few sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that must not be overlooked, such as that stand-ins were run."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of remarks."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a grid.

    Attributes:
        text: The value.
        small: Details, shown below the value in small print; not shown in plain text.
        tone: Emphasis; "alarm" is marked with "!" in plain text.
        link: An address relative to the page.
    """

    text: str
    small: str = ""
    tone: Tone = ""
    link: str = ""


Row = tuple[str | Entry | tuple[Entry, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as SVG markup; `alt` describes it in words, and `name` is that of its own file."""

    image: str
    alt: str
    caption: str = ""
    name: str = ""


Block = Paragraph | Notice | Bullets | Grid | Figure


@dataclass(frozen=True, slots=True)
class Section:
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
