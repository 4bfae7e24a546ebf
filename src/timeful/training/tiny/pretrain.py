"""Cold start: the decoder learns its language from worked solutions, before any reward.

Phases teach the ways of solving in given shares. In a share of the examples the way is the longest
that the budget leaves room for; in all others it has nothing to do with the budget. That share,
the *cold start fraction*, is how much of a sense of time the model is handed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from transformers import LlamaConfig, LlamaForCausalLM

from timeful.environments.reasoning.levels import Course
from timeful.errors import SettingsError
from timeful.training.tiny.language import EIGHTHS, PAD, Language, eighths, ids
from timeful.training.tiny.settings import Phase, Shape

Draw = Callable[[int], Sequence[Course]]
"""So many problems to learn from; new ones each time."""


def make_decoder(shape: Shape, tokenizer: Any, *, seed: int) -> Any:
    """Make a small Llama without training; the same seed makes the same weights."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=2 * shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        max_position_embeddings=shape.context,
        rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        initializer_range=shape.spread,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def teach(
    model: Any,
    language: Language,
    phases: Sequence[Phase],
    *,
    draw: Draw,
    rng: np.random.Generator,
) -> None:
    """Teach a decoder by examples.

    Args:
        model: A causal language model of transformers; it is changed.
        language: What is taught.
        phases: How, one after the other.
        draw: Where problems come from.
        rng: Chance of ways and budgets.

    Raises:
        SettingsError: If a mix has not as many weights as the language has ways.
    """
    for phase in phases:
        if len(phase.mix) != len(language.strides):
            raise SettingsError(
                f"a mix has {len(language.strides)} weights, one for each way, got {phase.mix}"
            )
    optimiser = torch.optim.AdamW(_weights(model), betas=(0.9, 0.98))
    model.train()
    for phase in phases:
        for step in range(phase.steps):
            for group in optimiser.param_groups:
                group["lr"] = phase.rate_at(step)
            _loss(model, language, _examples(language, phase, draw(phase.batch), rng))
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
    model.eval()


def _weights(model: Any) -> list[dict[str, Any]]:
    """Matrices decay, and vectors do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def _examples(
    language: Language, phase: Phase, courses: Sequence[Course], rng: np.random.Generator
) -> list[tuple[list[int], list[int]]]:
    mix = np.array(phase.mix) / sum(phase.mix)
    examples = []
    for course in courses:
        room = int(rng.choice(language.allowed))
        stride = int(rng.choice(language.strides, p=mix))
        if rng.random() < phase.follow:
            stride = language.longest_within(room)
        budget, clock = room, None
        if language.opening:
            budget = int(room * rng.choice(language.devices))
            clock = language.clock(room) if rng.random() < phase.asks else None
        question = ids(language.question(course, budget), language)
        examples.append((question, ids(language.solution(course, stride, clock), language)))
    return examples


def _loss(model: Any, language: Language, examples: Sequence[tuple[list[int], list[int]]]) -> None:
    """Find the gradient of the mean loss of a token of the solutions.

    Examples are computed with others of about their length: half of them are ten times longer
    than the rest, and padding would cost more than everything else. What the timer says is the
    world's word, and is not learnt.
    """
    timer_tokens = set(ids([eighths(count) for count in range(EIGHTHS + 1)], language))
    total = sum(token not in timer_tokens for _, solution in examples for token in solution)
    pad = language.words.index(PAD)
    silent = torch.tensor([pad, *sorted(timer_tokens)])
    for group in _by_length(examples):
        start = len(group[0][0])
        longest = max(len(solution) for _, solution in group)
        rows = torch.tensor(
            [
                question + solution + [pad] * (longest - len(solution))
                for question, solution in group
            ]
        )
        targets = rows[:, start:]
        inputs = rows[:, :-1]  # padding comes last, so no token attends to it
        output = model.base_model(input_ids=inputs, attention_mask=torch.ones_like(inputs))
        hidden = output.last_hidden_state[:, start - 1 :]
        mask = ~torch.isin(targets, silent)
        loss = F.cross_entropy(model.lm_head(hidden[mask]), targets[mask], reduction="sum")
        (loss / total).backward()  # type: ignore[no-untyped-call]


def _by_length(
    examples: Sequence[tuple[list[int], list[int]]],
) -> list[list[tuple[list[int], list[int]]]]:
    """Examples in groups in which the longest is less than twice as long as the shortest."""
    groups: list[list[tuple[list[int], list[int]]]] = []
    for pair in sorted(examples, key=lambda example: len(example[1])):
        if groups and len(pair[1]) <= 2 * len(groups[-1][0][1]):
            groups[-1].append(pair)
        else:
            groups.append([pair])
    return groups
