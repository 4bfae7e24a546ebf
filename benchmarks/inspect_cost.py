"""The CPU time of an episode of 100 turns in Inspect, next to 100 calls of `generate` alone.

    .peers/inspect/bin/python -m benchmarks.inspect_cost

Both ask the same server of this machine, which runs in a process of its own.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

SAMPLES = 4
TURNS = 100
_SERVER = """
from time import sleep
from tests.bridges.test_inspect import answer, serve

with serve(answer) as server:
    print(server.base_url, flush=True)
    sleep(600)
"""


@contextmanager
def start_server() -> Iterator[str]:
    """Serve the answers of the tests, and give the base URL."""
    command = [sys.executable, "-c", _SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main() -> None:
    """Print both costs and their ratio."""
    from inspect_ai import Task, eval, task  # noqa: A004, PLC0415
    from inspect_ai.dataset import Sample  # noqa: PLC0415
    from inspect_ai.model import ChatMessageUser, get_model  # noqa: PLC0415
    from inspect_ai.solver import Generate, Solver, TaskState, solver  # noqa: PLC0415

    async def take(_: object) -> None:
        """Take a part of an answer: it is streamed, as in an episode."""

    @solver
    def ask() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            for _ in range(TURNS):
                await get_model().generate([ChatMessageUser(content="x" * 2000)], on_stream=take)
            return state

        return solve

    @task
    def plain() -> Task:
        return Task(dataset=[Sample(input=str(i)) for i in range(SAMPLES)], solver=ask())

    def measure(subject: Any, url: str, **options: Any) -> float:
        model = get_model("openai-api/local/fake", base_url=url, api_key="none")
        with TemporaryDirectory() as folder:
            began = process_time()
            [log] = eval(subject, model=model, log_dir=folder, display="none", **options)
            assert log.status == "success", log.error
            return (process_time() - began) / SAMPLES

    options = {"seeds": SAMPLES, "difficulty": "easy", "agent": "reactive"}
    with start_server() as url:
        measure("timeful/freeway", url, task_args={**options, "seeds": 1})  # loads everything
        alone = measure(plain(), url)
        episode = measure("timeful/freeway", url, task_args=options)
    print(f"{TURNS} calls of generate  {alone:.3f} CPU-s a sample")
    print(f"an episode              {episode:.3f} CPU-s a sample, {episode / alone:.2f}x")


if __name__ == "__main__":
    os.environ.setdefault("LOCAL_API_KEY", "none")
    main()
