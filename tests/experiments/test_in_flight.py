"""Many episodes in flight on one endpoint, whatever the endpoint does."""

import gzip
import json
import re
import resource
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, repeat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import timeful
from tests.experiments.flight_suite import suite
from tests.servers.fake import (
    Body,
    Die,
    FakeServer,
    Finish,
    Hang,
    Raw,
    Say,
    Start,
    Status,
    Step,
    Usage,
    Wait,
)
from timeful.cli.main import app
from timeful.models.traffic import Limits

ROOT = Path(__file__).parents[2]
GOOD: list[Step] = [Say("the answer is "), Say("1")]
BOMB = gzip.compress(b"\0" * (1 << 26))

KINDS: list[list[Step]] = [
    GOOD,
    [Status(500, "broken")],
    [Status(413, "too large")],
    [Raw(b"<html>not a stream</html>\n\n")],
    [Raw(b"data: {nonsense\n\n")],
    [Hang()],
    [Hang(keep_alive=True)],
    [Start(), Hang()],
    [Say("half an answer "), Hang()],
    [Say("half an answer "), Die()],
    [Status(400, "x" * 1_000_000)],
    [Start(), Raw(b"data: " + b"x" * (1 << 24))],
    [Start(), Raw(BOMB)],
]
"""What a server may do with every request of an episode."""

PASSING: list[list[Step]] = [
    [Status(429, headers={"retry-after-ms": "5"})],
    [Status(503)],
    [Say("half "), Die()],
    [Die()],
]
"""What it may do with the first request of a turn."""


class Server:
    """Answers by the episode's number: good ones may fail once; bad ones always."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> Iterator[Step]:
        text = body["messages"][-1]["content"]
        with self._lock:
            self.requests[text] += 1
            count = self.requests[text]
        number = int(re.findall(r"\d+", text)[0])
        if number % 2:
            return iter(KINDS[(number // 2) % len(KINDS)])
        if count == 1 and number % 4:
            return iter(PASSING[(number // 4) % len(PASSING)])
        return iter(GOOD)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def run(out: Path, server: FakeServer, *, episodes: int, **options: Any) -> Any:
    return timeful.evaluate(
        None, suite, out=out, url=server.base_url, number=range(episodes), **options
    )


def without_wall(record: bytes) -> list[bytes]:
    """The lines of a record without its wall time."""
    return [line for line in record.splitlines() if b'{"event":"wall"' not in line]


@pytest.mark.parametrize(
    "counts",
    [
        ((1, 1), (1, 8), (1, 64)),
        pytest.param(((1, 1), (2, 8), (2, 64)), marks=pytest.mark.slow),
    ],
    ids=["threads", "processes"],
)
def test_the_number_in_flight_changes_no_byte(
    tmp_path: Path, counts: tuple[tuple[int, int], ...]
) -> None:
    def script(body: Body) -> list[Step]:
        number = int(re.findall(r"\d+", body["messages"][-1]["content"])[0])
        return [Wait(number % 3), *(Say(f"{n} ") for n in range(number % 7)), Say(f"{number}")]

    found = []
    with FakeServer(script) as server:
        for workers, connections in counts:
            out, limits = tmp_path / f"{workers}-{connections}", Limits(connections=connections)
            results = run(out, server, episodes=24, workers=workers, limits=limits)
            assert not results.failed
            assert len({row["sha256"] for row in results.rows}) == 24
            paths = (out / "episodes").glob("*.jsonl")
            records = {path.name: without_wall(path.read_bytes()) for path in paths}
            found.append(([row["sha256"] for row in results.rows], records))
    assert all(each == found[0] for each in found)


def test_bad_answers_cost_no_good_episode_and_bounded_memory(tmp_path: Path) -> None:
    server = Server()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with FakeServer(server) as fake:
        limits = Limits(connections=64)
        results = run(tmp_path, fake, episodes=64, workers=1, limits=limits, hasty=True)
    rows = {row["number"]: row for row in results.rows}
    for number, row in rows.items():
        is_good = not number % 2 or KINDS[(number // 2) % len(KINDS)] is GOOD
        assert row["status"] == ("ok" if is_good else "failed"), (number, row["error"])
        assert row["score"] == 3.0 or not is_good
        assert is_good or row["error"].startswith("model: "), row["error"]
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 700  # megabytes


JSON_ANSWER = b'{"choices": [{"message": {"content": "the answer is 1"}}]}'
HOSTILE: dict[str, list[Step] | Callable[[], Iterable[Step]]] = {
    "500": [Status(500, "broken")],
    "status of no use": [Status(418, "x" * 1_000_000)],
    "HTML": [Raw(b"<html>not a stream</html>\n\n")],
    "malformed JSON": [Raw(b"data: {nonsense\n\n")],
    "JSON of something else": [Raw(b"data: [1, 2]\n\n")],
    "content type of one JSON": [
        Status(200, headers={"Content-Type": "application/json"}),
        Raw(JSON_ANSWER),
    ],
    "silent": [Hang()],
    "headers, then silent": [Start(), Hang()],
    "comments for ever": [Hang(keep_alive=True)],
    "half, then silent": [Say("half an answer "), Hang()],
    "half, then gone": [Say("half an answer "), Die()],
    "gone at once": [Die()],
    "event of 16 MB": [Start(), Raw(b"data: " + b"x" * (1 << 24))],
    "gzip bomb": [Start(), Raw(BOMB)],
    "packed answer": [Status(200, headers={"Content-Encoding": "gzip"}), Raw(BOMB)],
    "endless": lambda: cycle((Say("1 "), Wait(2))),
    "endless without text": lambda: cycle((Say(""), Wait(2))),
    "usage below zero": [Say("1", tokens=-5), Usage(completion=-7)],
    "usage of a trillion": [Say("1"), Usage(completion=10**12, prompt=10**12)],
    "usage that falls": [Say("1", tokens=50), Say(" 1", tokens=3), Usage(completion=1)],
    "usage of text": [Say("1"), Raw(b'data: {"choices": [], "usage": {"prompt_tokens": "x"}}\n\n')],
    "slow headers": [Wait(700), Say("1")],
    "finish without text": [Finish("stop")],
    "unknown finish": [Say("1"), Finish("because")],
}
"""Answers to each request of every second episode; a test below has a storm of rate limits."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_server_costs_no_good_episode_at_64_connections(
    tmp_path: Path, kind: str
) -> None:
    steps = HOSTILE[kind]

    def script(body: Body) -> Iterable[Step]:
        number = int(re.findall(r"\d+", body["messages"][-1]["content"])[0])
        return (steps() if callable(steps) else steps) if number % 2 else GOOD

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    command = ["run", "tests/experiments/flight_suite.py", "--numbers", "64", "--workers", "1"]
    with FakeServer(script) as server:
        options = [
            "--url",
            server.base_url,
            "--connections",
            "64",
            "--out",
            str(tmp_path),
            "--hasty",
        ]
        result = CliRunner().invoke(app, [*command, *options])
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    rows = {row["number"]: row for row in (json.loads(line)["row"] for line in lines)}
    assert sorted(rows) == list(range(64))
    assert all(rows[number]["score"] == 3.0 for number in range(0, 64, 2))
    failed = [row for row in rows.values() if row["status"] == "failed"]
    assert all(row["error"].startswith(("model: ", "agent: ")) for row in failed)
    assert result.exit_code == (1 if failed else 0), result.output
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 700  # megabytes


