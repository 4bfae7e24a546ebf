"""The generic page: escaped, self-contained, and with figures that do not clash."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from timeful.errors import RecordError
from timeful.reports.html import (
    INK,
    estimate_width,
    inline_svg,
    link_report,
    render,
    show_command,
    write_page,
)
from timeful.reports.page import (
    Bullets,
    Entry,
    Figure,
    Grid,
    Notice,
    Page,
    Paragraph,
    Section,
    read_page,
)

SVG = (
    '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x" "http://www.w3.org/x.dtd">\n'
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    "<metadata>\n<rdf>who</rdf>\n</metadata>"
    f'<defs><path id="a" d="M0 0"/></defs><use xlink:href="#a" style="fill: {INK}"/>'
    '<g clip-path="url(#a)"/></svg>'
)


def render_page(**fields: Any) -> str:
    return render(Page(**fields))


def test_two_figures_in_one_page_share_no_names() -> None:
    figure = Figure(image=SVG, alt="a path")
    page = render_page(title="t", sections=[Section("s", (figure, figure))])
    assert page.count('id="s1b0-a"') == page.count('id="s1b1-a"') == 1
    assert page.count('xlink:href="#s1b1-a"') == page.count("url(#s1b1-a)") == 1


def test_an_inline_figure_loses_its_prologue_and_takes_the_ink_of_the_page() -> None:
    inline = inline_svg(SVG, "p-")
    assert inline.startswith("<svg")
    assert "metadata" not in inline
    assert INK not in inline
    assert "fill: currentColor" in inline


def test_all_text_is_escaped() -> None:
    evil = '<i> & "'
    table = Grid(head=(evil,), rows=((Entry(evil, evil),),), caption=evil)
    blocks = (Paragraph(evil), Notice(evil), Bullets((evil,)), table)
    figure = Figure(image="", alt=evil, caption=evil)
    page = render_page(title=evil, subtitle=evil, sections=[Section(evil, (*blocks, figure))])
    assert "<i>" not in page
    assert page.count("&lt;i&gt; &amp; ") == 13


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    table = Grid(head=("a", "b", "c"), rows=(("x", "y", Entry("1", tone="alarm")),), words=2)
    page = render_page(title="t", sections=[Section("s", (table,))])
    assert '<th scope="row">x</th><td data-head="b">y</td>' in page
    assert '<td class="number alarm" data-head="c">1</td>' in page
    assert '<th scope="col">b</th><th scope="col" class="number">c</th>' in page


def test_a_folded_section_opens_on_a_click() -> None:
    page = render_page(title="t", sections=[Section("s", (Paragraph("p"),), is_folded=True)])
    assert "<details><summary><h2>s</h2></summary>" in page


def test_only_longer_pages_have_contents() -> None:
    sections = [Section(name, ()) for name in "abc"]
    assert "<nav>" not in render_page(title="t", sections=sections[:2])
    assert '<a href="#s3">c</a>' in render_page(title="t", sections=sections)


def test_entries_in_one_place_stand_below_each_other_each_with_its_tone() -> None:
    entries = (Entry("a", tone="alarm"), Entry("b"))
    page = render_page(title="t", sections=[Section("s", (Grid(head=("h",), rows=((entries,),)),))])
    assert '<th scope="row"><div class="alarm">a</div><div>b</div></th>' in page


def test_links_to_other_pages_stand_above_everything_else() -> None:
    page = render_page(title="t", sections=[], links=[Entry("back", link="../a.html")])
    assert '<nav><a href="../a.html">back</a></nav>\n<h1>t</h1>' in page


def test_a_number_leads_to_its_episodes(tmp_path: Path) -> None:
    where = (("agent", "it's"), ("level", None), ("tokens", 8))
    grid = Grid(head=("", "score"), rows=(("a", Entry("1", where=where)),))
    page = Page(title="t", sections=[Section("s", (grid,))])
    command = "timeful view . --episodes 'agent=it'\"'\"'s' --episodes level=null"
    assert show_command(where) == f"{command} --episodes tokens=8"
    text = write_page(page, tmp_path).read_text()
    assert '<a href="#e1">1</a>' in text
    assert f'<code id="e1">{escape(command)}' in text
    (tmp_path / "view").mkdir()
    (tmp_path / "view" / "index.html").touch()
    assert link_report(tmp_path / "view" / "index.html") == tmp_path / "report.html"
    (address,) = re.findall('href="(view/[^"]*)"', (tmp_path / "report.html").read_text())
    assert json.loads(unquote(address.partition("where=")[2])) == dict(where)
    assert link_report(tmp_path / "other.html") is None
    assert link_report(Path("other.html")) is None


def test_the_model_of_a_page_is_kept(tmp_path: Path) -> None:
    grid = Grid(head=("", "n"), rows=(("a", (Entry("1"), Entry("2", tone="alarm"))),))
    blocks = (Paragraph("p"), Notice("n"), Bullets(("b",)), grid, Figure(image=SVG, alt="a"))
    page = Page(title="t", sections=[Section("s", blocks, is_folded=True)], links=[Entry("l")])
    write_page(page, tmp_path)
    assert read_page(tmp_path) == page
    (tmp_path / "report.json").write_text("[]")
    with pytest.raises(RecordError):
        read_page(tmp_path)
    assert read_page(tmp_path / "none") is None


def test_control_characters_are_visible_and_never_commands() -> None:
    text = render_page(title="\x1b[31m\u202et", sections=[Section("\x00", (Paragraph("\u2066"),))])
    assert not set("\x00\x1b\u202e\u2066") & set(text)
    assert "\\u001b[31m\\u202et" in text


def test_a_wide_table_is_a_list_of_its_rows_in_a_narrow_window() -> None:
    narrow = Grid(head=("a", "b"), rows=(("x", "1"),))
    wide = Grid(head=("a", *"bcdefghijk"), rows=(("x", *["0.123±.045"] * 10),))
    assert estimate_width(narrow) < 300
    assert 1000 < estimate_width(wide) < 1300
    page = render_page(title="t", sections=[Section("s", (narrow, wide))])
    for width in re.findall(r'<table class="cards-(\d+)"', page):
        assert f"@media (max-width: {int(width) + 60}px)" in page
    assert page.count('<div class="wide full">') == 1
