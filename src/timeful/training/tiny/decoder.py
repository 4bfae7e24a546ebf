"""The decoder: a small GPT-2 with weights from a seed, saved as any checkpoint of transformers."""

from dataclasses import dataclass
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel


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
    """

    width: int = 64
    layers: int = 2
    heads: int = 2
    context: int = 128
    spread: float = 0.06


def make_decoder(shape: Shape, tokenizer: Any, *, seed: int) -> Any:
    """Make one that knows nothing; the same seed makes the same one."""
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=shape.context,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        activation_function="relu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        initializer_range=shape.spread,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return GPT2LMHeadModel(config)
