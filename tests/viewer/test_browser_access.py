"""Every view of the page: axe, no scrolling sideways, print, reduced motion."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.viewer.browser import Tab, open_browser
from tests.viewer.material import game, write_record, write_run
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
    write_run(folder / "runs" / "run", count=4)
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
