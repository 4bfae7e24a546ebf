"""Episodes in flight on an endpoint of paced streams, 50 tokens/s each, beside Inspect.

A task has one turn or ten, each an answer of a fixed number of tokens. The ideal is that every
connection streams all the time; the share of it is taken between the first request and the last
answer, as the server saw them, so the start of processes is not in it. CPU and memory are those of
all processes of the client. Inspect runs in the Python that TIMEFUL_INSPECT names, or in this one,
and is left out where it is not installed. It asks for whole answers, not for streams.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.request import urlopen

import timeful
from benchmarks.endpoint import TOKENS_PER_S
from timeful import EventWorld, Suite, seconds
from timeful.models.model_spec import ModelSpec
from timeful.models.traffic import Limits
from timeful.records.recorder import Recorder

OURS = "import sys; from benchmarks.flight import run; run(*sys.argv[1:])"
PEER = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.solver import solver

url, episodes, turns, tokens, connections, logs = sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6]

@solver
def ask():
    async def solve(state, generate):
        for turn in range(turns):
            state.messages.append(ChatMessageUser(content=f"Turn {turn}: what now?"))
            state.output = await get_model().generate(state.messages)
            state.messages.append(state.output.message)
        return state
    return solve

config = GenerateConfig(max_connections=connections, max_tokens=tokens)
task = Task(dataset=[Sample(input=f"Task {n}") for n in range(episodes)], solver=ask())
model = get_model("openai-api/loop/paced", base_url=url, api_key="none", config=config)
log = eval(task, model=model, max_samples=connections, display="none", log_dir=logs)[0]
assert log.status == "success", log.error
"""


class Questions(EventWorld):
    """A world in which a number of questions is asked, one a second."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        super().__init__(0)

    def start(self, rng: object) -> None:
        self.finish(seconds(10_000))

    def begin(self, action: object) -> Any:
        return seconds(1)

    def happen(self, event: str, data: object) -> None:
        return None

    def state(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """An agent that asks its model a number of times."""

    url: str = ""
    turns: int = 1
    tokens: int = 100
    number: int = 0

    @property
    def is_live(self) -> bool:
        return True


def play(episode: Conversation, recorder: Recorder) -> None:
    spec = ModelSpec(spec="openai:paced", base_url=episode.url)
    pace = timeful.Pace(per_token=seconds(0.02))
    model = spec.make("planner", pace=pace, scope="", api_key="")

    async def agent(session: timeful.Session) -> None:
        for turn in range(episode.turns):
            await session.think(model, f"Turn {turn}: what now?", max_tokens=episode.tokens)

    timeful.play(agent, Questions(episode.turns), interface="event-driven", record=recorder)


SUITE = Suite(name="flight", episode=Conversation, play=play, sweep={"number": range(1)})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client did: its seconds in all, CPU seconds, most memory, and the server's totals."""

    span: float
    cpu: float
    memory: float
    totals: dict[str, float]


@contextmanager
def endpoint() -> Iterator[str]:
    """A server in a process of its own; its base URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.endpoint", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def measure(command: list[str], url: str) -> Outcome:
    """Run a client to its end."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), monotonic()
    process = subprocess.Popen(command, env={**os.environ, "NO_PROXY": "127.0.0.1"})
    memory, is_over = [0.0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.25):
            memory[0] = max(memory[0], resident(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    is_over.set()
    watcher.join()
    assert code == 0, command
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with urlopen(f"{url.removesuffix('/v1')}/totals") as reply:
        totals = json.load(reply)
    return Outcome(monotonic() - began, cpu, memory[0], totals)


def resident(pid: int) -> float:
    """Megabytes that a process and its descendants hold."""
    total, pids = 0.0, [pid]
    while pids:
        pid = pids.pop()
        try:
            pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        total += pages * resource.getpagesize() / 1e6
    return total


def peer() -> str:
    """The Python that has Inspect; empty if there is none."""
    python = os.environ.get("TIMEFUL_INSPECT", sys.executable)
    found = subprocess.run([python, "-c", "import inspect_ai"], capture_output=True, check=False)
    return "" if found.returncode else python


def show(name: str, outcome: Outcome, *, connections: int, episodes: int, tokens: int) -> None:
    totals = outcome.totals
    assert totals["tokens"] >= tokens, totals
    span = totals["last"] - totals["first"]
    share = totals["tokens"] / span / (connections * TOKENS_PER_S)
    print(
        f"{name:<34}{totals['most_open']:>7.0f}{totals['tokens'] / span:>10,.0f}{share:>8.0%}"
        f"{outcome.span:>8.1f}{1e6 * outcome.cpu / totals['tokens']:>9.1f}"
        f"{outcome.memory:>8.0f}{os.getloadavg()[0]:>6.1f}"
    )


JOBS = ((256, 1024, 1, 200), (256, 512, 10, 40), (1000, 1000, 1, 400))
"""Connections, episodes, turns, and tokens of an answer."""


def main() -> None:
    """Print a table of all jobs, ours and the peer's."""
    python = peer()
    columns = f"{'open':>7}{'tokens/s':>10}{'ideal':>8}{'s':>8}{'us/token':>9}{'MB':>8}{'load':>6}"
    print(f"{'':<34}{columns}")
    for connections, episodes, turns, tokens in JOBS:
        numbers = [str(n) for n in (episodes, turns, tokens, connections)]
        clients = {"timeful": [sys.executable, "-c", OURS]}
        if python:
            clients["Inspect"] = [python, "-c", PEER]
        for name, command in clients.items():
            with endpoint() as url, tempfile.TemporaryDirectory() as folder:
                outcome = measure([*command, url, *numbers, f"{folder}/out"], url)
            show(
                f"{name}, {connections} x {turns} turns",
                outcome,
                connections=connections,
                episodes=episodes,
                tokens=episodes * turns * tokens,
            )
    if not python:
        print("Inspect is left out: it is not installed here (pip install inspect_ai)")


def run(url: str, *arguments: str) -> None:
    """Run our client: EPISODES TURNS TOKENS CONNECTIONS OUT."""
    episodes, turns, tokens, connections = map(int, arguments[:4])
    results = timeful.evaluate(
        None,
        SUITE,
        out=arguments[4],
        limits=Limits(connections=connections),
        preflight=None,  # its request would be the first that the server sees
        url=url,
        turns=turns,
        tokens=tokens,
        number=range(episodes),
    )
    assert not results.failed, results.failed[0].error


if __name__ == "__main__":
    main()
