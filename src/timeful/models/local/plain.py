"""The same as `decoding.py` for small decoders, written out: GPT-2, Llama, Qwen2 and Qwen3.

A step of a model with a million weights is a millisecond of arithmetic, and a forward pass of
transformers costs several more around it. Here the weights are taken out of the model when a
batch begins, and a step is the matrix products and little else. Models with something else inside,
such as LoRA layers or sliding windows, go the long way; so do large ones, where that is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from torch import Tensor

from timeful.models.local.decoding import padded

MOST_WEIGHTS = 50_000_000

_Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class _Product:
    """x @ weight + bias, with the weight as (in, out)."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.weight if self.bias is None else torch.addmm(self.bias, x, self.weight)

    def onto(self, sum_: Tensor, x: Tensor) -> Tensor:
        """Added to a sum."""
        if self.bias is not None:
            sum_ = sum_ + self.bias
        return torch.addmm(sum_, x, self.weight)


@dataclass(frozen=True, slots=True)
class _Block:
    """One layer: attention and a perceptron, each after a norm and added to the stream."""

    before: _Map
    qkv: _Product
    qk_norm: tuple[Tensor, float] | None
    out: _Product
    between: _Map
    up: _Product
    act: _Map
    down: _Product


@dataclass(frozen=True, slots=True)
class _Parts:
    """A model taken apart; `heads` are of queries, `groups` of keys and values."""

    embed: Tensor
    places: Tensor | None
    turn: Callable[[Tensor], tuple[Tensor, Tensor]] | None
    blocks: list[_Block]
    last: _Map
    head: Tensor
    heads: int
    groups: int
    size: int


