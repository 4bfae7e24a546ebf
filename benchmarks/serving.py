"""Our server beside transformers' own, `transformers serve`: the same checkpoint, client and jobs.

A chat model of half a million weights, random, on one thread, that never ends an answer itself:
how many tokens are drawn is what was asked for. All is streamed to the official client. First 32
conversations of 20 words and 64 new tokens: one after the other, 8 and 32 at once. Then *mixed*:
four clients ask three times each for 384 tokens, and meanwhile four ask ten times each for 8; what
these wait for their first token is told. The servers run one after the other, as processes of
their own; the peer needs fastapi, and is left out without it.
"""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import openai

from benchmarks.local import WORDS, make
from timeful.core.clock import monotonic_ns
from timeful.seeding import child

ROUNDS, JOBS, NEW = 2, 32, 64
LONG, SHORT = (4, 3, 384), (4, 10, 8)
"""Clients, how often each asks, and for how many tokens."""
PATIENCE = 120
PEER = "from transformers.cli.transformers import main; main()"


def save(folder: Path) -> None:
    """A checkpoint with words for tokens."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - an extra, as the next three
    from tokenizers.models import WordLevel  # noqa: PLC0415
    from tokenizers.pre_tokenizers import WhitespaceSplit  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    words = ["<pad>", "<bos>", "<eos>", *(f"w{i}" for i in range(3, WORDS))]
    core = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="<pad>"))
    core.pre_tokenizer = WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<bos>",
        pad_token="<pad>",
        chat_template="{% for m in messages %} {{ m.content }}{% endfor %}",
    ).save_pretrained(folder)
    model = make("Qwen3", context=512)
    for config in (model.config, model.generation_config):
        config.eos_token_id = None
    model.save_pretrained(folder)


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """A server, from when it is healthy until it is stopped."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(PATIENCE * 10):
            try:
                with urlopen(f"http://127.0.0.1:{port}/health"):
                    break
            except URLError:
                subprocess.run(["sleep", "0.1"], check=True)
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@dataclass(frozen=True, slots=True)
class Told:
    """Of some answers: seconds in all, tokens in all, seconds of each until its first token."""

    span: float
    tokens: int
    waits: Sequence[float]


class Client:
    """The official one, with prompts of its own.

    Args:
        port: Of the server.
        model: As the server names it.
    """

    def __init__(self, port: int, model: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
        self._model = model
        self._rng = child(0, "benchmark", "serving")

    async def ask(self, new: int) -> tuple[int, float]:
        """Tokens, and seconds until the first one."""
        prompt = " ".join(f"w{i}" for i in self._rng.integers(3, WORDS, size=20))
        begin, first, count = monotonic_ns(), 0, 0
        stream = await self._client.chat.completions.create(
            model=self._model,
            messages=[{"role": "user", "content": prompt}],
            max_tokens=new,
            temperature=1,
            seed=new,
            stream=True,
            stream_options={"include_usage": True},
        )
        async for part in stream:
            if part.choices and part.choices[0].delta.content:
                first = first or monotonic_ns()
            count = part.usage.completion_tokens if part.usage else count
        return count, (first - begin) / 1e9

    async def at_once(self, count: int) -> Told:
        """So many of all jobs at a time."""
        gate = asyncio.Semaphore(count)

        async def one() -> tuple[int, float]:
            async with gate:
                return await self.ask(NEW)

        begin = monotonic_ns()
        told = await asyncio.gather(*(one() for _ in range(JOBS)))
        return Told((monotonic_ns() - begin) / 1e9, sum(n for n, _ in told), [w for _, w in told])

    async def mixed(self) -> Told:
        """Long answers and short ones; the waits are those of the short ones."""

        async def again(times: int, new: int) -> list[tuple[int, float]]:
            return [await self.ask(new) for _ in range(times)]

        begin = monotonic_ns()
        both = await asyncio.gather(
            *(again(*long) for long in [LONG[1:]] * LONG[0]),
            *(again(*short) for short in [SHORT[1:]] * SHORT[0]),
        )
        span = (monotonic_ns() - begin) / 1e9
        tokens = sum(n for one in both for n, _ in one)
        return Told(span, tokens, [w for one in both[LONG[0] :] for _, w in one])

    async def all(self) -> dict[str, Told]:
        """Everything once, after a little for warmth."""
        async with self._client:
            await self.ask(NEW)
            found = {f"{n} at once": await self.at_once(n) for n in (1, 8, 32)}
            return {**found, "mixed": await self.mixed()}


def asked_for() -> dict[str, int]:
    """How many tokens each job has."""
    mixed = sum(clients * times * new for clients, times, new in (LONG, SHORT))
    return {**{f"{n} at once": JOBS * NEW for n in (1, 8, 32)}, "mixed": mixed}


def main() -> None:
    """Print medians over the rounds; and see that nobody lost or made up a token."""
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(path)
        ports = {name: free_port() for name in ("timeful serve", "transformers serve")}
        ours = ["-m", "timeful", "serve", str(path), "--port", str(ports["timeful serve"])]
        peer = ["-c", PEER, "serve", str(path), "--device", "cpu"]
        peer += ["--port", str(ports["transformers serve"])]
        commands = {"timeful serve": (ours, "model")}
        if find_spec("fastapi") is not None:
            commands["transformers serve"] = (peer, str(path))
        print(f"{'':<36}{'tokens/s':>10}{'first token, s: p50':>21}{'p95':>7}{'load':>6}")
        for name, (command, model) in commands.items():
            with running(command, ports[name]):
                rounds = [asyncio.run(Client(ports[name], model).all()) for _ in range(ROUNDS)]
            for job, tokens in asked_for().items():
                told = [one[job] for one in rounds]
                assert {one.tokens for one in told} == {tokens}, (name, job, told)
                speed = median(one.tokens / one.span for one in told)
                middle, late = np.percentile([w for one in told for w in one.waits], (50, 95))
                load = os.getloadavg()[0]
                print(
                    f"{name + ', ' + job:<36}{speed:>10,.0f}{middle:>21.3f}{late:>7.3f}{load:>6.1f}"
                )
        if len(commands) == 1:
            print("transformers serve is left out: it needs fastapi")


if __name__ == "__main__":
    main()
