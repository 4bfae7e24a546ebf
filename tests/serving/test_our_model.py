"""Our own model of an endpoint, over our own server: what a checkpoint says here it says there."""

import subprocess
import sys

import pytest

from tests.models.local.tiny import byte_tokenizer, checkpoint
from tests.serving.here import Here
from tests.training.material import checkpoint as levels
from timeful.core.source import Chunk, End
from timeful.models.chat import OpenAIModel
from timeful.models.local.batching import Batcher
from timeful.models.local.checkpoint import load
from timeful.models.local.model import LocalModel
from timeful.models.local.request import Request, Sampling
from timeful.models.local.sampler import Sampler
from timeful.models.model import Pricing, Prompt
from timeful.training.remote_samplers import ServerSampler


def pulled(model, prompt: Prompt, **how) -> tuple[str, End]:
    source, text = model.open(prompt, **how), ""
    try:
        while isinstance(piece := source.pull(), Chunk):
            text += piece.text
        return text, piece
    finally:
        source.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_checkpoint_says_the_same_through_the_server(served, seed):
    of = checkpoint("llama", tokenizer=byte_tokenizer())
    prompt = Prompt(label="main", render=lambda: f"Über {seed} 日本語")
    here = OpenAIModel(model=served.name, base_url=served.base_url)
    try:
        text, end = pulled(here, prompt, max_tokens=20, seed=seed)
    finally:
        here.close()
    with Batcher(Sampler(of)) as batcher:
        (seat,) = batcher.slots(1)
        local, last = pulled(LocalModel(of, seat), prompt, max_tokens=20, seed=seed)
    assert text == local
    assert (end.finish, end.tokens, end.prompt_tokens) == (
        last.finish,
        last.tokens,
        last.prompt_tokens,
    )


def test_a_served_answer_is_priced_by_the_running_count_of_its_server(served):
    model = OpenAIModel(model=served.name, base_url=served.base_url)
    prompt = Prompt(label="main", render=lambda: "Hello", pricing=Pricing(room=12))
    source = model.open(prompt, max_tokens=None, seed=1)
    tokens = 0
    try:
        while isinstance(piece := source.pull(), Chunk):
            tokens += piece.tokens
    finally:
        source.close()
        model.close()
    usage = source.usage
    assert usage.counted == "running"
    assert tokens <= usage.completion <= 12
    assert piece.tokens == (13 if piece.finish == "length" else usage.completion)


def test_a_suite_runs_on_a_served_checkpoint(tmp_path):
    path = levels(tmp_path / "levels")
    with Here(load(path)) as here:
        few = ["--case", "levels:8", "--size", "2", "--budget", "2s", "--workers", "1"]
        model = ["--model", f"openai:{here.name}", "--base-url", here.base_url]
        out = ["--max-tokens", "20", "--out", str(tmp_path / "run")]
        ran = subprocess.run(
            [sys.executable, "-m", "timeful", "run", "timely/reasoning", *few, *model, *out],
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    records = list((tmp_path / "run" / "episodes").glob("*.jsonl"))
    assert len(records) == 2
    assert all('"reason":"world over"' in one.read_text() for one in records)


def test_a_trainer_is_given_what_the_sampler_drew(served):
    """Tokens, log-probabilities and what ended them, over the wire as in this process."""
    of = checkpoint("llama", tokenizer=byte_tokenizer())
    requests = [
        Request(
            prompt_ids=tuple(range(5, 9 + i)),
            sampling=Sampling(
                max_tokens=6 + 5 * i,
                seed=i,
                temperature=0.5 + 0.2 * i,
                top_k=7 * i,
                stop_ids=of.stop_ids,
                stop=("e",) if i % 2 else (),
            ),
        )
        for i in range(6)
    ]
    wire = ServerSampler(of, base_url=served.base_url, served=served.name)
    try:
        told = wire.generate(requests)
    finally:
        wire.close()
    for one, here in zip(told, Sampler(of).generate(requests), strict=True):
        assert (one.ids, one.finish) == (here.ids, here.finish)
        assert one.logprobs == pytest.approx(here.logprobs, abs=1e-5)
