"""The viewer: packs, exports, the server and the page, on records of this machine and long ones.

G1 to G10 are the goals of the viewer; the last lines are a table of them. What no machine changes
is asserted, the rest is reported. The page needs Chromium; without it its goals are left out.
"""

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from urllib.request import HTTPCookieProcessor, build_opener

import msgspec
from click.testing import CliRunner

from benchmarks.viewer_page import measure_page
from timeful.cli.main import app
from timeful.records.events import (
    Acted,
    AnyEntry,
    EpisodeEnded,
    EpisodeStarted,
    Observed,
    ThoughtEnded,
    ThoughtStarted,
    Turned,
)
from timeful.viewer.pack import pack_part
from timeful.viewer.page import load_code
from timeful.viewer.reading import read_raw

SIZES = (1_000, 100_000, 1_000_000)
TURN = 8_192_000_000
EPISODES = 10_000
TABLE: list[tuple[str, str, str, str]] = []


def note(goal: str, name: str, measured: str, asked: str) -> None:
    """Add a line to the table of goals, and print it."""
    TABLE.append((goal, name, measured, asked))
    print(f"  {goal} {name}: {measured} (asked: {asked})", flush=True)


def long_record(count: int) -> Iterator[AnyEntry]:
    """A game of five events a turn, with at least so many events."""
    yield EpisodeStarted(at=0, version="0", settings={"episode": {"game": "long"}})
    for turn in range(count // 5):
        at, end = turn * TURN, (turn + 1) * TURN
        yield ThoughtStarted(
            at=at,
            thought=turn + 1,
            model="m",
            purpose="react",
            turn=turn,
            limit=TURN,
            max_tokens=None,
            seed=turn,
            messages=None,
        )
        yield ThoughtEnded(
            at=at + 10**9,
            thought=turn + 1,
            state="completed",
            cause=None,
            tokens=1_000,
            finish="stop",
            text_sha256="",
            answer="L",
        )
        yield Acted(at=at + 10**9, turn=turn, action="L", legal=True, error=None)
        yield Turned(at=end, turn=turn + 1, action="L", late=False, reward=0.0, score=0.0)
        yield Observed(at=end, happened_at=end, turn=turn + 1, state=None)
    yield EpisodeEnded(at=count // 5 * TURN, reason="world over", turns=count // 5, score=0.0)


def measure_packs(folder: Path) -> None:
    """G3, without the browser: from a record to the compressed part that is sent."""
    encode = msgspec.json.Encoder().encode
    for size in SIZES:
        path = folder / f"{size}.jsonl"
        with path.open("wb") as file:
            file.writelines(encode(event) + b"\n" for event in long_record(size))
        words = []
        for part in ("lanes", "texts"):
            start, cpu = perf_counter(), process_time()
            length = len(gzip.compress(pack_part(read_raw(path), part), 3))
            assert length / size <= 14, "bytes an event"
            spans = f"{perf_counter() - start:.2f} s (CPU {process_time() - cpu:.2f} s)"
            words.append(f"{part} {spans}, {length / size:.1f} B/event")
        print(f"  {size:>9,} events: {'; '.join(words)}")


def measure_run(folder: Path) -> None:
    """G7: one file of the quick run."""
    out = folder / "quick"
    command = ["run", "realtime", "--preset", "quick", "--out", str(out)]
    assert CliRunner().invoke(app, command).exit_code == 0
    start = perf_counter()
    page = folder / "quick.html"
    assert CliRunner().invoke(app, ["view", str(out), "--export", str(page)]).exit_code == 0
    records = list((out / "episodes").glob("*.jsonl"))
    assert len(records) == 432
    events = sizes = 0
    for path in records[::20]:
        raw = read_raw(path)
        events += raw.count
        sizes += sum(len(gzip.compress(pack_part(raw, p), 6)) for p in ("lanes", "texts", "frames"))
    assert sizes / events < 60, "bytes an event in the three parts"
    spans = f"{perf_counter() - start:.1f} s, {sizes / events:.1f} B/event"
    note("G7", "quick run, one file", f"{page.stat().st_size / 1e6:.2f} MB in {spans}", "2.5 MB")
    start = perf_counter()
    site = folder / "quick-site"
    assert CliRunner().invoke(app, ["view", str(out), "--export", f"{site}/"]).exit_code == 0
    scale = EPISODES / len(records)
    size = sum(path.stat().st_size for path in (site / "data").iterdir()) * scale
    size += (site / "index.html").stat().st_size * scale
    size += sum((site / name).stat().st_size for name in ("page.js", "page.css"))
    spans = f"{size / 1e6:.0f} MB in {(perf_counter() - start) * scale:.0f} s"
    note("G7", f"folder of 10,000, from {len(records)}", spans, "50 MB in 120 s")


def write_long_run(folder: Path) -> Path:
    """A run of 10,000 short episodes, and records of each size; returns the folder of both."""
    run = folder / "runs" / "many"
    (run / "episodes").mkdir(parents=True)
    content = b"".join(msgspec.json.encode(event) + b"\n" for event in long_record(50))
    row = {"game": "long", "agent": "a", "status": "ok", "score": 1.5, "turns": 10}
    with (run / "rows.jsonl").open("wb") as index:
        for number in range(EPISODES):
            (run / "episodes" / f"e{number}.jsonl").write_bytes(content)
            line = {"key": f"e{number}", "size": len(content), "row": {**row, "seed": number}}
            index.write(msgspec.json.encode(line) + b"\n")
    (run / "settings.json").write_text('{"suite": "realtime"}')
    long = folder / "runs" / "long" / "episodes"
    long.mkdir(parents=True)
    for size in SIZES:
        (folder / f"{size}.jsonl").rename(long / f"{size}.jsonl")
    (long.parent / "settings.json").write_text('{"suite": "realtime"}')
    return run.parent


@contextmanager
def serve(folder: Path) -> Iterator[tuple[str, int]]:
    """The command on a folder; the address and the number of its process."""
    command = [sys.executable, "-m", "timeful", "view", str(folder), "--no-open", "--port", "0"]
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().decode().split()[1]
            note("G1", "address of the server", f"{perf_counter() - start:.2f} s", "1.5 s")
            yield url, server.pid
        finally:
            server.terminate()


def measure_server(url: str) -> None:
    """The first answer of each kind."""
    client = build_opener(HTTPCookieProcessor())
    base = url.partition("?")[0]
    for path in (url, f"{base}api/runs", f"{base}api/runs/1/rows", f"{base}api/runs/1/rows"):
        start = perf_counter()
        size = len(client.open(path).read())
        name = path.removeprefix(base).partition("?")[0] or "page"
        print(f"  {name}: {perf_counter() - start:.3f} s, {size / 1e6:.2f} MB plain")


def note_memory(pid: int) -> None:
    """The most memory that the server had."""
    status = Path(f"/proc/{pid}/status")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if peak:
        note("G8", "memory of the server", f"{int(peak[1]) / 1e3:.0f} MB", "250 MB")


def main() -> None:
    """Measure all."""
    code = load_code()
    plain = (code.script + code.style).encode()
    packed = len(gzip.compress(plain, 6))
    assert len(plain) <= 150_000
    assert packed <= 45_000
    sizes = f"{len(plain) / 1e3:.1f} kB, {packed / 1e3:.1f} kB gzip"
    note("G6", "code of the page", sizes, "150 kB, 45 kB gzip")
    with TemporaryDirectory() as name:
        folder = Path(name)
        measure_packs(folder)
        measure_run(folder)
        with serve(write_long_run(folder)) as (url, pid):
            measure_server(url)
            measure_page(url, folder, note)
            note_memory(pid)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"\nload of the machine at the end: {load}\n| goal | what | measured | asked |")
    print("| --- | --- | --- | --- |")
    for line in sorted(TABLE, key=lambda line: int(line[0][1:])):
        print(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
