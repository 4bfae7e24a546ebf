"""The decoder: a small Llama with weights from a seed, saved as any checkpoint of transformers."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from timeful.training.tiny.settings import Shape


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
