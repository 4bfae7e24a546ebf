"""Next-token logits of a batch, step by step, by the model's own forward pass.

Works for every causal model of transformers that takes an attention mask. `fast_decoder.py` does
the same for small models without the overhead of a forward pass of transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any, Protocol

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer


class Decoder(Protocol):
    """A batch on its way."""

    def begin(self, prompts: Sequence[Sequence[int]], which: Sequence[int], room: int) -> Tensor:
        """Read prompts.

        Args:
            prompts: Each once, of any lengths above 0.
            which: For each row of the batch, the place of its prompt.
            room: The most steps that will follow.

        Returns:
            The logits after each row's prompt, (rows, tokens).
        """
        ...

    def step(self, ids: Tensor) -> Tensor:
        """Append one token to each row, (rows,), and return the logits after it."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        ...

    @property
    def can_join(self) -> bool:
        """Whether it can go on with the rows of another one."""
        ...

    def join(self, other: Any) -> None:
        """Go on with one's own rows and those of another decoder of this kind and model."""
        ...


def padded(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Prompts side by side, padded on the left, and where they are not padding."""
    longest = max(map(len, prompts))
    ids = torch.zeros(len(prompts), longest, dtype=torch.int64)
    mask = torch.zeros(len(prompts), longest, dtype=torch.int64)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
    return ids.to(device), mask.to(device)


class ForwardDecoder:
    """Any model of transformers.

    Args:
        model: The model; in evaluation mode while it decodes.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        known = signature(model.forward).parameters
        self._has_positions = "position_ids" in known
        self._options = {"logits_to_keep": 1} if "logits_to_keep" in known else {}
        self._cache: Any = None
        self._mask = torch.empty(0)
        self._at = torch.empty(0)

    def begin(self, prompts: Sequence[Sequence[int]], which: Sequence[int], room: int) -> Tensor:
        """Read prompts."""
        ids, mask = padded(prompts, self._model.device)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        self._cache = None
        logits = self._forward(ids, mask, positions)
        rows = torch.tensor(which, device=ids.device)
        self._cache.reorder_cache(rows)
        self._mask, self._at = mask[rows], positions[rows, -1:] + 1
        return logits[rows]

    def step(self, ids: Tensor) -> Tensor:
        """Append one token to each row."""
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(ids), 1)], 1)
        logits = self._forward(ids[:, None], self._mask, self._at)
        self._at = self._at + 1
        return logits

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        places = torch.tensor(rows, device=self._mask.device)
        self._cache.reorder_cache(places)
        self._mask, self._at = self._mask[places], self._at[places]

    @property
    def can_join(self) -> bool:
        """Only if all that is kept is keys and values of all tokens, side by side."""
        cache = self._cache
        return type(cache) is DynamicCache and all(
            type(one) is DynamicLayer and one.is_initialized for one in cache.layers
        )

    def join(self, other: ForwardDecoder) -> None:
        """Go on with the rows of both, padded on the left to the longest that is left."""
        length = int(max(self._at.max(), other._at.max()))

        def both(mine: Tensor, theirs: Tensor) -> Tensor:
            """Of (rows, heads, length, size)."""
            sides = [one[:, :, -length:] for one in (mine, theirs)]
            return torch.cat([F.pad(one, (0, 0, length - one.shape[2], 0)) for one in sides])

        for mine, theirs in zip(self._cache.layers, other._cache.layers, strict=True):
            mine.keys = both(mine.keys, theirs.keys)
            mine.values = both(mine.values, theirs.values)
        masks = (self._mask[:, None, :, None], other._mask[:, None, :, None])
        self._mask = both(*masks)[:, 0, :, 0]
        self._at = torch.cat([self._at, other._at])

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        where = {"position_ids": positions} if self._has_positions else {}
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=self._cache,
            use_cache=True,
            **where,
            **self._options,
        )
        self._cache = out.past_key_values
        logits: Tensor = out.logits[:, -1]
        return logits
