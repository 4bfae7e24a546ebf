"""The viewer: packs, exports and the server, on records of this machine and on long ones.

G1 to G10 are the goals of the viewer. What no machine changes is asserted, the rest is reported.
The goals that a browser measures (G2 to G5, G9, G10) are those of tests/viewer/test_browser.py.
"""

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from urllib.request import HTTPCookieProcessor, build_opener

import msgspec
from click.testing import CliRunner

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
    print(
        f"  quick run: {page.stat().st_size / 1e6:.2f} MB in {perf_counter() - start:.1f} s; "
        f"{sizes / events:.1f} B/event"
    )


def measure_server(folder: Path) -> None:
    """G1, G2 and G8: a run of many episodes, the first answer of each kind, and the memory."""
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
    command = [sys.executable, "-m", "timeful", "view", str(run.parent), "--no-open", "--port", "0"]
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().decode().split()[1]
            print(f"  address after {perf_counter() - start:.2f} s")
            client = build_opener(HTTPCookieProcessor())
            base = url.partition("?")[0]
            for path in (
                url,
                f"{base}api/runs",
                f"{base}api/runs/0/rows",
                f"{base}api/runs/0/rows",
            ):
                start = perf_counter()
                size = len(client.open(path).read())
                name = path.removeprefix(base).partition("?")[0] or "page"
                print(f"  {name}: {perf_counter() - start:.3f} s, {size / 1e6:.2f} MB plain")
            status = Path(f"/proc/{server.pid}/status")
            if status.exists():
                peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
                print(f"  memory of the server: {int(peak[1]) / 1e3:.0f} MB" if peak else "")
        finally:
            server.terminate()


def main() -> None:
    """Measure all."""
    code = load_code()
    plain = (code.script + code.style).encode()
    packed = len(gzip.compress(plain, 6))
    assert len(plain) <= 150_000
    assert packed <= 45_000
    print(f"  page: {len(plain) / 1e3:.1f} kB, {packed / 1e3:.1f} kB gzip")
    with TemporaryDirectory() as name:
        measure_packs(Path(name))
        measure_run(Path(name))
        measure_server(Path(name))


if __name__ == "__main__":
    main()
