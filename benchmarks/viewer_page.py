"""The page of the viewer in Chromium: the goals that only a browser can measure."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from timeful.records.events import (
    EpisodeEnded,
    EpisodeStarted,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.viewer.catalogue import EXAMPLES, Runs
from timeful.viewer.export import Choice, export_file

Note = Callable[[str, str, str, str], None]

LIMITS = {1_000: "0.2 s", 100_000: "1.5 s", 1_000_000: "12 s"}
LARGE = 16_000

WATCH = """
  globalThis.tasks = []; globalThis.work = []; globalThis.frames = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration)))
    .observe({ type: "longtask", buffered: true });
  const frame = requestAnimationFrame;
  let [stamp, sum] = [0, 0];
  globalThis.requestAnimationFrame = (action) => frame((now) => {
    if (now !== stamp) {
      if (stamp) { work.push(sum); frames.push(now - stamp); }
      [stamp, sum] = [now, 0];
    }
    const start = performance.now();
    action(now);
    sum += performance.now() - start;
  });
"""
"""Long tasks, script of each frame, and time between frames, in milliseconds."""

MOVE = """([kind, count]) => new Promise((resolve) => {
  const lanes = document.querySelector(".lanes");
  const box = lanes?.getBoundingClientRect();
  const list = document.querySelector(".virtual");
  let number = 0;
  work.length = frames.length = 0;
  const step = () => {
    if (number++ === count) return resolve([work.slice(2), frames.slice(2)]);
    const place = { clientX: box?.left + box?.width / 2, clientY: box?.top + 60, bubbles: true };
    const side = number % 60 < 30 ? 1 : -1;
    if (kind === "pan") {
      lanes.dispatchEvent(new WheelEvent("wheel", { ...place, deltaX: 40 * side }));
    } else if (kind === "zoom") {
      lanes.dispatchEvent(
        new WheelEvent("wheel", { ...place, deltaY: 40 * side, ctrlKey: true, cancelable: true }));
    } else if (kind === "scroll") list.scrollTop += 400;
    else {
      const key = { key: side > 0 ? "ArrowRight" : "ArrowLeft", ctrlKey: true, bubbles: true };
      document.body.dispatchEvent(new KeyboardEvent("keydown", key));
    }
    requestAnimationFrame(step);
  };
  step();
})"""

ACT = """([selector, value]) => new Promise((resolve) => {
  const node = document.querySelector(selector);
  const start = performance.now();
  if (value === null) node.click();
  else {
    node.value = value;
    node.dispatchEvent(new Event("input", { bubbles: true }));
  }
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
})"""

LOADED = "() => !/Loading/.test(document.querySelector('.world').textContent)"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"


@contextmanager
def open_browser() -> Iterator[Any]:
    """Chromium of the system, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("TIMEFUL_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        print("  no Chromium: the goals of the page are left out")
        yield None
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - optional

    flags = ["--disable-gpu", "--enable-precise-memory-info"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=[*flags, *(["--no-sandbox"] if os.getuid() == 0 else [])]
        )
        yield browser
        browser.close()


def percentile(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[int(len(values) * 0.95)]


def measure_page(url: str, folder: Path, note: Note) -> None:
    """Measure the page of a server and of a file."""
    with open_browser() as browser:
        if browser is None:
            return
        measure_table(browser, url, note)
        for size in LIMITS:
            measure_long(browser, url, size, note)
        measure_texts(browser, folder, note)
        measure_file(browser, folder, note)


def open_tab(browser: Any, **options: Any) -> Any:
    """A page that watches its tasks and frames."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(WATCH)
    return page


def measure_table(browser: Any, url: str, note: Note) -> None:
    """G1 and G2: the first paint, and the table of a run of 10,000 episodes."""
    page = open_tab(browser)
    page.goto(url)
    page.wait_for_selector("h1")
    note("G1", "first contentful paint", f"{page.evaluate(PAINT):.0f} ms", "300 ms")
    start = perf_counter()
    page.evaluate("location.hash = '#/many/episodes'")
    page.wait_for_selector(".vrow")
    note("G2", "table of 10,000 episodes", f"{perf_counter() - start:.2f} s", "1 s")
    search = "input[type=search]"
    keys = [page.evaluate(ACT, [search, "e777"[:n]]) for n in (1, 2, 3, 4, 0)]
    note("G2", "keystroke of a filter, most", f"{max(keys):.0f} ms", "50 ms")
    sorts = [page.evaluate(ACT, ["[role=columnheader] button", None]) for _ in range(4)]
    note("G2", "sort, most", f"{max(sorts):.0f} ms", "50 ms")
    _, frames = page.evaluate(MOVE, ["scroll", 120])
    note("G2", "frame of scrolling, most", f"{max(frames):.0f} ms", "34 ms")
    page.context.close()


def measure_long(browser: Any, url: str, size: int, note: Note) -> None:
    """G3, G4 and G8: a long episode from the click to its lanes, and frames of moving."""
    page = open_tab(browser)
    page.goto(f"{url}#/long/episodes")
    page.wait_for_selector(".vrow")
    page.evaluate("tasks.length = 0")
    start = perf_counter()
    page.evaluate(f"location.hash = '#/long/e/{size}'")
    page.wait_for_selector(".lanes")
    note("G3", f"lanes of {size:,} events", f"{perf_counter() - start:.2f} s", LIMITS[size])
    page.wait_for_function(LOADED)
    page.wait_for_timeout(500)
    longest = max(page.evaluate("tasks"), default=0)
    note("G3", f"longest task, {size:,} events", f"{longest:.0f} ms", "50 ms")
    page.keyboard.press("0")
    page.wait_for_timeout(200)
    page.keyboard.press("+")
    page.keyboard.press("+")
    limit = "16 ms" if size == 1_000_000 else "8 ms"
    for kind in ("pan", "zoom", "scrub"):
        work, frames = page.evaluate(MOVE, [kind, 180])
        times = f"{percentile(work):.1f} ms, {percentile(frames):.1f} ms"
        asked = f"{limit}, 20 ms at 95 %"
        note("G4", f"{kind}, {size:,} events: script and frame", times, asked)
    if size == 100_000:
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        note("G8", f"heap of the page, {size:,} events", f"{heap:.0f} MB", "150 MB")
    page.context.close()


def write_large(path: Path) -> None:
    """A record with one thought of 16,000 tokens, each a chunk."""
    step = 10**6
    chunks = [
        ThoughtChunk(at=n * step, thought=1, text=f"word{n} ", tokens=1, channel="answer")
        for n in range(LARGE)
    ]
    begin = ThoughtStarted(
        at=0, thought=1, model="m", purpose="plan", turn=0, limit=LARGE * step, max_tokens=None,
        seed=0, messages=None,
    )  # fmt: skip
    end = ThoughtEnded(
        at=LARGE * step, thought=1, state="completed", cause=None, tokens=LARGE, finish="stop",
        text_sha256="", answer="",
    )  # fmt: skip
    last = EpisodeEnded(at=LARGE * step, reason="over", turns=1, score=0.0)
    events = [EpisodeStarted(at=0, version="0", settings={}), begin, *chunks, end, last]
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))


def measure_texts(browser: Any, folder: Path, note: Note) -> None:
    """G5: a frame at a new instant, with a long text and with a picture of the world."""
    write_large(folder / "large.jsonl")
    snake = next((EXAMPLES / "snake-two-threads").iterdir())
    for name, record in (("16,000 tokens", folder / "large.jsonl"), ("the world drawn", snake)):
        export_file(Runs([record]), folder / "text.html", Choice())
        page = open_tab(browser)
        page.goto((folder / "text.html").as_uri())
        page.wait_for_selector(".lanes")
        page.wait_for_timeout(300)
        work, _ = page.evaluate(MOVE, ["scrub", 180])
        note("G5", f"new instant, {name}, with lanes", f"{percentile(work):.1f} ms at 95 %", "4 ms")
        page.context.close()


def measure_file(browser: Any, folder: Path, note: Note) -> None:
    """G9 and G10: a file without a network, and its faults of access."""
    export_file(Runs([EXAMPLES]), folder / "file.html", Choice())
    address = (folder / "file.html").as_uri()
    requests, messages, faults = [], [], 0
    for width in (1280, 390):
        for theme in ("light", "dark"):
            page = open_tab(browser, offline=True, color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            page.on("request", lambda request: requests.append(request.url))
            page.on("console", lambda message: messages.append(message.text))
            page.goto(address)
            for number in range(len(list(EXAMPLES.iterdir()))):
                for place, ready in ((f"#/~{number}/episodes", "h1"), ("#/", ".runs")):
                    page.evaluate(f"location.hash = '{place}'")
                    page.wait_for_selector(ready)
                    faults += count_faults(page)
            page.context.close()
    wanted = [url for url in requests if not url.startswith(("file:", "data:"))]
    note("G9", "requests and messages from disk", f"{len(wanted)} and {len(messages)}", "0 and 0")
    note("G10", "faults of access (axe, moderate or worse)", str(faults), "0")


def count_faults(page: Any) -> int:
    """The faults that axe finds."""
    module = import_module("axe_playwright_python.sync_playwright")
    violations = module.Axe().run(page).response["violations"]
    return sum(fault["impact"] != "minor" for fault in violations)
