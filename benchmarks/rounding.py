"""Answers that rounding changes: the local sampler beside draws by the cumulative distribution.

A matrix product of another size adds up in another order, so the last bits of logits depend on the
batch. The benchmark draws the same answers in batches of 50 and of 7, then cuts each answer at ten
places and continues it from a longer prompt. It counts the answers that differ, and prints what a
draw costs beside a step of the model.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from statistics import median
from sys import argv
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks.local import make, timed
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.detokenizer import Detokenizer
from timeful.models.local.request import Request, Sampling
from timeful.models.local.sampler import Sampler
from timeful.models.local.sampling import RowNoise, RowSamplers, gumbel, hash_integers
from timeful.seeding import child

WORDS, PROMPT, NEW, CUTS = 4096, 30, 64, 10
ANSWERS = 2000
SPREAD = 0.1


def invert_cdf(noise: RowNoise, scores: Tensor) -> Tensor:
    """Draw as many samplers do: the token at which the cumulative distribution passes a number."""
    uniform = (-(-gumbel(hash_integers(noise._keys, noise._draws))).exp()).exp()[:, None]
    total = scores.log_softmax(-1).exp().double().cumsum(-1)
    noise._draws += 1
    return torch.searchsorted(total, uniform * total[:, -1:], right=True)[:, 0]


def requests(count: int) -> list[Request]:
    """One prompt and seed for each answer."""
    rng = child(0, "rounding")
    return [
        Request(
            prompt_ids=tuple(rng.integers(3, WORDS, size=PROMPT).tolist()),
            sampling=Sampling(max_tokens=NEW, seed=seed),
        )
        for seed in range(count)
    ]


def cut(request: Request, ids: Sequence[int]) -> list[tuple[Request, tuple[int, ...]]]:
    """Requests that continue an answer from ten places, and the tokens to expect."""
    places = child(request.sampling.seed, "cuts").choice(range(1, NEW), CUTS, replace=False)
    return [
        (
            replace(
                request,
                prompt_ids=(*request.prompt_ids, *ids[:place]),
                sampling=replace(request.sampling, max_tokens=NEW - place),
                draws=int(place),
            ),
            tuple(ids[place:]),
        )
        for place in places
    ]


def draw(checkpoint: Checkpoint, asked: Sequence[Request], *, rows: int) -> list[tuple[int, ...]]:
    return [answer.ids for answer in Sampler(checkpoint, rows=rows).generate(asked)]


def count_differences(checkpoint: Checkpoint, asked: Sequence[Request]) -> str:
    """Draw all answers three times, and say how many differ."""
    whole = draw(checkpoint, asked, rows=50)
    other = draw(checkpoint, asked, rows=7)
    rest = [pair for request, ids in zip(asked, whole, strict=True) for pair in cut(request, ids)]
    rest.sort(key=lambda pair: len(pair[1]))  # rows of one batch end together
    again = draw(checkpoint, [request for request, _ in rest], rows=50)
    differ = sum(a != b for a, b in zip(whole, other, strict=True))
    broken = sum(ids != expected for ids, (_, expected) in zip(again, rest, strict=True))
    tokens = sum(map(len, other)) + sum(map(len, again))
    return (
        f"{differ:>6} of {len(whole):,} in other batches"
        f"{broken:>6} of {len(rest):,} cut and continued; {tokens:,} tokens compared"
    )


def measure_draws(words: int, rows: int, *, rounds: int = 15) -> dict[str, float]:
    """Median CPU seconds of one draw for a batch, by way."""
    scores = 3 * torch.randn(rows, words, generator=torch.Generator().manual_seed(0))
    seconds = {}
    greedy: dict[str, AbstractContextManager[object]] = {"log-probabilities alone": nullcontext()}
    for name, way in (greedy | ways()).items():
        temperature = float(name not in greedy)
        sampling = Sampling(max_tokens=NEW, seed=0, temperature=temperature)
        samplers = RowSamplers([Request(prompt_ids=(3,), sampling=sampling)] * rows, scores.device)
        with way:
            rounds_s = [timed(lambda: len(samplers.draw(scores)[0]))[0] for _ in range(rounds)]  # noqa: B023
        seconds[name] = median(rounds_s)
    return seconds


def ways() -> dict[str, AbstractContextManager[object]]:
    return {
        "hashed Gumbel noise": nullcontext(),
        "cumulative distribution": patch.object(RowNoise, "draw", invert_cdf),
    }


def main() -> None:
    """Count for both ways, with a tenth of the answers unless `--all` is given."""
    model = make("Qwen3", words=WORDS)
    for weight in model.parameters():  # so that probabilities differ as those of a trained model
        weight.data += SPREAD * torch.randn_like(weight)
    asked = requests(ANSWERS if "--all" in argv else ANSWERS // 10)
    checkpoint = Checkpoint(model, None, "benchmark", (), PROMPT + NEW, Detokenizer(None))
    weights = sum(weight.numel() for weight in model.parameters())
    print(
        f"Qwen3, {weights:,} random weights, {WORDS:,} tokens, answers of {NEW}: differing answers"
    )
    for name, way in ways().items():
        with way:
            print(f"  {name:<24}{count_differences(checkpoint, asked)}")
    prompts = asked[:50]
    seconds, tokens = timed(lambda: sum(map(len, draw(checkpoint, prompts, rows=50))))
    print(f"A step of that model for 50 rows, with its draw: {1e3 * seconds * 50 / tokens:.2f} ms")
    for words, rows in ((64, 128), (WORDS, 50), (151_936, 8)):
        costs = [
            f"{name} {1e3 * spent:.2f} ms" for name, spent in measure_draws(words, rows).items()
        ]
        print(f"  a draw of {rows} rows, {words:,} tokens: {', '.join(costs)}")
    model.bfloat16()
    print(f"  bfloat16, hashed noise  {count_differences(checkpoint, asked[: ANSWERS // 10])}")


if __name__ == "__main__":
    main()
