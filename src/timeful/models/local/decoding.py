"""Next-token logits of a batch, step by step, by the model's own forward pass.

Works for every causal model of transformers that takes an attention mask. `fast_decoder.py` does
the same for small models without the overhead of a forward pass of transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any, Protocol

import torch
import torch.nn.functional as F  # noqa: N812 - the customary name
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer


class Decoder(Protocol):
    """The state of a batch."""

    def begin(
        self, prompts: Sequence[Sequence[int]], prompt_of_row: Sequence[int], room: int
    ) -> Tensor:
        """Read prompts.

        Args:
            prompts: Distinct prompts of any lengths above 0.
            prompt_of_row: For each row of the batch, the index of its prompt.
            room: The most steps that will follow.

        Returns:
            The logits after each row's prompt, (rows, tokens).
        """
        ...

    def step(self, ids: Tensor) -> Tensor:
        """Append one token to each row, (rows,), and return the logits after it."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows only."""
        ...

    @property
    def can_join(self) -> bool:
        """Whether rows of another decoder can be appended."""
        ...

    def join(self, joining: Any) -> None:
        """Append the rows of another decoder of this kind and model."""
        ...


def padded(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Prompts as one tensor, padded on the left, and the mask of their tokens."""
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
        parameters = signature(model.forward).parameters
        self._has_positions = "position_ids" in parameters
        self._options = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        self._cache: Any = None
        self._mask = torch.empty(0)
        self._at = torch.empty(0)

    def begin(
        self, prompts: Sequence[Sequence[int]], prompt_of_row: Sequence[int], room: int
    ) -> Tensor:
        """Read prompts."""
        ids, mask = padded(prompts, self._model.device)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        self._cache = None
        logits = self._forward(ids, mask, positions)
        rows = torch.tensor(prompt_of_row, device=ids.device)
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
        """Keep these rows only."""
        indices = torch.tensor(rows, device=self._mask.device)
        self._cache.reorder_cache(indices)
        self._mask, self._at = self._mask[indices], self._at[indices]

    @property
    def can_join(self) -> bool:
        """Only if the cache holds nothing but keys and values of all tokens."""
        cache = self._cache
        return type(cache) is DynamicCache and all(
            type(layer) is DynamicLayer and layer.is_initialized for layer in cache.layers
        )

    def join(self, joining: ForwardDecoder) -> None:
        """Append the rows of another decoder; pad on the left to the longest row."""
        length = int(max(self._at.max(), joining._at.max()))

        def concatenate(first: Tensor, second: Tensor) -> Tensor:
            """Tensors of (rows, heads, length, size)."""
            sides = [tensor[:, :, -length:] for tensor in (first, second)]
            return torch.cat(
                [F.pad(tensor, (0, 0, length - tensor.shape[2], 0)) for tensor in sides]
            )

        for first, second in zip(self._cache.layers, joining._cache.layers, strict=True):
            first.keys = concatenate(first.keys, second.keys)
            first.values = concatenate(first.values, second.values)
        masks = (self._mask[:, None, :, None], joining._mask[:, None, :, None])
        self._mask = concatenate(*masks)[:, 0, :, 0]
        self._at = torch.cat([self._at, joining._at])

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
