"""A page as one self-contained HTML file.

The page loads nothing: styles and figures are in the one file, so that it opens from a disk,
survives being mailed, and prints. All text is escaped; only figures are markup. A table that is
wider than the window becomes a list of its rows, so that no column is cut.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from shlex import quote as shell_quote
from urllib.parse import quote

import msgspec

from timeful.controls import escape as show_hidden
from timeful.reports.page import (
    MODEL,
    Block,
    Bullets,
    Entry,
    Figure,
    Grid,
    Notice,
    Page,
    Paragraph,
    Row,
    Section,
    Tone,
    read_page,
)
from timeful.reports.results import Scalar, show_value

INK = "#010203"
"""Figures drawn in this colour get the page's text colour, in light and dark mode."""

VIEWS = ("view.html", "view/index.html")
"""Exports of the viewer in a run folder, which the numbers of its report link to."""

_STEP = 40
_MARGIN = 60
"""The room beside a table, in pixels."""

_CARDS = re.compile(r'<table class="cards-(\d+)')


def write_page(page: Page, folder: Path) -> Path:
    """Write `report.json`, the page itself, and `report.html`, and return the path of the latter.

    Numbers that name their episodes link to an export of the viewer if the folder has one.
    """
    (folder / MODEL).write_bytes(msgspec.json.encode(page))
    view = next((name for name in VIEWS if (folder / name).is_file()), "")
    path = folder / "report.html"
    path.write_text(render(page, view=view), encoding="utf-8", newline="\n")
    return path


def link_report(export: Path) -> Path | None:
    """Link the report of a run to an export of the viewer in its folder; None if it has none."""
    for name in VIEWS:
        folders = list(export.parents)[name.count("/") :]
        if not folders:  # a relative path
            continue
        folder = folders[0]
        if folder / name == export and (page := read_page(folder)) is not None:
            return write_page(page, folder)
    return None


def render(page: Page, *, view: str = "") -> str:
    """Render a whole page.

    Args:
        page: The page.
        view: The address of an export of the viewer, relative to the page. Without it, numbers
            that name their episodes link to the command that shows them.
    """
    renderer = _Renderer(view=view)
    bodies = [renderer.section(section, n) for n, section in enumerate(page.sections, start=1)]
    titles = [section.title for section in page.sections]
    if renderer.commands:
        titles.append("Episodes behind the numbers")
        bodies.append(renderer.section(_list_commands(renderer.commands), len(titles)))
    anchors = [
        f'<a href="#s{n}">{_text(title)}</a>' for n, title in enumerate(titles, start=1) if title
    ]
    contents = f"<nav>{' '.join(anchors)}</nav>\n" if len(anchors) > 2 else ""
    links = f"<nav>{' '.join(map(renderer.entry, page.links))}</nav>\n" if page.links else ""
    below = f'<p class="subtitle">{_text(page.subtitle)}</p>\n' if page.subtitle else ""
    body, title = "".join(bodies), _text(page.title)
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    style += "".join(map(_card_rules, sorted({int(width) for width in _CARDS.findall(body)})))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"{links}<h1>{title}</h1>\n{below}{contents}{body}</main>\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return escape(show_hidden(text))


def _list_commands(commands: Iterable[str]) -> Section:
    text = Paragraph(
        "These commands, in the folder of this report, show the episodes in a browser. After "
        "`timeful view . --export view.html`, each number of this page opens its episodes."
    )
    entries = tuple((Entry(command),) for command in commands)
    return Section("Episodes behind the numbers", (text, Grid(head=("command",), rows=entries)))


