"""Our server beside transformers' own, `transformers serve`: the same checkpoint, client and jobs.

A chat model of half a million weights, random, on one thread. 32 conversations of 20 words, 64 new
tokens at most, by the official client: one after the other, and all at once. The servers run one
after the other, as processes of their own; the peer needs fastapi, and is left out without it.
"""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import openai

from benchmarks.local import WORDS, make
from timeful.core.clock import monotonic_ns
from timeful.seeding import child

ROUNDS, JOBS, NEW = 2, 32, 64
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
        eos_token="<eos>",
        pad_token="<pad>",
        chat_template="{% for m in messages %} {{ m.content }}{% endfor %}",
    ).save_pretrained(folder)
    make("Qwen3").save_pretrained(folder)


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[None]:
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
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


async def ask_all(port: int, model: str, at_once: int) -> tuple[float, list[int], list[float]]:
    """Seconds, tokens of each answer, and seconds that each one took."""
    rng = child(0, "benchmark", "serving")
    prompts = [" ".join(f"w{i}" for i in rng.integers(3, WORDS, size=20)) for _ in range(JOBS)]
    gate = asyncio.Semaphore(at_once)
    spans: list[float] = []

    async def one(client: openai.AsyncOpenAI, seed: int, prompt: str) -> int:
        async with gate:
            begin = monotonic_ns()
            made = await client.chat.completions.create(
                model=model,
                messages=[{"role": "user", "content": prompt}],
                max_tokens=NEW,
                temperature=1,
                seed=seed,
            )
            spans.append((monotonic_ns() - begin) / 1e9)
        assert made.usage is not None
        return made.usage.completion_tokens

    async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none") as client:
        begin = monotonic_ns()
        tokens = await asyncio.gather(*(one(client, i, text) for i, text in enumerate(prompts)))
        return (monotonic_ns() - begin) / 1e9, list(tokens), spans


def main() -> None:
    """Print medians; and see that the same seeds drew as many tokens each time."""
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
        found: dict[tuple[str, int], list[Any]] = {}
        for name, (command, model) in commands.items():
            with running(command, ports[name]):
                asyncio.run(ask_all(ports[name], model, 8))
                for at_once in (1, 32) * ROUNDS:
                    told = asyncio.run(ask_all(ports[name], model, at_once))
                    found.setdefault((name, at_once), []).append(told)
        print(f"{'':<34}{'requests/s':>12}{'tokens/s':>10}{'median wait, s':>16}")
        for (name, at_once), rounds in found.items():
            assert name != "timeful serve" or len({tuple(one[1]) for one in rounds}) == 1
            speed = median(JOBS / one[0] for one in rounds)
            tokens = median(sum(one[1]) / one[0] for one in rounds)
            wait = median(median(one[2]) for one in rounds)
            print(f"{name + f', {at_once} at once':<34}{speed:>12.1f}{tokens:>10,.0f}{wait:>16.3f}")
        if len(commands) == 1:
            print("transformers serve is left out: it needs fastapi")


if __name__ == "__main__":
    main()
