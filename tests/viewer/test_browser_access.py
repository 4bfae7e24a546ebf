"""Every view of the page: axe, no scrolling sideways, print, reduced motion."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.viewer.browser import Tab, open_browser
from tests.viewer.material import game, write_record, write_run
from timeful.reports.html import write_page
from timeful.reports.page import (
    Bullets,
    Entry,
    Figure,
    Grid,
    Notice,
    Page,
    Paragraph,
    Section,
)
from timeful.viewer.catalogue import EXAMPLES, Runs
from timeful.viewer.export import Choice, export_file

pytestmark = pytest.mark.browser

VIEWS = {
    "home": ("#/", ".runs"),
    "overview": ("#/run", ".matrix"),
    "episodes": ("#/run/episodes", ".vrow"),
    "episode": ("#/run/e/e0?sel=3", ".lanes"),
    "dialogue": ("#/dialogue-with-lost-turns/e/{dialogue}", ".conversation"),
    "compare": (
        f"#/compare?a={quote('run/e/e0', safe='')}&b={quote('run/e/e1', safe='')}",
        ".pairs",
    ),
    "training": ("#/training", ".charts"),
    "error": ("#/none", ".notice"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("views")
    write_report(write_run(folder / "runs" / "run", count=4))
    training = folder / "runs" / "training"
    write_record(training / "episodes" / "e0.jsonl", game())
    (training / "settings.json").write_text("{}")
    lines = [f'{{"step":{n},"reward":{n / 7},"loss":{1 / (n + 1)}}}\n' for n in range(30)]
    (training / "metrics.jsonl").write_text("".join(lines))
    example = next((EXAMPLES / "dialogue-with-lost-turns").iterdir())
    target = folder / "runs" / "dialogue-with-lost-turns"
    target.mkdir()
    (target / "episodes").mkdir()
    (target / "episodes" / example.name).write_bytes(example.read_bytes())
    (target / "settings.json").write_text('{"suite":"proactor"}')
    export_file(Runs([folder / "runs"]), folder / "page.html", Choice())
    return (folder / "page.html").as_uri()


def write_report(folder: Path) -> None:
    """A report with a table that is wider than any window here, and all other blocks."""
    where = (("game", "snake"),)
    wide = tuple(Entry(f"{n}.123±.045", "n=3", "strong", where=where) for n in range(14))
    empty = ("published", *[Entry("(1)", tone="quiet")] * 13, "")
    grid = Grid(head=("method", *(f"metric {n}" for n in range(14))), rows=(("a", *wide), empty))
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9"/></svg>'
    figure = Figure(image=svg, alt="a line", title="A line", caption="It is level.")
    words = Grid(head=("setting", "value"), rows=(("x" * 60, "y " * 90),), caption="c", words=2)
    blocks = (figure, grid, words, Bullets(("b",)), Paragraph("p"))
    sections = [Section("", (Notice("n"),)), Section("Results", blocks)]
    write_page(Page(title="Report", sections=[*sections, Section("f", blocks, True)]), folder)


CUT = "[...document.querySelectorAll('table')].filter((t) => t.getBoundingClientRect().right > "
CUT += "innerWidth || t.offsetWidth > t.parentElement.clientWidth + 1).length"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_table_of_a_report_is_cut(browser: Any, address: str, theme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = Tab(browser, width=width, theme=theme)
    file = address.replace("page.html", "runs/run/report.html")
    for place, table in ((file, "table"), (address + "#/run", ".matrix")):
        page = tab.open(place, table)
        page.locator("summary").first.click()
        page.wait_for_selector("details[open] table")
        assert page.evaluate(CUT) == 0
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        violations = Axe().run(page).response["violations"]
        assert [fault for fault in violations if fault["impact"] != "minor"] == []
        page.get_by_role("link", name="13.123±.045").first.click()
        page.wait_for_function("location.hash.length > 1")
    assert page.url.partition("where=")[2] == quote('{"game":"snake"}')
    assert tab.faults == []
    tab.close()


def place(view: str) -> tuple[str, str]:
    hash_, ready = VIEWS[view]
    example = next((EXAMPLES / "dialogue-with-lost-turns").iterdir())
    return hash_.format(dialogue=quote(example.name.partition(".jsonl")[0], safe="")), ready


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_fault_of_access(browser: Any, address: str, theme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = Tab(browser, width=width, theme=theme)
    for view in VIEWS:
        hash_, ready = place(view)
        page = tab.open(address + hash_, ready)
        page.reload()
        page.wait_for_selector(ready)
        found = Axe().run(page).response["violations"]
        faults = [
            (view, fault["id"], node["html"][:200], node.get("failureSummary", "")[:300])
            for fault in found
            if fault["impact"] != "minor"
            for node in fault["nodes"]
        ]
        assert faults == []
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{view} is {wide} px wider than the window"
    assert tab.faults == []
    tab.close()


def test_the_page_prints_and_rests_where_motion_is_reduced(browser: Any, address: str) -> None:
    tab = Tab(browser)
    tab.page.emulate_media(reduced_motion="reduce", media="print")
    page = tab.open(address + place("dialogue")[0], ".conversation")
    motion = "getComputedStyle(document.querySelector('.conversation')).scrollBehavior"
    assert page.evaluate(motion) == "auto"
    assert not page.locator(".controls").is_visible()
    assert page.locator(".lanes").is_visible()
    assert tab.faults == []
    tab.close()
