"""The weights and norms of small decoders: GPT-2, Llama, Qwen2 and Qwen3.

Models with other modules, such as LoRA layers or sliding windows, use the forward pass of
transformers (`decoding.py`); so do large ones, whose overhead is small next to the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from torch import Tensor

MOST_WEIGHTS = 50_000_000

_Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Product:
    """x @ weight + bias, with the weight as (in, out)."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Of (rows, in)."""
        return x @ self.weight if self.bias is None else torch.addmm(self.bias, x, self.weight)

    def onto(self, sum_: Tensor, x: Tensor) -> Tensor:
        """The same, added to a sum."""
        if self.bias is not None:
            sum_ = sum_ + self.bias
        return torch.addmm(sum_, x, self.weight)


@dataclass(frozen=True, slots=True)
class Block:
    """One layer: attention and a perceptron, each after a norm and added to the stream."""

    before: _Map
    qkv: Product
    qk_norm: tuple[Tensor, float] | None
    out: Product
    between: _Map
    up: Product
    act: _Map
    down: Product


@dataclass(frozen=True, slots=True)
class FastWeights:
    """The weights of a model; `heads` are of queries, `groups` of keys and values."""

    embed: Tensor
    positions: Tensor | None
    turn: Callable[[Tensor], tuple[Tensor, Tensor]] | None
    blocks: list[Block]
    last: _Map
    head: Tensor
    heads: int
    groups: int
    size: int


def extract_weights(model: Any) -> FastWeights | None:
    """Views or copies of a model's weights; None if its architecture is not supported."""
    kind = type(model).__name__
    maker = {
        "GPT2LMHeadModel": _gpt2,
        "LlamaForCausalLM": _llama,
        "Qwen2ForCausalLM": _llama,
        "Qwen3ForCausalLM": _llama,
    }.get(kind)
    if maker is None or not type(model).__module__.startswith("transformers."):
        return None
    if sum(weight.numel() for weight in model.parameters()) > MOST_WEIGHTS:
        return None
    if model.dtype != torch.float32:  # norms are rounded elsewhere then
        return None
    return maker(model)


# --- GPT-2 ----------------------------------------------------------------------------------------


def _gpt2(model: Any) -> FastWeights | None:
    config, core = model.config, model.transformer
    plain = {"Conv1D", "LayerNorm", "Embedding", "Linear", "Dropout"}
    if not _is_plain(model, plain) or (
        not config.scale_attn_weights
        or config.scale_attn_by_inverse_layer_idx
        or config.add_cross_attention
    ):
        return None
    blocks = [
        Block(
            before=_layer_norm(layer.ln_1),
            qkv=Product(layer.attn.c_attn.weight, layer.attn.c_attn.bias),
            qk_norm=None,
            out=Product(layer.attn.c_proj.weight, layer.attn.c_proj.bias),
            between=_layer_norm(layer.ln_2),
            up=Product(layer.mlp.c_fc.weight, layer.mlp.c_fc.bias),
            act=_activation(layer.mlp.act),
            down=Product(layer.mlp.c_proj.weight, layer.mlp.c_proj.bias),
        )
        for layer in core.h
    ]
    return FastWeights(
        embed=core.wte.weight,
        positions=core.wpe.weight,
        turn=None,
        blocks=blocks,
        last=_layer_norm(core.ln_f),
        head=model.lm_head.weight.t(),
        heads=config.n_head,
        groups=config.n_head,
        size=config.n_embd // config.n_head,
    )


# --- Llama and similar ----------------------------------------------------------------------------


def _llama(model: Any) -> FastWeights | None:
    config, core = model.config, model.model
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"} or core.rotary_emb.rope_type != "default":
        return None
    plain = {"Linear", "Embedding", f"{type(core.norm).__name__}"}
    if not _is_plain(model, plain):
        return None
    heads, groups = config.num_attention_heads, config.num_key_value_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    blocks = [_llama_block(layer, heads, groups) for layer in core.layers]

    def turn(at: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines, and sines with a negative first half, so that the halves only swap places."""
        cos, sin = core.rotary_emb(core.embed_tokens.weight, at)
        half = size // 2
        return cos[:, :, None], torch.cat((-sin[..., :half], sin[..., half:]), -1)[:, :, None]

    return FastWeights(
        embed=core.embed_tokens.weight,
        positions=None,
        turn=turn,
        blocks=blocks,
        last=_rms_norm(core.norm),
        head=model.lm_head.weight.t(),
        heads=heads,
        groups=groups,
        size=size,
    )


def _llama_block(block: Any, heads: int, groups: int) -> Block:
    attention, mlp = block.self_attn, block.mlp
    act = _activation(mlp.act_fn)

    def gated(x: Tensor) -> Tensor:
        gate, up = x.chunk(2, -1)
        return act(gate) * up

    qk_norm = None
    if hasattr(attention, "q_norm"):
        q, k = attention.q_norm, attention.k_norm
        weight = torch.cat((q.weight.expand(heads, -1), k.weight.expand(groups, -1)))
        qk_norm = (weight, q.variance_epsilon)
    return Block(
        before=_rms_norm(block.input_layernorm),
        qkv=_merge_layers(attention.q_proj, attention.k_proj, attention.v_proj),
        qk_norm=qk_norm,
        out=_merge_layers(attention.o_proj),
        between=_rms_norm(block.post_attention_layernorm),
        up=_merge_layers(mlp.gate_proj, mlp.up_proj),
        act=gated,
        down=_merge_layers(mlp.down_proj),
    )


# --- pieces ---------------------------------------------------------------------------------------


def _is_plain(model: Any, plain: set[str]) -> bool:
    """Whether every module that holds weights itself is of a supported class.

    A LoRA layer holds none itself, only modules that do: its Python module gives it away.
    """
    return all(
        type(module).__module__.startswith(("torch.", "transformers."))
        and (
            type(module).__name__ in plain
            or not any(True for _ in module.parameters(recurse=False))
        )
        for module in model.modules()
    )


def _merge_layers(*layers: Any) -> Product:
    """Linear layers of one input as one product."""
    weights, biases = [layer.weight for layer in layers], [layer.bias for layer in layers]
    weight = weights[0] if len(layers) == 1 else torch.cat(weights)
    if all(bias is None for bias in biases):
        return Product(weight.t())
    vectors = [
        layer.weight.new_zeros(len(layer.weight)) if bias is None else bias
        for layer, bias in zip(layers, biases, strict=True)
    ]
    return Product(weight.t(), torch.cat(vectors))


def _layer_norm(norm: Any) -> _Map:
    shape, weight, bias, eps = norm.normalized_shape, norm.weight, norm.bias, norm.eps
    return lambda x: F.layer_norm(x, shape, weight, bias, eps)


def _rms_norm(norm: Any) -> _Map:
    weight, eps = norm.weight, norm.variance_epsilon
    return lambda x: F.rms_norm(x, weight.shape, weight, eps)


def _activation(act: Any) -> _Map:
    """The model's own, in one operation where it is several."""
    match type(act).__name__:
        case "NewGELUActivation":
            return lambda x: F.gelu(x, approximate="tanh")
        case "SiLUActivation":
            return F.silu
    own: _Map = act
    return own
