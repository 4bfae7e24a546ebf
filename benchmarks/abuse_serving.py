"""Attacks on `timeful serve`, and what they cost the others.

Each attack goes on for some seconds. Meanwhile another client asks for /health again and again,
and one for the first token of a short answer. An attack is held if the 99th percentile of the
former is below 100 ms, the median of the latter at most twice that without an attack, and the
server's memory back within 20 % of what it was. A busy machine, which shows as its load, fails too.
"""

import http.client
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.serving import free_port, running, save
from timeful.core.clock import monotonic_ns

ATTACK_S, PATIENCE_S = 5.0, 40.0
HEALTH_MS, SLOWER, MORE = 100, 2.0, 1.2
"""The most: health, and first token and memory as shares of those without an attack."""

Json = dict[str, object]


def write(body: Json) -> bytes:
    return json.dumps({"model": "model", **body}).encode()


def ask(port: int, path: str, data: bytes) -> None:
    """Send a request, and wait for the beginning of its answer, and its end."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with closing(link):
        link.request("POST" if data else "GET", path, data)
        link.getresponse().read()


def timed(job: Callable[[], None], spans: list[float]) -> None:
    """Note how long a job takes, also when it fails."""
    begin = monotonic_ns()
    try:
        job()
    finally:
        spans.append((monotonic_ns() - begin) / 1e6)


def unfinished(port: int) -> None:
    """Bodies that never end, on many connections, until the server answers one of them."""
    with ExitStack() as links:
        for _ in range(40):
            link = http.client.HTTPConnection("127.0.0.1", port)
            links.callback(link.close)
            link.putrequest("POST", "/v1/completions")
            link.putheader("Content-Length", str(4 << 20))
            link.endheaders()
            link.sock.settimeout(0.05)
            with suppress(TimeoutError):
                link.send(b'{"prompt": "' + bytes(3 << 20))
        link.sock.settimeout(PATIENCE_S)
        link.getresponse()


@dataclass(frozen=True, slots=True)
class Request:
    """A request of an attack, and one that is as much work without being an attack, if any."""

    body: Json
    path: str = "/v1/completions"
    harmless: Json | None = None


FIRST_TOKEN = write({"prompt": "w5 w6 w7", "max_tokens": 1})
ASKED: Json = {"prompt": "w5 w6 w7", "max_tokens": 100}
NEAR = [f"{'w5 ' * 21}{number:0>65}" for number in range(16)]
WORDS = "w5 " * 1_390_000  # about 4 MB
REQUESTS = {
    "100,000 stops": Request({**ASKED, "stop": [str(i) for i in range(100_000)], "n": 64}),
    "the most stops": Request({**ASKED, "stop": NEAR, "n": 64}, harmless={**ASKED, "n": 64}),
    "a prompt of 4 MB": Request({"prompt": WORDS}),
    "a conversation of 4 MB": Request(
        {"messages": [{"role": "user", "content": WORDS}]}, "/v1/chat/completions"
    ),
    "a prompt of 60 MB": Request({"prompt": WORDS * 15}),
    "4,096 prompts": Request({"prompt": ["w5 " * 300] * 4096}),
}
UNFINISHED = "unfinished bodies"


def attack(port: int, name: str, begun: Event, *, is_harmless: bool) -> None:
    """Repeat an attack for ever; the main function of a process."""
    job = partial(unfinished, port)
    if name != UNFINISHED:
        request = REQUESTS[name]
        body = request.harmless if is_harmless and request.harmless else request.body
        job = partial(ask, port, request.path, write(body))
    with Meter(job):
        begun.set()
        threading.Event().wait()


class Meter:
    """Repeats jobs in threads until it is left; a context manager."""

    def __init__(self, *jobs: Callable[[], object]) -> None:
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(job,)) for job in jobs]

    def _repeat(self, job: Callable[[], object]) -> None:
        while not self._over.is_set():
            with suppress(OSError, http.client.HTTPException):  # the server hung up
                job()
            self._over.wait(0.01)

    def __enter__(self) -> "Meter":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def measure(port: int, name: str = "", *, is_harmless: bool = False) -> tuple[float, float]:
    """Milliseconds, under an attack if one is named: 99th percentile of /health, first token."""
    context = multiprocessing.get_context("fork")  # no thread runs, and modules take long
    begun = context.Event()
    attacker = context.Process(
        target=attack, args=(port, name, begun), kwargs={"is_harmless": is_harmless}
    )
    if name:
        attacker.start()
        begun.wait()
    healths, firsts = list[float](), list[float]()
    with Meter(
        partial(timed, partial(ask, port, "/health", b""), healths),
        partial(timed, partial(ask, port, "/v1/completions", FIRST_TOKEN), firsts),
    ):
        threading.Event().wait(ATTACK_S)
    if name:
        attacker.kill()
        attacker.join()
    return float(np.percentile(healths, 99)), median(firsts)


def memory(pid: int) -> int:
    """Resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def refusals(port: int, path: Path) -> Iterator[tuple[str, str]]:
    """Web pages and other machines, which are refused whatever they ask for."""
    for headers in ({"Host": "rebound.example"}, {"Origin": "https://page.example"}):
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        link.request("POST", "/v1/completions", write(ASKED), headers)
        status = link.getresponse().status
        link.close()
        yield f"a web page by {headers}", "" if status == 403 else f"status {status}"
    command = [sys.executable, "-m", "timeful", "serve", str(path), "--host", "0.0.0.0"]
    variables = {name: value for name, value in os.environ.items() if name != "TIMEFUL_API_KEY"}
    code = 0
    with suppress(subprocess.TimeoutExpired):
        code = subprocess.run(
            [*command, "--port", "0"], env=variables, capture_output=True, timeout=30, check=False
        ).returncode
    yield "other machines without a key", "" if code == 2 else "they are served"


def attacks() -> Iterator[tuple[str, str]]:
    """Each attack, and what it reached: "" if nothing."""
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder:
        path, port = Path(folder) / "model", free_port()
        save(path)
        with running(["-m", "timeful", "serve", str(path), "--port", str(port)], port) as process:
            yield from refusals(port, path)
            measure(port, "the most stops", is_harmless=True)  # for warmth
            for name in (*REQUESTS, UNFINISHED):
                held = memory(process.pid)
                request = REQUESTS.get(name)
                usual = name if request is not None and request.harmless else ""
                usual_health_ms, usual_ms = measure(port, usual, is_harmless=True)
                health_ms, first_ms = measure(port, name)
                measure(port)
                after = memory(process.pid)
                print(
                    f"{name}: /health p99 {usual_health_ms:.0f} to {health_ms:.0f} ms, first token "
                    f"{usual_ms:.0f} to {first_ms:.0f} ms, memory {held} to {after} MiB, "
                    f"load {os.getloadavg()[0]:.1f}"
                )
                problems = {
                    "slow /health": health_ms > HEALTH_MS,
                    "slow first token": first_ms > SLOWER * usual_ms,
                    "memory kept": after > MORE * held,
                }
                yield name, ", ".join(problem for problem, is_so in problems.items() if is_so)
