"""Which token comes next: temperature, cuts, and one number of chance a row."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import torch
from torch import Tensor

from timeful.models.local.request import Sampling
from timeful.seeding import child

_BLOCK = 64
_BELOW_ONE = 1 - 2.0**-40
"""So that a product with it is less than the other factor, also after rounding."""


class RowRandom:
    """The numbers of each row: the n-th of its own seed for its n-th token."""

    def __init__(self, seeds: Sequence[int], device: torch.device) -> None:
        self._sources = [child(seed, "tokens") for seed in seeds]
        self._block = torch.empty(len(seeds), 0, dtype=torch.float64, device=device)
        self._used = 0

    def next(self) -> Tensor:
        """The next number of each row, (rows, 1), from 0 up to but not including 1."""
        if self._used == self._block.shape[1]:
            self._fill()
        self._used += 1
        return self._block[:, self._used - 1 : self._used]

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        self._sources = [self._sources[i] for i in rows]
        self._block = self._block[list(rows)]

    def join(self, other: RowRandom) -> None:
        """Go on with the rows of both, each from where it is."""
        for one in (self, other):
            one._fill()
        self._sources += other._sources
        self._block = torch.cat([self._block, other._block])

    def _fill(self) -> None:
        """Put what is left of a block first, and draw the rest of it."""
        left = self._block[:, self._used :]
        more = [one.random(_BLOCK - left.shape[1]) for one in self._sources]
        drawn = torch.from_numpy(np.minimum(more, _BELOW_ONE)).to(left.device)
        self._block, self._used = torch.cat([left, drawn], 1), 0


class RowSamplers:
    """How the rows of a batch draw, each by its own settings."""

    def __init__(self, samplings: Sequence[Sampling], device: torch.device) -> None:
        self._device = device
        self._samplings = list(samplings)
        self._chance = RowRandom([one.seed for one in samplings], device)
        self._settle()

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        self._samplings = [self._samplings[i] for i in rows]
        self._chance.keep(rows)
        self._settle()

    def join(self, other: RowSamplers) -> None:
        """Go on with the rows of both."""
        self._samplings += other._samplings
        self._chance.join(other._chance)
        self._settle()

    def draw(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Draw a token for each row.

        Args:
            logits: Of the next token, (rows, tokens).

        Returns:
            The tokens, (rows,), and the log-probabilities of all tokens, (rows, tokens), under
            the tempered distribution before any cut.
        """
        scaled = logits.float()
        if self._temperatures is not None:
            scaled = scaled / self._temperatures
        logprobs = scaled.log_softmax(-1)
        if self._is_greedy.all():
            return scaled.argmax(-1), logprobs
        kept = truncate(logprobs, self._top_k, self._top_p)
        drawn = invert_cdf(kept.exp(), self._chance.next())
        if self._is_greedy.any():
            drawn = torch.where(self._is_greedy, scaled.argmax(-1), drawn)
        return drawn, logprobs

    def _settle(self) -> None:
        def column(values: list[float], dtype: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=self._device)[:, None]

        all_of = self._samplings
        heat = [one.temperature or 1.0 for one in all_of]
        ks, ps = [one.top_k for one in all_of], [one.top_p for one in all_of]
        self._is_greedy = torch.tensor([not one.temperature for one in all_of], device=self._device)
        self._temperatures = column(heat, torch.float32) if any(one != 1 for one in heat) else None
        self._top_k = column([*ks], torch.int64) if any(ks) else None
        self._top_p = column(ps, torch.float32) if any(one < 1 for one in ps) else None


def truncate(logprobs: Tensor, top_k: Tensor | None, top_p: Tensor | None) -> Tensor:
    """Leave the most probable tokens only, first by number, then by what they sum up to.

    Both as transformers has them: of equals at the edge of top_k all stay; top_p leaves out what
    sums up to 1 - top_p or less from the least probable end, but never all.

    Args:
        logprobs: (rows, tokens).
        top_k: (rows, 1); 0 leaves all.
        top_p: (rows, 1).

    Returns:
        The same with minus infinity for what is left out; not normalised.
    """
    if top_k is not None:
        most = top_k.clamp(max=logprobs.shape[-1])
        best = logprobs.topk(int(most.max()), dim=-1).values
        edge = best.gather(1, (most - 1).clamp(min=0))
        logprobs = logprobs.masked_fill((logprobs < edge) & (most > 0), -inf)
    if top_p is not None:
        ascending, order = logprobs.sort(dim=-1)
        out = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
        out[:, -1] = False
        logprobs = logprobs.masked_fill(out.scatter(1, order, out) & (top_p < 1), -inf)
    return logprobs


def invert_cdf(weights: Tensor, numbers: Tensor) -> Tensor:
    """The token at which the cumulative distribution, in the order of tokens, passes a number.

    Args:
        weights: (rows, tokens), 0 or more, not all 0; they need not sum to 1.
        numbers: (rows, 1), from 0 up to but not including 1.
    """
    total = weights.double().cumsum(-1)
    found = torch.searchsorted(total, numbers * total[:, -1:], right=True)
    return found[:, 0]