class PlainDecoder:
    """A small model of a known make.

    Args:
        parts: What `take_apart` found.
    """

    def __init__(self, parts: _Parts) -> None:
        self._parts = parts
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._bias: Tensor | None = None  # minus infinity where a row is padded
        self._at = torch.empty(0)
        self._length = 0

    def begin(self, prompts: Sequence[Sequence[int]], which: Sequence[int], room: int) -> Tensor:
        """Read prompts."""
        parts, device = self._parts, self._parts.embed.device
        ids, mask = padded(prompts, device)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        rows, length = ids.shape
        bias = None
        if not mask.all():
            seen = mask.bool()[:, None, None]
            causal = torch.ones(length, length, dtype=torch.bool, device=device).tril()
            # What is padding sees itself: of nothing at all, softmax makes no number.
            itself = torch.eye(length, dtype=torch.bool, device=device)
            bias = torch.zeros(rows, 1, length, length, device=device, dtype=parts.embed.dtype)
            bias.masked_fill_(~(seen & causal | itself), float("-inf"))
        chosen = torch.tensor(which, device=device)
        self._keys, self._values = [], []
        self._length, total = length, length + room

        def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            for kept, new in ((self._keys, k), (self._values, v)):
                whole = new.new_empty(len(which), new.shape[1], total, new.shape[3])
                whole[:, :, :length] = new[chosen]
                kept.append(whole)
            same = parts.heads // parts.groups
            if same > 1:
                k, v = k.repeat_interleave(same, 1), v.repeat_interleave(same, 1)
            return F.scaled_dot_product_attention(q, k, v, bias, is_causal=bias is None)

        x = self._run(ids, positions, attend)
        self._at = positions[chosen, -1:] + 1
        self._bias = self._padding(total)
        last = x.view(rows, length, -1)[:, -1]
        return (parts.last(last) @ parts.head)[chosen]

    def step(self, ids: Tensor) -> Tensor:
        """Append one token to each row."""
        parts, at = self._parts, self._length
        bias = None if self._bias is None else self._bias[:, :, :, : at + 1]

        def attend(i: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self._keys[i], self._values[i]
            keys[:, :, at] = k[:, :, 0]
            values[:, :, at] = v[:, :, 0]
            # The heads that share a key are queries side by side.
            q = q.reshape(len(ids), parts.groups, parts.heads // parts.groups, parts.size)
            return F.scaled_dot_product_attention(
                q, keys[:, :, : at + 1], values[:, :, : at + 1], bias
            )

        x = self._run(ids[:, None], self._at, attend)
        self._length, self._at = at + 1, self._at + 1
        return parts.last(x) @ parts.head

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        places = torch.tensor(rows, device=self._at.device)

        def those(whole: Tensor) -> Tensor:
            # Of the room that is left nothing is copied: most of it may never be used.
            left = whole.new_empty(len(rows), *whole.shape[1:])
            used = slice(None), slice(None), slice(self._length)
            torch.index_select(whole[used], 0, places, out=left[used])
            return left

        self._keys = list(map(those, self._keys))
        self._values = list(map(those, self._values))
        self._at = self._at[places]
        self._bias = None if self._bias is None else self._bias[places]

    can_join = True

    def join(self, other: PlainDecoder) -> None:
        """Go on with the rows of both, padded on the left to the longest that is left."""
        length = int(max(self._at.max(), other._at.max()))
        total = length + max(one._keys[0].shape[2] - one._length for one in (self, other))

        def both(mine: Tensor, theirs: Tensor) -> Tensor:
            whole = mine.new_empty(len(mine) + len(theirs), mine.shape[1], total, mine.shape[3])
            mine_to, theirs_to = whole[: len(mine)], whole[len(mine) :]
            for to, of, used in (
                (mine_to, mine, self._length),
                (theirs_to, theirs, other._length),
            ):
                own = min(used, length)
                to[:, :, : length - own] = 0  # looked at and weighed with 0: it must be a number
                to[:, :, length - own : length] = of[:, :, used - own : used]
            return whole

        self._keys = list(map(both, self._keys, other._keys))
        self._values = list(map(both, self._values, other._values))
        self._at, self._length = torch.cat([self._at, other._at]), length
        self._bias = self._padding(total)

    def _padding(self, total: int) -> Tensor | None:
        """Minus infinity where a row is padded, (rows, 1, 1, total); None if none is."""
        empty = self._length - self._at[:, None, None]
        if not empty.any():
            return None
        bias = torch.zeros(len(empty), 1, 1, total, device=empty.device, dtype=torch.float32)
        return bias.masked_fill_(torch.arange(total, device=empty.device) < empty, -torch.inf)

    def _run(
        self, ids: Tensor, at: Tensor, attend: Callable[[int, Tensor, Tensor, Tensor], Tensor]
    ) -> Tensor:
        """The stream after the last layer, (rows x length, width)."""
        parts = self._parts
        rows, length = ids.shape
        heads, groups, size = parts.heads, parts.groups, parts.size
        x = F.embedding(ids.view(-1), parts.embed)
        if parts.places is not None:
            x = x + F.embedding(at.reshape(-1), parts.places)
        cos, sin = parts.turn(at) if parts.turn is not None else (None, None)
        for i, block in enumerate(parts.blocks):
            qkv = block.qkv(block.before(x)).view(rows, length, heads + 2 * groups, size)
            qk, v = qkv[:, :, : heads + groups], qkv[:, :, heads + groups :]
            if block.qk_norm is not None:
                weight, eps = block.qk_norm
                qk = F.rms_norm(qk, (size,), None, eps) * weight
            if cos is not None and sin is not None:
                a, b = qk.chunk(2, -1)
                qk = torch.addcmul(qk * cos, torch.cat((b, a), -1), sin)
            qk, v = qk.transpose(1, 2), v.transpose(1, 2)
            seen = attend(i, qk[:, :heads], qk[:, heads:], v)
            if length == 1:
                seen = seen.reshape(rows, heads * size)
            else:
                seen = seen.transpose(1, 2).reshape(rows * length, heads * size)
            x = block.out.onto(x, seen)
            x = block.down.onto(x, block.act(block.up(block.between(x))))
        return x


def take_apart(model: Any) -> _Parts | None:
    """The parts of a model, as views or copies of its weights; None if it is of another make."""
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


def _gpt2(model: Any) -> _Parts | None:
    config, core = model.config, model.transformer
    plain = {"Conv1D", "LayerNorm", "Embedding", "Linear", "Dropout"}
    if not _is_plain(model, plain) or (
        not config.scale_attn_weights
        or config.scale_attn_by_inverse_layer_idx
        or config.add_cross_attention
    ):
        return None
    blocks = [
        _Block(
            before=_layer_norm(one.ln_1),
            qkv=_Product(one.attn.c_attn.weight, one.attn.c_attn.bias),
            qk_norm=None,
            out=_Product(one.attn.c_proj.weight, one.attn.c_proj.bias),
            between=_layer_norm(one.ln_2),
            up=_Product(one.mlp.c_fc.weight, one.mlp.c_fc.bias),
            act=_activation(one.mlp.act),
            down=_Product(one.mlp.c_proj.weight, one.mlp.c_proj.bias),
        )
        for one in core.h
    ]
    return _Parts(
        embed=core.wte.weight,
        places=core.wpe.weight,
        turn=None,
        blocks=blocks,
        last=_layer_norm(core.ln_f),
        head=model.lm_head.weight.t(),
        heads=config.n_head,
        groups=config.n_head,
        size=config.n_embd // config.n_head,
    )


# --- Llama and its kin ----------------------------------------------------------------------------


def _llama(model: Any) -> _Parts | None:
    config, core = model.config, model.model
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"} or core.rotary_emb.rope_type != "default":
        return None
    plain = {"Linear", "Embedding", f"{type(core.norm).__name__}"}
    if not _is_plain(model, plain):
        return None
    heads, groups = config.num_attention_heads, config.num_key_value_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    blocks = [_llama_block(one, heads, groups) for one in core.layers]

    def turn(at: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines, and sines whose first half is negative: the halves then only change places."""
        cos, sin = core.rotary_emb(core.embed_tokens.weight, at)
        half = size // 2
        return cos[:, :, None], torch.cat((-sin[..., :half], sin[..., half:]), -1)[:, :, None]

    return _Parts(
        embed=core.embed_tokens.weight,
        places=None,
        turn=turn,
        blocks=blocks,
        last=_rms_norm(core.norm),
        head=model.lm_head.weight.t(),
        heads=heads,
        groups=groups,
        size=size,
    )


def _llama_block(one: Any, heads: int, groups: int) -> _Block:
    attention, mlp = one.self_attn, one.mlp
    act = _activation(mlp.act_fn)

    def gated(x: Tensor) -> Tensor:
        gate, up = x.chunk(2, -1)
        return act(gate) * up

    qk_norm = None
    if hasattr(attention, "q_norm"):
        q, k = attention.q_norm, attention.k_norm
        weight = torch.cat((q.weight.expand(heads, -1), k.weight.expand(groups, -1)))
        qk_norm = (weight, q.variance_epsilon)
    return _Block(
        before=_rms_norm(one.input_layernorm),
        qkv=_joined(attention.q_proj, attention.k_proj, attention.v_proj),
        qk_norm=qk_norm,
        out=_joined(attention.o_proj),
        between=_rms_norm(one.post_attention_layernorm),
        up=_joined(mlp.gate_proj, mlp.up_proj),
        act=gated,
        down=_joined(mlp.down_proj),
    )


# --- pieces ---------------------------------------------------------------------------------------


def _is_plain(model: Any, plain: set[str]) -> bool:
    """Whether every module that holds weights itself is of a make that is known here.

    A layer of LoRA holds none itself, but others that do: it is known by whose it is.
    """
    return all(
        type(module).__module__.startswith(("torch.", "transformers."))
        and (
            type(module).__name__ in plain
            or not any(True for _ in module.parameters(recurse=False))
        )
        for module in model.modules()
    )


def _joined(*layers: Any) -> _Product:
    """Linear layers of one input as one product."""
    weight = layers[0].weight if len(layers) == 1 else torch.cat([one.weight for one in layers])
    biases = [one.bias for one in layers]
    if all(one is None for one in biases):
        return _Product(weight.t())
    whole = [
        layer.weight.new_zeros(len(layer.weight)) if bias is None else bias
        for layer, bias in zip(layers, biases, strict=True)
    ]
    return _Product(weight.t(), torch.cat(whole))


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