@dataclass(slots=True, kw_only=True)
class _Renderer:
    """Renders the blocks of a page; it notes the commands that show episodes, with their place."""

    view: str
    commands: dict[str, int] = field(default_factory=dict)

    def section(self, section: Section, number: int) -> str:
        body = "".join(
            self.block(block, f"s{number}b{index}-") for index, block in enumerate(section.blocks)
        )
        title = f"<h2>{_text(section.title)}</h2>" if section.title else ""
        if section.is_folded:
            body = f"<details><summary>{title}</summary>\n{body}</details>\n"
            title = ""
        return f'<section id="s{number}">\n{title}\n{body}</section>\n'

    def block(self, block: Block, prefix: str) -> str:
        match block:
            case Paragraph(text):
                return f"<p>{_text(text)}</p>\n"
            case Notice(text):
                return f'<p class="notice">{_text(text)}</p>\n'
            case Bullets(items):
                return "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>\n"
            case Grid():
                return self.grid(block)
            case Figure():
                return _figure(block, prefix)

    def grid(self, grid: Grid) -> str:
        caption = f"<caption>{_text(grid.caption)}</caption>" if grid.caption else ""
        head = "".join(
            f'<th scope="col"{_classes(index >= grid.words)}>{_text(name)}</th>'
            for index, name in enumerate(grid.head)
        )
        rows = "".join(f"<tr>{self.row(row, grid)}</tr>\n" for row in grid.rows)
        width = _STEP * -(-estimate_width(grid) // _STEP)
        room = " full" if width > 900 else ""
        return (
            f'<div class="wide{room}"><table class="cards-{width}">{caption}\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        )

    def row(self, row: Row, grid: Grid) -> str:
        cells = []
        for index, content in enumerate(row):
            tone: Tone = ""
            if isinstance(content, tuple):
                body = "".join(
                    f"<div{_classes(False, entry.tone)}>{self.entry(entry)}</div>"
                    for entry in content
                )
            else:
                entry = content if isinstance(content, Entry) else Entry(content)
                tone, body = entry.tone, self.entry(entry)
            if index == 0:
                cells.append(f'<th scope="row"{_classes(grid.words < 1, tone)}>{body}</th>')
            else:
                head = escape(show_hidden(grid.head[index]), quote=True)
                cells.append(
                    f'<td{_classes(index >= grid.words, tone)} data-head="{head}">{body}</td>'
                )
        return "".join(cells)

    def entry(self, entry: Entry) -> str:
        small = f"<small>{_text(entry.small)}</small>" if entry.small else ""
        text, link = _text(entry.text), entry.link
        name = ""
        if entry.where and self.view:
            where = quote(json.dumps(dict(entry.where), separators=(",", ":")))
            link = f"{self.view}#/~0/episodes?where={where}"
        elif entry.where:
            command = show_command(entry.where)
            number = self.commands.setdefault(command, len(self.commands) + 1)
            link = f"#e{number}"
        elif entry.text in self.commands:
            name = f' id="e{self.commands[entry.text]}"'
        if name:
            text = f"<code{name}>{text}</code>"
        elif link and text:
            text = f'<a href="{escape(link, quote=True)}">{text}</a>'
        return text + small


def show_command(where: Iterable[tuple[str, Scalar]]) -> str:
    """The command that shows the episodes with some values, in the folder of their run."""
    options = (f" --episodes {shell_quote(f'{n}={show_value(v)}')}" for n, v in where)
    return "timeful view ." + "".join(options)


def estimate_width(grid: Grid) -> int:
    """The width that the columns of a grid need, in pixels, from the lengths of their texts."""
    rows = [(*map(_longest, row),) for row in grid.rows]
    total = 0
    for index, name in enumerate(grid.head):
        words = [len(word) for word in name.split()]
        texts = [row[index] for row in rows if index < len(row)]
        if index >= grid.words:
            total += 9 * max(*words, *texts, 1, 1) + 24
        else:
            total += 8 * min(max(len(name), *texts, 6), 40 if index else 24) + 24
    return total


def _longest(content: str | Entry | tuple[Entry, ...]) -> int:
    entries = content if isinstance(content, tuple) else (content,)
    return max(
        (
            max(len(e.text), round(0.85 * len(e.small))) if isinstance(e, Entry) else len(e)
            for e in entries
        ),
        default=0,
    )


def _card_rules(width: int) -> str:
    """The style of tables of this width in a window that is narrower: each row is a card."""
    styles = {
        "": "display: block; min-width: 0;",
        " caption, {} tbody": "display: block;",
        " thead, {} td:empty": "display: none;",
        " tr": "display: grid; grid-template-columns: repeat(auto-fill, minmax(8.6em, 1fr));",
        " tbody th": "grid-column: 1 / -1; position: static; font-weight: 600;",
        " td": "border: 0; padding: 0.2em 0.8em; text-align: left; min-width: 0;",
        " td::before": "content: attr(data-head); display: block; color: var(--quiet); "
        "font-size: 0.8rem; font-weight: 400;",
    }
    table = f".cards-{width}"
    rules = [f"{table}{selector.format(table)} {{ {style} }}" for selector, style in styles.items()]
    return f"@media (max-width: {width + _MARGIN}px) {{\n" + "\n".join(rules) + "\n}\n"


def _classes(is_number: bool, tone: Tone = "") -> str:
    names = [*(["number"] if is_number else []), *([tone] if tone else [])]
    return f' class="{" ".join(names)}"' if names else ""


def _figure(figure: Figure, prefix: str) -> str:
    alt = escape(show_hidden(figure.alt), quote=True)
    title = escape(show_hidden(figure.title or "figure"), quote=True)
    image = (
        f'<div class="wide" role="group" tabindex="0" aria-label="{title}">'
        f'<div role="img" aria-label="{alt}">{inline_svg(figure.image, prefix)}</div></div>'
    )
    head = f'<p class="title">{_text(figure.title)}</p>' if figure.title else ""
    caption = f"<figcaption>{_text(figure.caption)}</figcaption>" if figure.caption else ""
    return f"<figure>{head}{image}{caption}</figure>\n"


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
