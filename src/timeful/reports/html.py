"""Sections as one self-contained HTML page.

The page loads nothing: styles and figures are in the one file, so that it opens from a disk,
survives being mailed, and prints. All text is escaped; only figures are markup.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape

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
    below = f'<p class="subtitle">{escape(subtitle)}</p>\n' if subtitle else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
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
    if isinstance(figure.image, bytes):
        data = b64encode(figure.image).decode()
        image = f'<img alt="{alt}" src="data:image/png;base64,{data}">'
    else:
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


_STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --quiet: #626b76; --paper: #ffffff;
  --line: #d5dae0; --tint: #f2f4f7; --notice: #fff3d6; --edge: #d99a00; --alarm: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --quiet: #9aa4af; --paper: #16191d;
  --line: #3a4149; --tint: #21262c; --notice: #3a2f12; --edge: #d99a00; --alarm: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 940px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.4em 0 0.2em; }
h2 { font-size: 1.2rem; margin: 2em 0 0.5em; padding-bottom: 0.2em;
  border-bottom: 1px solid var(--line); }
p, ul { max-width: 46em; margin: 0.6em 0; }
li { margin: 0.25em 0; overflow-wrap: anywhere; }
.subtitle, small, caption, figcaption { color: var(--quiet); }
nav { display: flex; flex-wrap: wrap; gap: 0.2em 1.2em; margin: 1em 0; font-size: 0.9rem; }
a { color: inherit; text-decoration-color: var(--quiet); text-underline-offset: 0.2em; }
.notice { background: var(--notice); border-left: 4px solid var(--edge); padding: 0.6em 0.9em;
  max-width: none; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; min-width: min(100%, 31em); margin: 0.8em 0 1.4em;
  font-size: 0.9rem;  font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0.3em 0; font-weight: 600; }
th, td { padding: 0.35em 0.8em; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
thead th { background: var(--tint); font-weight: 600; }
tbody th { font-weight: 500; white-space: nowrap; position: sticky; left: 0;
  background: var(--paper); }
td { overflow-wrap: anywhere; }
td:not(.number) { min-width: 8em; }  /* or words fall apart beside many numbers */
.number { text-align: right; white-space: nowrap; }
thead .number { white-space: normal; }
table.words { min-width: 52em; }
small { display: block; font-size: 0.8rem; line-height: 1.35; font-weight: 400; }
.quiet { color: var(--quiet); }
.strong { font-weight: 650; }
.alarm { color: var(--alarm); font-weight: 650; }
figure { margin: 1em 0 1.6em; }
figure svg, figure img { display: block; width: 100%; min-width: 620px; height: auto; }
figcaption { font-size: 0.88rem; max-width: 52em; margin-top: 0.3em; }
summary { cursor: pointer; }
summary h2 { display: inline-block; margin: 1em 0 0.4em; border: 0; }
@media print {
  :root { --ink: #000; --quiet: #444; --paper: #fff; --line: #bbb; --tint: #f2f2f2;
    --notice: #fff; --alarm: #b3261e; color-scheme: light; }
  main { max-width: none; padding: 0; }
  body { font-size: 10.5pt; }
  nav { display: none; }
  .wide { overflow: visible; }
  figure svg, figure img { min-width: 0; }
  table, figure, .notice { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""
