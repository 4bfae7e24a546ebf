"""The page in a real browser: every view, from one file, from a folder and from the server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.viewer.browser import Tab, open_browser
from tests.viewer.material import (
    HOSTILE,
    acted,
    game,
    started,
    thought,
    turned,
    write_record,
    write_run,
)
from timeful.records.events import (
    EpisodeEnded,
    EpisodeFailed,
    Noted,
    Observed,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.viewer.catalogue import EXAMPLES, Runs
from timeful.viewer.export import Choice, export_file, export_folder
from timeful.viewer.reading import read_raw

pytestmark = pytest.mark.browser

SNAKE = next((EXAMPLES / "snake-two-threads").iterdir())
READY = ".lanes"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    tab = Tab(browser)
    yield tab
    tab.close()


def export(path: Path, target: Path, choice: Choice | None = None) -> str:
    if target.suffix == ".html":
        export_file(Runs([path]), target, choice or Choice())
        return target.as_uri()
    export_folder(Runs([path]), target, choice or Choice())
    return (target / "index.html").as_uri()


@pytest.fixture(scope="module")
def snake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return export(SNAKE, tmp_path_factory.mktemp("snake") / "snake.html")


def status(page: Any) -> str:
    return str(page.locator(".status").text_content())


def wait_for_text(page: Any, selector: str, text: str) -> None:
    page.wait_for_function(
        "([s, t]) => document.querySelector(s)?.textContent.includes(t)", arg=[selector, text]
    )


def test_a_number_leads_to_its_episodes_by_mouse(tab: Tab, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one", count=2)
    write_run(tmp_path / "runs" / "two", count=3)
    page = tab.open(export(tmp_path / "runs", tmp_path / "page.html"))
    page.get_by_role("link", name="two").click()
    cells = page.locator("td .cell")
    assert " ".join(cells.all_inner_texts()).split() == ["2", "[1", "3]", "(1.50)"]
    cells.first.click()
    page.wait_for_selector(".vrow")
    assert page.locator(".vrow").count() == 3
    page.locator(".vrow").nth(1).click()
    page.wait_for_selector(READY)
    assert "/two/e/e1" in page.url
    assert tab.faults == []


def test_a_number_leads_to_its_episodes_by_keyboard(tab: Tab, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one", count=2)
    write_run(tmp_path / "runs" / "two", count=3)
    page = tab.open(export(tmp_path / "runs", tmp_path / "page.html"))
    page.get_by_role("link", name="two").press("Enter")
    page.get_by_role("row", name="agile").get_by_role("link").press("Enter")
    table = page.get_by_role("grid", name="Episodes")
    table.wait_for()
    table.press("ArrowDown")
    table.press("Enter")
    page.wait_for_selector(READY)
    assert "/two/e/e1" in page.url
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_selector(".runs")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert tab.faults == []


def test_a_view_does_not_write_over_an_address_that_was_followed(tab: Tab, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one", count=2)
    tab.page.clock.install()
    page = tab.open(f"{export(tmp_path / 'runs', tmp_path / 'page.html')}#/one/e/e0", READY)
    page.keyboard.press("ArrowRight")  # the view writes its instant into the address after a while
    page.evaluate("history.replaceState(null, '', '#/one/e/e1')")  # as a link, before its event
    page.clock.run_for(1000)
    page.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))")
    page.wait_for_selector("nav >> text=e1")
    assert "/one/e/e1" in page.url
    assert tab.faults == []


def text_until(events: list[Any], number: int, at: int) -> str:
    chunks = [e for e in events if isinstance(e, ThoughtChunk) and e.thought == number]
    return "".join(chunk.text for chunk in chunks if chunk.at <= at)


def test_panels_show_what_was_known_at_the_instant(tab: Tab, snake: str) -> None:
    events = list(read_raw(SNAKE).entries)
    thoughts = [e for e in events if isinstance(e, ThoughtStarted) and e.purpose == "plan"]
    ends = {e.thought: e for e in events if isinstance(e, ThoughtEnded)}
    states = [e for e in events if isinstance(e, Observed)]
    for number in (0, 3, 9, 20, 36):
        begin = thoughts[number]
        chunks = [e for e in events if isinstance(e, ThoughtChunk) and e.thought == begin.thought]
        middle = chunks[len(chunks) // 2].at
        for at in (middle - 1, middle):
            if begin.at > at or ends[begin.thought].at <= at:
                continue
            page = tab.open(f"{snake}#/?t={at // 10**9}.{at % 10**9:09d}s", READY)
            page.reload()
            panel = page.locator(".thought-panels .panel").first
            wanted = text_until(events, begin.thought, at)
            page.wait_for_function(
                "t => document.querySelector('pre.thought span')?.textContent === t",
                arg=wanted[-6000:],
            )
            tokens = sum(chunk.tokens for chunk in chunks if chunk.at <= at)
            assert f"{tokens:,} tokens so far" in panel.locator(".caption").inner_text()
            seen = [state for state in states if state.at <= at]
            if seen:
                wait_for_text(page, ".world .caption", f"turn {seen[-1].turn}, seen since")
    assert tab.faults == []


def test_playing_moves_the_cursor_and_tells_verdicts(tab: Tab, snake: str) -> None:
    tab.page.clock.install(time=0)
    page = tab.open(f"{snake}#/?t=0s", READY)
    page.clock.pause_at(3600)
    page.locator("select[aria-label=Speed]").select_option("4")
    told: list[str] = []
    page.keyboard.press("Space")
    for _ in range(6):
        page.clock.run_for(1000)
        told.append(page.locator(".live").inner_text())
    page.keyboard.press("k")
    at = int(page.locator(READY).get_attribute("aria-valuenow"))
    assert 20e9 < at < 26e9
    assert any("in time" in text for text in told)
    assert "plan" in page.locator(READY).get_attribute("aria-valuetext")
    page.keyboard.press("Home")
    page.clock.run_for(100)
    assert page.locator(READY).get_attribute("aria-valuenow") == "0"
    assert tab.faults == []


def test_ten_thousand_rows_are_filtered_and_sorted(tab: Tab, tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, count=1)
    rows = [
        {"game": ("snake", "freeway")[n % 2], "seed": n, "status": "ok", "score": n * 7919 % 1000}
        for n in range(10_000)
    ]
    page_rows = [{"key": f"k{n}", "size": 1, "row": row} for n, row in enumerate(rows)]
    (run / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in page_rows))
    for n in range(10_000):
        (run / "episodes" / f"k{n}.jsonl").touch()
    with serve(run) as address:
        page = tab.open(f"{address}#/run/episodes", ".vrow")
        assert page.locator(".vrow").count() <= 100
        page.get_by_label("Filter by game").select_option('"freeway"')
        page.get_by_role("button", name="score").click()
        first = page.locator(".vrow").first.locator("[role=gridcell]").all_inner_texts()
        best = max((row for row in rows if row["seed"] % 2), key=lambda row: row["score"])
        assert str(best["score"]) in first
        assert page.get_by_text(re.compile(r"^5,000 of")).is_visible()
        page.get_by_label("Search episodes").fill("k777")
        expected = sum("k777" in f"k{n}" for n in range(1, 10_000, 2))
        assert page.get_by_text(re.compile(rf"^{expected} of")).is_visible()
        page.locator(".virtual").evaluate("box => (box.scrollTop = 1e9)")
        assert page.locator(".vrow").count() <= 100
    assert tab.faults == []


def test_an_address_gives_the_same_view(tab: Tab, browser: Any, snake: str) -> None:
    page = tab.open(snake, READY)
    page.get_by_label("Axis").select_option("event")
    page.keyboard.press("]")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("+")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => /axis=event.*lane|lane.*axis=event/.test(location.hash)")
    wait_for_text(page, ".details", "Fields of the event")
    assert not re.search(r"\[object |undefined|NaN", page.locator("#app").text_content())
    other = Tab(browser)
    copy = other.open(page.url, READY)
    wait_for_text(copy, ".details", "Fields of the event")
    wait_for_text(copy, ".status", status(page))
    image = "document.querySelector('.lanes').toDataURL()"
    assert page.evaluate(image) == copy.evaluate(image)
    assert other.faults == tab.faults == []
    other.close()


@pytest.mark.parametrize("target", ["page.html", "folder"])
def test_exports_open_from_a_disk_without_a_request(tab: Tab, tmp_path: Path, target: str) -> None:
    write_run(tmp_path / "run", count=3)
    tab.context.set_offline(True)
    address = export(tmp_path / "run", tmp_path / target)
    page = tab.open(address)
    page.get_by_role("link", name=re.compile("^Episodes")).click()
    page.wait_for_selector(".vrow")
    page.locator(".vrow").nth(2).click()
    page.wait_for_selector(READY)
    wait_for_text(page, "pre.thought", "left")
    assert [url for url in tab.requests if not url.startswith(("file:", "data:"))] == []
    assert tab.faults == []


def hostile() -> list[Any]:
    return [
        started(game="<img src=x onerror=alert(1)>", agent=HOSTILE, seed=1),
        *thought(1, 0, 50, HOSTILE * 2),
        acted(50, HOSTILE),
        turned(100, 1),
        Observed(at=100, happened_at=100, turn=1, state={HOSTILE: HOSTILE}),
        Noted(at=120, topic=HOSTILE, text=HOSTILE + "x" * 10_000_000),
        acted(150, HOSTILE, legal=False, error=HOSTILE),
        EpisodeEnded(at=300, reason=HOSTILE, turns=1, score=0.0),
    ]


def test_hostile_texts_are_shown_and_never_run(tab: Tab, tmp_path: Path) -> None:
    name = "<b onmouseover=alert(1)>.jsonl"
    page = tab.open(export(write_record(tmp_path / name, hostile()), tmp_path / "p.html"), READY)
    wait_for_text(page, "pre.thought", "<script>alert(1)</script>")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.get_by_text("What it was asked").click()
    assert page.locator("script:not([type])").count() == 1
    assert page.locator("#app img, #app b, #app script, #app style, #app iframe").count() == 0
    shown = page.locator("#app").text_content()
    assert not re.search("[\x00\x1b\u202e\u202c]", shown)
    assert "⟨U+202E⟩" in shown
    assert "⟨U+001B⟩" in shown
    assert tab.faults == []
    assert len(tab.requests) == 1


def failed_episode() -> list[Any]:
    end = EpisodeFailed(at=120, boundary="model", error="the endpoint is gone")
    return [*game()[:9], end]


def without_texts(events: list[Any]) -> list[Any]:
    kept = [e for e in events if not isinstance(e, ThoughtChunk)]
    return [_without_messages(e) if isinstance(e, ThoughtStarted) else e for e in kept]


def _without_messages(event: ThoughtStarted) -> ThoughtStarted:
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    return ThoughtStarted(**{**fields, "messages": None})


STATES: dict[str, tuple[Callable[[], list[Any]], str, str]] = {
    "failed": (failed_episode, ".notice.is-bad", "the endpoint is gone"),
    "open": (lambda: game()[:6], ".badge", "so far"),
    "answers only": (lambda: without_texts(game()), "#app", "answers only"),
    "no states": (
        lambda: [e for e in game() if not isinstance(e, Observed)],
        ".world .caption",
        "not kept",
    ),
    "no events": (lambda: [started(game="snake")], "#app", "no verdicts"),
}


@pytest.mark.parametrize("name", STATES)
def test_records_that_lack_something_say_so(tab: Tab, tmp_path: Path, name: str) -> None:
    make, selector, text = STATES[name]
    record = write_record(tmp_path / "e.jsonl", make())
    page = tab.open(export(record, tmp_path / "p.html"), READY)
    page.wait_for_function(
        "([s, t]) => [...document.querySelectorAll(s)].some((n) => n.textContent.includes(t))",
        arg=[selector, text],
    )
    assert tab.faults == []


def test_broken_lines_are_noted_and_unknown_events_are_shown(tab: Tab, tmp_path: Path) -> None:
    record = write_record(tmp_path / "e.jsonl", game())
    lines = record.read_text().splitlines()
    lines.insert(4, '{"event":"invention","at":70,"colour":"green"}')
    record.write_text("\n".join([*lines[:-2], '{"event":"turned","at":']))
    page = tab.open(export(record, tmp_path / "p.html"), READY)
    assert page.locator(".notice").count() >= 1
    assert page.get_by_text(re.compile("unknown event")).count() >= 1
    assert not re.search(r"\[object |undefined|NaN", page.locator("#app").text_content())
    assert tab.faults == []


@pytest.mark.parametrize("place", ["#/other", "#/run/e/none", "#/compare?a=x&b=y", "#/%E0%A4%A"])
def test_an_address_of_nothing_says_so(tab: Tab, tmp_path: Path, place: str) -> None:
    write_run(tmp_path / "run")
    page = tab.open(export(tmp_path / "run", tmp_path / "p.html") + place, ".notice")
    assert page.get_by_role("link", name="All runs").is_visible()
    assert tab.faults == []


def test_the_first_difference_of_two_episodes_is_found(tab: Tab, tmp_path: Path) -> None:
    def play(changed: int | None) -> list[Any]:
        turns = [
            event
            for n in range(1, 9)
            for event in (acted(n * 100 - 20, "R" if n == changed else "L"), turned(n * 100, n))
        ]
        end = EpisodeEnded(at=800, reason="over", turns=8, score=0.0)
        return [started(game="snake", seed=1), *turns, end]

    for key, changed in (("a", None), ("b", 5), ("c", None)):
        write_record(tmp_path / "run" / f"{key}.jsonl", play(changed))
    address = export(tmp_path / "run", tmp_path / "p.html")
    page = tab.open(f"{address}#/run/episodes", ".vrow")
    page.get_by_label("Choose a to compare").check()
    page.get_by_label("Choose b to compare").check()
    page.get_by_role("link", name="compare the two").click()
    page.wait_for_selector(".pairs .vrow")
    assert "turn 5" in page.locator(".lead").inner_text()
    assert "7 of 8" in page.locator(".lead").inner_text()
    assert page.locator(".pairs .here").inner_text().startswith("turn 5")
    pair = "&".join(
        f"{name}={quote(f'run/e/{key}', safe='')}" for name, key in (("a", "a"), ("b", "c"))
    )
    page.goto(f"{address}#/compare?{pair}")
    wait_for_text(page, ".lead", "All 8 decisions are the same")


def test_two_episodes_are_compared_by_turn(tab: Tab, tmp_path: Path) -> None:
    for key, step in (("a", 100), ("b", 300)):
        turns = [
            event
            for n in range(1, 5)
            for event in (acted(n * step - 20 * (step // 100), "L"), turned(n * step, n))
        ]
        end = EpisodeEnded(at=4 * step, reason="over", turns=4, score=0.0)
        write_record(tmp_path / "run" / f"{key}.jsonl", [started(game="snake"), *turns, end])
    address = export(tmp_path / "run", tmp_path / "p.html")
    pair = "&".join(f"{key}={quote(f'run/e/{key}', safe='')}" for key in ("a", "b"))
    page = tab.open(f"{address}#/compare?{pair}&axis=turn", ".pairs .vrow")
    assert page.locator(".pairs .vrow .kind").all_inner_texts() == [
        f"moved by {n * 200 - 40} ns, slack +40 ns" for n in range(1, 5)
    ]
    page.locator(".pairs .vrow").nth(2).click()
    wait_for_text(page, ".status:nth-of-type(2)", "280 ns")
    wait_for_text(page, ".status:nth-of-type(3)", "840 ns")
    page.get_by_label("Axis").select_option("time")
    wait_for_text(page, ".status:nth-of-type(3)", "280 ns")
    assert tab.faults == []


class serve:  # noqa: N801 - used as a statement
    """The command, serving a path without a token."""

    def __init__(self, path: Path) -> None:
        words = ["-m", "timeful", "view", str(path), "--no-open", "--no-token", "--port", "0"]
        self._process = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()[-1]

    def __exit__(self, *_: object) -> None:
        assert self._process.stdout is not None
        self._process.terminate()
        self._process.stdout.close()
        self._process.wait()


def test_a_run_that_grows_is_followed(tab: Tab, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", count=2)
    with serve(tmp_path) as address:
        page = tab.open(f"{address}#/run/episodes", ".vrow")
        assert page.locator(".vrow").count() == 2
        page.wait_for_function("() => document.documentElement.dataset.watched")
        write_record(run / "episodes" / "later.jsonl", game())
        three = "() => document.querySelectorAll('.vrow').length === 3"
        page.wait_for_function(three, timeout=15_000)
    assert tab.faults == []


def test_an_episode_that_is_played_is_followed(tab: Tab, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", count=1)
    lines = write_record(tmp_path / "whole.jsonl", game()).read_text().splitlines(keepends=True)
    (tmp_path / "whole.jsonl").unlink()
    part = run / "episodes" / f"now.jsonl.{os.getpid()}.0.part"
    turn = next(place for place, line in enumerate(lines) if '"turned"' in line)
    part.write_text("".join(lines[: turn + 1]))
    with serve(tmp_path) as address:
        page = tab.open(f"{address}#/run/e/now", READY)
        wait_for_text(page, ".title", "so far")
        assert page.locator(READY).get_attribute("aria-valuemax") == "100"
        page.wait_for_function("() => document.documentElement.dataset.watched")
        part.write_text("".join(lines))
        part.rename(run / "episodes" / "now.jsonl")
        page.wait_for_function(
            "() => document.querySelector('.lanes')?.getAttribute('aria-valuemax') === '300'"
        )
        assert "so far" not in page.locator(".title").text_content()
    assert tab.faults == []


def test_verdicts_are_drawn_at_their_instants(tab: Tab, tmp_path: Path) -> None:
    record = write_record(tmp_path / "e.jsonl", game())
    page = tab.open(export(record, tmp_path / "p.html") + "#/?t=0.0000003s", READY)
    wait_for_text(page, ".status", "300 ns")
    shown = page.evaluate(
        """([instants, roles]) => {
          const canvas = document.querySelector('.lanes');
          const width = canvas.clientWidth;
          const context = canvas.getContext('2d');
          const style = getComputedStyle(document.documentElement);
          const byte = (n) => n.toString(16).padStart(2, '0');
          const image = context.getImageData(0, 0, canvas.width, canvas.height);
          const hex = (x, y) => {
            const first = 4 * (y * image.width + x);
            return '#' + [...image.data.slice(first, first + 3)].map(byte).join('');
          };
          const colour = (role) => style.getPropertyValue('--' + role).trim();
          const colours = Object.fromEntries(roles.map((role) => [colour(role), role]));
          const y = 24 + 30 + 16 + 26 + 17;
          return instants.map((t) => {
            const x = Math.round(124 + (t / 300) * (width - 134));
            const found = new Set();
            for (let dx = -7; dx <= 7; dx++) for (let dy = -9; dy <= 9; dy++)
              found.add(colours[hex(x + dx, y + dy)]);
            return [...found].filter(Boolean).sort();
          });
        }""",
        [[25, 50, 60, 200, 250], ["good", "bad", "quiet", "late"]],
    )
    nothing, superseded, in_time, default, illegal = map(set, shown)
    assert nothing == set()
    assert superseded == {"quiet"}
    assert "good" in in_time
    assert "bad" in default & illegal
    assert tab.faults == []


def test_many_modules_fold_and_open(tab: Tab, tmp_path: Path) -> None:
    from timeful.records.events import Within

    events: list[Any] = [started(game="snake")]
    for n in range(300):
        events += [Within(at=e.at, module=f"m{n}", what=e) for e in thought(1, n, n + 40)]
    page = tab.open(export(write_record(tmp_path / "e.jsonl", events), tmp_path / "p.html"), READY)
    tall = page.locator(".sizer").evaluate("box => box.offsetHeight")
    box = page.locator(READY).bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + 60)
    assert page.locator(".sizer").evaluate("box => box.offsetHeight") >= tall
    assert page.evaluate("document.querySelectorAll('*').length") <= 3000
    assert tab.faults == []
