"""The local sampler beside transformers' own `generate`, of one model in one run.

A decoder of half a million weights with a chat model's make, 128 prompts of 30 tokens, 64 new
tokens each, one thread. The sampler also gives log-probabilities, and chance of each row's own.
The peer draws by multinomial from one generator. A second job has 16 prompts 8 times each, as
groups of rollouts are, and answers of different lengths: equal prompts are read once, and rows that
are done leave.
"""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Qwen3Config, Qwen3ForCausalLM

from timeful.core.clock import cpu_seconds
from timeful.models.local import fast_weights
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.detokenizer import Detokenizer
from timeful.models.local.request import Request, Sampling
from timeful.models.local.sampler import Sampler
from timeful.seeding import child

ROUNDS = 5
ROWS, PROMPT, NEW = 128, 30, 64
WORDS, EOS = 64, 2


def make(kind: str, *, context: int = PROMPT + NEW, words: int = WORDS) -> Any:
    """A model with random weights; the seed makes its answers end at different lengths."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ids = {"bos_token_id": 1, "eos_token_id": EOS, "pad_token_id": 0}
    if kind == "GPT-2":
        config = GPT2Config(
            vocab_size=words,
            n_positions=context,
            n_embd=96,
            n_layer=3,
            n_head=4,
            activation_function="relu",
            **ids,
        )
        return GPT2LMHeadModel(config).eval()
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=words,
            hidden_size=96,
            intermediate_size=384,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=4,
            head_dim=24,
            max_position_embeddings=context,
            tie_word_embeddings=True,
            **ids,
        )
    ).eval()


def prompts(different: int) -> list[tuple[int, ...]]:
    """Rows of prompts, each as often as the others."""
    rng = child(0, "benchmark")
    made = [tuple(rng.integers(3, WORDS, size=PROMPT).tolist()) for _ in range(different)]
    return [one for one in made for _ in range(ROWS // different)]


def jobs(
    model: Any, given: Sequence[tuple[int, ...]], *, stops: bool
) -> dict[str, Callable[[], int]]:
    """The same work for each way; each returns how many tokens it drew."""
    stop_ids = (EOS, *range(3, 6)) if stops else ()
    of = Checkpoint(model, None, "benchmark", stop_ids, PROMPT + NEW, Detokenizer(None))
    draws = Sampler(of)
    requests = [
        Request(prompt_ids=one, sampling=Sampling(max_tokens=NEW, seed=seed, stop_ids=stop_ids))
        for seed, one in enumerate(given)
    ]
    ids = torch.tensor(given)

    def ours() -> int:
        return sum(len(one.ids) for one in draws.generate(requests))

    def forward() -> int:
        most, fast_weights.MOST_WEIGHTS = fast_weights.MOST_WEIGHTS, 0
        try:
            return ours()
        finally:
            fast_weights.MOST_WEIGHTS = most

    def peer() -> int:
        with torch.inference_mode():
            found = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=NEW,
                do_sample=True,
                top_k=0,
                eos_token_id=list(stop_ids) or None,
                pad_token_id=0,
            )
        return int((found[:, PROMPT:] != 0).sum()) if stops else found[:, PROMPT:].numel()

    return {"the short way": ours, "own forward pass": forward, "generate": peer}


def timed(job: Callable[[], int]) -> tuple[float, int]:
    """CPU seconds, and tokens."""
    begin = cpu_seconds()
    count = job()
    return cpu_seconds() - begin, count


def main() -> None:
    """Take turns, so that a busy machine slows all alike, and print medians."""
    for kind in ("Qwen3", "GPT-2"):
        model = make(kind)
        weights = sum(one.numel() for one in model.parameters())
        for name, different, stops in (
            ("128 prompts", ROWS, False),
            ("16 x 8, to a stop", 16, True),
        ):
            ways = jobs(model, prompts(different), stops=stops)
            for job in ways.values():
                job()
            rounds = [{way: timed(job) for way, job in ways.items()} for _ in range(ROUNDS)]
            print(f"{kind}, {weights:,} weights, {name:<20}{'CPU s':>8}{'tokens/CPU s':>14}")
            slow = median(one["generate"][0] / one["generate"][1] for one in rounds)
            for way in ways:
                drawn = {one[way][1] for one in rounds}
                assert stops or drawn == {ROWS * NEW}, "tokens were lost"
                each = median(one[way][0] / one[way][1] for one in rounds)
                spent = median(one[way][0] for one in rounds)
                print(f"  {way:<46}{spent:>8.3f}{1 / each:>14,.0f}{slow / each:>6.1f}x")


if __name__ == "__main__":
    main()
