"""Next-token logits of small decoders, written out: GPT-2, Llama, Qwen2 and Qwen3.

A step of a model with a million weights takes a millisecond of arithmetic, and a forward pass of
transformers adds several more. Here a step is little more than the matrix products, with the
weights that `fast_weights.py` takes out of the model when a batch begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from torch import Tensor

from timeful.models.local.decoding import padded
from timeful.models.local.fast_weights import FastWeights


class FastDecoder:
    """A small model of a known make.

    Args:
        weights: The weights that `extract_weights` returned.
    """

    def __init__(self, weights: FastWeights) -> None:
        self._parts = weights
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._bias: Tensor | None = None  # minus infinity where a row is padded
        self._at = torch.empty(0)
        self._length = 0

    def begin(
        self, prompts: Sequence[Sequence[int]], prompt_of_row: Sequence[int], room: int
    ) -> Tensor:
        """Read prompts."""
        weights, device = self._parts, self._parts.embed.device
        ids, mask = padded(prompts, device)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        rows, length = ids.shape
        bias = None
        if not mask.all():
            is_token = mask.bool()[:, None, None]
            causal = torch.ones(length, length, dtype=torch.bool, device=device).tril()
            # Padding attends to itself: softmax over nothing is NaN.
            is_self = torch.eye(length, dtype=torch.bool, device=device)
            bias = torch.zeros(rows, 1, length, length, device=device, dtype=weights.embed.dtype)
            bias.masked_fill_(~(is_token & causal | is_self), float("-inf"))
        row_prompts = torch.tensor(prompt_of_row, device=device)
        self._keys, self._values = [], []
        self._length, total = length, length + room

        def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            for cache, new in ((self._keys, k), (self._values, v)):
                whole = new.new_empty(len(prompt_of_row), new.shape[1], total, new.shape[3])
                whole[:, :, :length] = new[row_prompts]
                cache.append(whole)
            same = weights.heads // weights.groups
            if same > 1:
                k, v = k.repeat_interleave(same, 1), v.repeat_interleave(same, 1)
            return F.scaled_dot_product_attention(q, k, v, bias, is_causal=bias is None)

        x = self._run(ids, positions, attend)
        self._at = positions[row_prompts, -1:] + 1
        self._bias = self._padding(total)
        last = x.view(rows, length, -1)[:, -1]
        return (weights.last(last) @ weights.head)[row_prompts]

    def step(self, ids: Tensor) -> Tensor:
        """Append one token to each row."""
        weights, at = self._parts, self._length
        bias = None if self._bias is None else self._bias[:, :, :, : at + 1]

        def attend(i: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self._keys[i], self._values[i]
            keys[:, :, at] = k[:, :, 0]
            values[:, :, at] = v[:, :, 0]
            # The heads that share a key become adjacent queries.
            q = q.reshape(len(ids), weights.groups, weights.heads // weights.groups, weights.size)
            return F.scaled_dot_product_attention(
                q, keys[:, :, : at + 1], values[:, :, : at + 1], bias
            )

        x = self._run(ids[:, None], self._at, attend)
        self._length, self._at = at + 1, self._at + 1
        return weights.last(x) @ weights.head

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows only."""
        indices = torch.tensor(rows, device=self._at.device)

        def select(whole: Tensor) -> Tensor:
            # The unused room is not copied.
            selected = whole.new_empty(len(rows), *whole.shape[1:])
            used_part = slice(None), slice(None), slice(self._length)
            torch.index_select(whole[used_part], 0, indices, out=selected[used_part])
            return selected

        self._keys = list(map(select, self._keys))
        self._values = list(map(select, self._values))
        self._at = self._at[indices]
        self._bias = None if self._bias is None else self._bias[indices]

    can_join = True

    def join(self, joining: FastDecoder) -> None:
        """Append the rows of another decoder; pad on the left to the longest row."""
        length = int(max(self._at.max(), joining._at.max()))
        total = length + max(
            decoder._keys[0].shape[2] - decoder._length for decoder in (self, joining)
        )

        def concatenate(first: Tensor, second: Tensor) -> Tensor:
            whole = first.new_empty(len(first) + len(second), first.shape[1], total, first.shape[3])
            top, bottom = whole[: len(first)], whole[len(first) :]
            for target, source, length_used in (
                (top, first, self._length),
                (bottom, second, joining._length),
            ):
                own = min(length_used, length)
                target[:, :, : length - own] = 0  # weighted with 0, so it must be finite
                target[:, :, length - own : length] = source[:, :, length_used - own : length_used]
            return whole

        self._keys = list(map(concatenate, self._keys, joining._keys))
        self._values = list(map(concatenate, self._values, joining._values))
        self._at, self._length = torch.cat([self._at, joining._at]), length
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
        weights = self._parts
        rows, length = ids.shape
        heads, groups, size = weights.heads, weights.groups, weights.size
        x = F.embedding(ids.view(-1), weights.embed)
        if weights.positions is not None:
            x = x + F.embedding(at.reshape(-1), weights.positions)
        cos, sin = weights.turn(at) if weights.turn is not None else (None, None)
        for i, block in enumerate(weights.blocks):
            qkv = block.qkv(block.before(x)).view(rows, length, heads + 2 * groups, size)
            qk, v = qkv[:, :, : heads + groups], qkv[:, :, heads + groups :]
            if block.qk_norm is not None:
                weight, eps = block.qk_norm
                qk = F.rms_norm(qk, (size,), None, eps) * weight
            if cos is not None and sin is not None:
                a, b = qk.chunk(2, -1)
                qk = torch.addcmul(qk * cos, torch.cat((b, a), -1), sin)
            qk, v = qk.transpose(1, 2), v.transpose(1, 2)
            attended = attend(i, qk[:, :heads], qk[:, heads:], v)
            if length == 1:
                attended = attended.reshape(rows, heads * size)
            else:
                attended = attended.transpose(1, 2).reshape(rows * length, heads * size)
            x = block.out.onto(x, attended)
            x = block.down.onto(x, block.act(block.up(block.between(x))))
        return x
