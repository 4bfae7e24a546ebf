"""Drawing the next tokens: temperature, truncation, and one random number a row."""

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
    """The random numbers of each row: the n-th of its own seed for its n-th token."""

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
        """Keep these rows only."""
        self._sources = [self._sources[i] for i in rows]
        self._block = self._block[list(rows)]

    def join(self, joining: RowRandom) -> None:
        """Append the rows of another batch; each continues its own sequence."""
        for rows in (self, joining):
            rows._fill()
        self._sources += joining._sources
        self._block = torch.cat([self._block, joining._block])

    def _fill(self) -> None:
        """Start a block with the unused numbers, and draw the rest of it."""
        unused = self._block[:, self._used :]
        more = [source.random(_BLOCK - unused.shape[1]) for source in self._sources]
        fresh = torch.from_numpy(np.minimum(more, _BELOW_ONE)).to(unused.device)
        self._block, self._used = torch.cat([unused, fresh], 1), 0


class RowSamplers:
    """Draws the next token of each row of a batch, by the row's own parameters."""

    def __init__(self, samplings: Sequence[Sampling], device: torch.device) -> None:
        self._device = device
        self._samplings = list(samplings)
        self._chance = RowRandom([sampling.seed for sampling in samplings], device)
        self._settle()

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows only."""
        self._samplings = [self._samplings[i] for i in rows]
        self._chance.keep(rows)
        self._settle()

    def join(self, joining: RowSamplers) -> None:
        """Append the rows of another batch."""
        self._samplings += joining._samplings
        self._chance.join(joining._chance)
        self._settle()

    def draw(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Draw a token for each row.

        Args:
            logits: Of the next token, (rows, tokens).

        Returns:
            The tokens, (rows,), and the log-probabilities of all tokens, (rows, tokens), under
            the tempered distribution before truncation.
        """
        scaled = logits.float()
        if self._temperatures is not None:
            scaled = scaled / self._temperatures
        logprobs = scaled.log_softmax(-1)
        if self._is_greedy.all():
            return scaled.argmax(-1), logprobs
        truncated = truncate(logprobs, self._top_k, self._top_p)
        tokens = invert_cdf(truncated.exp(), self._chance.next())
        if self._is_greedy.any():
            tokens = torch.where(self._is_greedy, scaled.argmax(-1), tokens)
        return tokens, logprobs

    def _settle(self) -> None:
        def column(values: list[float], dtype: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=self._device)[:, None]

        temperatures = [sampling.temperature or 1.0 for sampling in self._samplings]
        ks = [sampling.top_k for sampling in self._samplings]
        ps = [sampling.top_p for sampling in self._samplings]
        greedy = [not sampling.temperature for sampling in self._samplings]
        is_tempered = any(temperature != 1 for temperature in temperatures)
        self._is_greedy = torch.tensor(greedy, device=self._device)
        self._temperatures = column(temperatures, torch.float32) if is_tempered else None
        self._top_k = column([*ks], torch.int64) if any(ks) else None
        self._top_p = column(ps, torch.float32) if any(p < 1 for p in ps) else None


def truncate(logprobs: Tensor, top_k: Tensor | None, top_p: Tensor | None) -> Tensor:
    """Keep only the most probable tokens, first by top_k, then by top_p, as transformers does.

    All tokens that tie at the edge of top_k stay. top_p removes the least probable tokens whose
    probabilities sum up to 1 - top_p or less, but never all.

    Args:
        logprobs: (rows, tokens).
        top_k: (rows, 1); 0 leaves all.
        top_p: (rows, 1).

    Returns:
        The same, with minus infinity for removed tokens; not normalised.
    """
    if top_k is not None:
        most = top_k.clamp(max=logprobs.shape[-1])
        best = logprobs.topk(int(most.max()), dim=-1).values
        edge = best.gather(1, (most - 1).clamp(min=0))
        logprobs = logprobs.masked_fill((logprobs < edge) & (most > 0), -inf)
    if top_p is not None:
        ascending, order = logprobs.sort(dim=-1)
        is_out = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
        is_out[:, -1] = False
        logprobs = logprobs.masked_fill(is_out.scatter(1, order, is_out) & (top_p < 1), -inf)
    return logprobs


def invert_cdf(weights: Tensor, numbers: Tensor) -> Tensor:
    """The token at which the cumulative distribution, in the order of tokens, passes a number.

    Args:
        weights: (rows, tokens), 0 or more, not all 0; they need not sum to 1.
        numbers: (rows, 1), from 0 up to but not including 1.
    """
    total = weights.double().cumsum(-1)
    tokens = torch.searchsorted(total, numbers * total[:, -1:], right=True)
    return tokens[:, 0]
