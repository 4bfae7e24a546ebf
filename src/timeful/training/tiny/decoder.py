"""The decoder: a small Llama with weights from a seed, saved as any checkpoint of transformers."""

from dataclasses import dataclass
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large it is.

    Attributes:
        width: Of its vectors.
        layers: How many.
        heads: Of attention, in each.
        context: The most tokens it reads.
        spread: The standard deviation of its first weights; the usual 0.02 is too small for a
            decoder as narrow as this, which then hardly learns.
        theta: The base of its rotary positions. That positions are relative is what lets it learn
            in hundreds of steps: to look 25 tokens back is the same everywhere.
    """

    width: int = 64
    layers: int = 2
    heads: int = 4
    context: int = 128
    spread: float = 0.06
    theta: float = 1000.0


def make_decoder(shape: Shape, tokenizer: Any, *, seed: int) -> Any:
    """Make one that knows nothing; the same seed makes the same one."""
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