def test_an_answer_without_an_end_is_cut_by_its_budget(tmp_path: Path) -> None:
    with FakeServer(lambda _: repeat(Say("1 "))) as server:
        results = run(tmp_path, server, episodes=8, workers=1, limits=Limits(connections=8))
    assert not results.failed


def test_a_compressed_answer_that_was_not_requested_is_refused(tmp_path: Path) -> None:
    headers = {"Content-Encoding": "gzip"}
    with FakeServer([Status(200, headers=headers)]) as server:
        results = run(tmp_path, server, episodes=2, workers=1)
    assert len(results.failed) == 2
    with FakeServer([Status(413, headers=headers)]) as server:
        results = run(tmp_path / "error", server, episodes=2, workers=1)
    assert len(results.failed) == 2


def test_a_storm_of_rate_limits_loses_no_episode(tmp_path: Path) -> None:
    admitted = threading.Semaphore(3)

    def script(_: Body) -> Iterator[Step]:
        if not admitted.acquire(blocking=False):
            yield Status(429, headers={"retry-after-ms": "20"})
            return
        try:
            yield Wait(5)
            yield Say("1")
        finally:
            admitted.release()

    with FakeServer(script) as server:
        results = run(tmp_path, server, episodes=32, workers=1, limits=Limits(connections=32))
        assert not results.failed
        assert len(server.requests) > 96


@pytest.mark.slow
@pytest.mark.parametrize("is_endless", [False, True])
def test_a_storm_of_retry_after_costs_no_finished_episode(tmp_path: Path, is_endless: bool) -> None:
    lock, sent = threading.Lock(), 0
    refusal = [Status(429, "slow down", headers={"retry-after-ms": "20"})]

    def script(_: Body) -> list[Step]:
        nonlocal sent
        with lock:
            sent += 1
            is_storm = sent > 100 and (is_endless or sent <= 300)
        return refusal if is_storm else GOOD

    def command(url: str, *options: str) -> tuple[int, list[dict[str, Any]]]:
        words = ["run", "tests/experiments/flight_suite.py", "--numbers", "64", "--workers", "1"]
        words += ["--url", url, "--connections", "64", "--out", str(tmp_path), *options]
        result = CliRunner().invoke(app, words)
        lines = (tmp_path / "rows.jsonl").read_text().splitlines()
        return result.exit_code, [json.loads(line)["row"] for line in lines]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    patience = ["--set", f"patience_ms={30 if is_endless else 60_000}"]
    with FakeServer(script) as server:
        code, rows = command(server.base_url, *patience)
    failed = [row for row in rows if row["status"] == "failed"]
    assert (code, len(failed) > 0) == (int(is_endless), is_endless)
    assert all(row["score"] == 3.0 for row in rows if row["status"] == "ok")
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 700  # megabytes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "workers"), [(signal.SIGINT, "1"), (signal.SIGINT, "2"), (signal.SIGKILL, "2")]
)
def test_a_run_in_flight_is_stopped_and_resumed(
    tmp_path: Path, number: signal.Signals, workers: str
) -> None:
    done = threading.Event()
    count = 0
    lock = threading.Lock()

    def script(_: Body) -> Iterator[Step]:
        nonlocal count
        with lock:
            count += 1
            late = count > 40
            if count == 90:
                done.set()
        yield Say("the answer is ")
        if late and not done.is_set():
            yield Wait(200)
        yield Say("1")

    with FakeServer(script) as server:
        options = ["--url", server.base_url, "--numbers", "64", "--connections", "64"]
        command = [sys.executable, "-m", "timeful", "run", "tests/experiments/flight_suite.py"]
        command += [*options, "--workers", workers, "--out", str(tmp_path / "run")]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A shell's background process has inherited that the signal is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        assert done.wait(60)
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
        records = {path.name for path in (tmp_path / "run" / "episodes").glob("*.jsonl")}
        assert len(records) < 64
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=60)
        assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()
    assert len(list((tmp_path / "run" / "episodes").glob("*.jsonl"))) == 64
    assert not list(tmp_path.rglob("*.part"))
