"""Sections as one self-contained HTML page.

The page loads nothing: styles and figures are in the one file, so that it opens from a disk,
survives being mailed, and prints. All text is escaped; only figures are markup.
"""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from timeful.reports.page import (
    Block,
    Bullets,
    Entry,
    Figure,
    Grid,
    Notice,
    Paragraph,
    Row,
    Section,
    Tone,
)

INK = "#010203"
"""Figures drawn in this colour get the page's text colour, in light and dark mode."""


def render(
    *, title: str, subtitle: str = "", sections: Sequence[Section], links: Sequence[Entry] = ()
) -> str:
    """Render a whole page.

    Args:
        title: The page's heading.
        subtitle: A line below the heading.
        sections: The content; a page of more than two sections gets a list of contents.
        links: Links to other pages, at the top.
    """
    bodies = [_section(section, number) for number, section in enumerate(sections, start=1)]
    anchors = [
        f'<a href="#s{number}">{escape(section.title)}</a>'
        for number, section in enumerate(sections, start=1)
        if section.title
    ]
    contents = f"<nav>{' '.join(anchors)}</nav>\n" if len(anchors) > 2 else ""
    link_bar = f"<nav>{' '.join(map(_entry, links))}</nav>\n" if links else ""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    below = f'<p class="subtitle">{escape(subtitle)}</p>\n' if subtitle else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"{link_bar}<h1>{escape(title)}</h1>\n{below}{contents}{''.join(bodies)}</main>\n</body>\n</html>\n"
    )


def _section(section: Section, number: int) -> str:
    body = "".join(
        _block(block, f"s{number}b{index}-") for index, block in enumerate(section.blocks)
    )
    title = f"<h2>{escape(section.title)}</h2>" if section.title else ""
    if section.is_folded:
        body = f"<details><summary>{title}</summary>\n{body}</details>\n"
        title = ""
    return f'<section id="s{number}">\n{title}\n{body}</section>\n'


def _block(block: Block, prefix: str) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{escape(text)}</p>\n"
        case Notice(text):
            return f'<p class="notice">{escape(text)}</p>\n'
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>\n"
        case Grid():
            return _grid(block)
        case Figure():
            return _figure(block, prefix)


def _grid(grid: Grid) -> str:
    caption = f"<caption>{escape(grid.caption)}</caption>" if grid.caption else ""
    head = "".join(
        f'<th scope="col"{_classes(index >= grid.words)}>{escape(name)}</th>'
        for index, name in enumerate(grid.head)
    )
    rows = "".join(f"<tr>{_row(row, grid.words)}</tr>\n" for row in grid.rows)
    # A grid with many columns of text is scrolled in a narrow window, not squeezed.
    room = ' class="words"' if grid.words > 3 else ""
    return (
        f'<div class="wide"><table{room}>{caption}\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )


def _row(row: Row, words: int) -> str:
    cells = []
    for index, content in enumerate(row):
        tag, scope = ("th", ' scope="row"') if index == 0 else ("td", "")
        if isinstance(content, tuple):
            tone: Tone = ""
            body = "".join(
                f"<div{_classes(False, entry.tone)}>{_entry(entry)}</div>" for entry in content
            )
        else:
            entry = content if isinstance(content, Entry) else Entry(content)
            tone, body = entry.tone, _entry(entry)
        cells.append(f"<{tag}{scope}{_classes(index >= words, tone)}>{body}</{tag}>")
    return "".join(cells)


def _classes(is_number: bool, tone: Tone = "") -> str:
    names = [*(["number"] if is_number else []), *([tone] if tone else [])]
    return f' class="{" ".join(names)}"' if names else ""


def _entry(entry: Entry) -> str:
    small = f"<small>{escape(entry.small)}</small>" if entry.small else ""
    text = escape(entry.text)
    if entry.link:
        text = f'<a href="{escape(entry.link, quote=True)}">{text}</a>'
    return text + small


def _figure(figure: Figure, prefix: str) -> str:
    alt = escape(figure.alt, quote=True)
    image = f'<div role="img" aria-label="{alt}">{inline_svg(figure.image, prefix)}</div>'
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    return f'<figure><div class="wide">{image}</div>{caption}</figure>\n'


def inline_svg(svg: str, prefix: str) -> str:
    """Prepare an SVG file for embedding in a page with other figures.

    The prologue is removed, ids get a prefix so that they are unique in the page, and `INK`
    becomes the colour of the page's text.
    """
    start = svg.find("<svg")
    body = svg[start:] if start >= 0 else svg
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{prefix}', body)
    body = re.sub(r'href="#', f'href="#{prefix}', body)
    body = body.replace("url(#", f"url(#{prefix}")
    return body.replace(INK, "currentColor")
