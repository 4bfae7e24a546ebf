"""The generic page: escaped, self-contained, and with figures that do not clash."""

from timeful.reports.html import INK, inline_svg, render
from timeful.reports.page import Bullets, Entry, Figure, Grid, Notice, Paragraph, Section

SVG = (
    '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x" "http://www.w3.org/x.dtd">\n'
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    "<metadata>\n<rdf>who</rdf>\n</metadata>"
    f'<defs><path id="a" d="M0 0"/></defs><use xlink:href="#a" style="fill: {INK}"/>'
    '<g clip-path="url(#a)"/></svg>'
)


def test_two_figures_in_one_page_share_no_names() -> None:
    figure = Figure(image=SVG, alt="a path")
    page = render(title="t", sections=[Section("s", (figure, figure))])
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
    page = render(title=evil, subtitle=evil, sections=[Section(evil, (*blocks, figure))])
    assert "<i>" not in page
    assert page.count("&lt;i&gt; &amp; ") == 13


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    table = Grid(head=("a", "b", "c"), rows=(("x", "y", Entry("1", tone="alarm")),), words=2)
    page = render(title="t", sections=[Section("s", (table,))])
    assert '<th scope="row">x</th><td>y</td><td class="number alarm">1</td>' in page
    assert '<th scope="col">b</th><th scope="col" class="number">c</th>' in page


def test_a_folded_section_opens_on_a_click() -> None:
    page = render(title="t", sections=[Section("s", (Paragraph("p"),), is_folded=True)])
    assert "<details><summary><h2>s</h2></summary>" in page


def test_only_longer_pages_have_contents() -> None:
    sections = [Section(name, ()) for name in "abc"]
    assert "<nav>" not in render(title="t", sections=sections[:2])
    assert '<a href="#s3">c</a>' in render(title="t", sections=sections)


def test_entries_in_one_place_stand_below_each_other_each_with_its_tone() -> None:
    entries = (Entry("a", tone="alarm"), Entry("b"))
    page = render(title="t", sections=[Section("s", (Grid(head=("h",), rows=((entries,),)),))])
    assert '<th scope="row"><div class="alarm">a</div><div>b</div></th>' in page


def test_links_to_other_pages_stand_above_everything_else() -> None:
    page = render(title="t", sections=[], links=[Entry("back", link="../a.html")])
    assert '<nav><a href="../a.html">back</a></nav>\n<h1>t</h1>' in page
