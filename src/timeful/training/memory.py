"""What a process of a training holds in memory: an estimate, from a model without weights."""

from typing import Any

from timeful.training.config import Config, SftConfig

_STATES = 2
"""What AdamW keeps of each number that learns."""
_NF4 = 4.5 / 8
"""The bytes of a number in 4 bits: of 64 of them, the largest is kept in 32 bits."""


def memory(
    config: Config | SftConfig, model: Any, prompt: int, processes: int
) -> list[tuple[str, str]]:
    """What a process holds; of activations only logits are counted, the rest hangs on much.

    Args:
        config: The settings.
        model: The model without weights.
        prompt: The tokens of the longest prompt.
        processes: How many processes train together.

    Returns:
        Lines, each with its name or none.
    """
    held = sum(one.numel() * one.element_size() for one in model.parameters())
    if config.model.quantise != "none":
        held -= sum(one.numel() * (one.element_size() - _NF4) for one in _shrunk(model))
    learns = sum(
        one.numel() * one.element_size() for one in model.parameters() if one.requires_grad
    )
    lines = [
        ("memory", f"{_size(held)} weights"),
        ("", f"{_size(learns)} gradients, {_size(_STATES * learns)} AdamW"),
    ]
    if isinstance(config, Config):
        rollout = config.rollout
        share = rollout.samples * rollout.cases // processes
        rows, length = min(rollout.at_once, share), prompt + rollout.max_tokens
        lines.append(("", f"{_size(rows * length * _kept(model))} of past tokens, {rows} episodes"))
        micro = config.optimiser.micro_batch or share
        logits = micro * rollout.max_tokens * model.config.vocab_size * 4
        lines.append(("", f"{_size(logits)} logits of {micro} rows of the longest answers"))
    lines.append(("", "an estimate for a process; activations come on top"))
    return lines


def _shrunk(model: Any) -> list[Any]:
    """The weights that bitsandbytes holds in 4 bits: of all layers but the first and the last."""
    ends = {id(model.get_input_embeddings().weight), id(model.get_output_embeddings().weight)}
    return [
        one
        for one in model.parameters()
        if one.ndim == 2 and not one.requires_grad and id(one) not in ends
    ]


def _kept(model: Any) -> int:
    """The bytes that are kept of a token: keys and values of each layer."""
    config = model.config
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    groups = getattr(config, "num_key_value_heads", None) or heads
    number = next(model.parameters()).element_size()
    return int(2 * config.num_hidden_layers * groups * width * number)


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB" if count < 1000 else f"{count / 1000:.3g} TB"
