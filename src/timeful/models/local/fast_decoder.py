"""The same as `decoding.py` for small decoders, written out: GPT-2, Llama, Qwen2 and Qwen3.

A step of a model with a million weights is a millisecond of arithmetic, and a forward pass of
transformers costs several more around it. Here a step is the matrix products and little else, by
the weights that `fast_weights.py` takes out of the model when a batch begins.
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
        parts: What `take_apart` found.
    """

    def __init__(self, parts: FastWeights) -> None:
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

    def join(self, other: FastDecoder) -> None:
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
