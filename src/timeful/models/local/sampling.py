"""Drawing the next tokens: temperature, truncation, and noise of each row.

The token with the greatest sum of score and Gumbel noise is drawn (the Gumbel-max method). The
noise is a hash of the row's seed, the number of the draw, and the token. A rounding error therefore
changes a token only if the two greatest sums are closer to each other than the error. A large
vocabulary is drawn from in two races, first among groups of tokens, then within the group, so that
most noise is never computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import torch
import torch.nn.functional as F  # noqa: N812 - the customary name
from torch import Tensor

from timeful.models.local.request import Request
from timeful.seeding import child_seed

GROUP = 128
"""Tokens of a group; a vocabulary that has no more is drawn from in one race."""


class RowNoise:
    """The Gumbel noise of each row.

    Args:
        seeds: One for each row.
        draws: The number of the next draw of each row.
        device: Where the scores are.
    """

    def __init__(self, seeds: Sequence[int], draws: Sequence[int], device: torch.device) -> None:
        keys = [child_seed(seed, "tokens") for seed in seeds]
        self._keys = torch.tensor(keys, dtype=torch.int64, device=device)
        self._draws = torch.tensor(draws, dtype=torch.int64, device=device)

    def draw(self, scores: Tensor) -> Tensor:
        """Draw a token for each row, (rows,), from scores of tokens, (rows, tokens)."""
        keys = hash_integers(self._keys, self._draws)[:, None]
        self._draws += 1
        count = scores.shape[-1]
        if count <= GROUP:
            return race(scores, keys, torch.arange(count, device=scores.device))
        groups = F.pad(scores, (0, -count % GROUP), value=-inf).view(len(scores), -1, GROUP)
        numbers = torch.arange(groups.shape[1], device=scores.device)
        winners = race(groups.logsumexp(-1), keys, -1 - numbers)[:, None]
        members = groups.take_along_dim(winners[:, :, None], 1)[:, 0]
        tokens = winners * GROUP + torch.arange(GROUP, device=scores.device)
        return tokens.gather(1, race(members, keys, tokens)[:, None])[:, 0]

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows only."""
        self._keys, self._draws = self._keys[list(rows)], self._draws[list(rows)]

    def join(self, joining: RowNoise) -> None:
        """Append the rows of another batch; each continues its own sequence."""
        self._keys = torch.cat([self._keys, joining._keys])
        self._draws = torch.cat([self._draws, joining._draws])


def race(scores: Tensor, keys: Tensor, numbers: Tensor) -> Tensor:
    """The column of the greatest sum of score and noise of each row.

    Args:
        scores: (rows, columns).
        keys: Of the hash, (rows, 1).
        numbers: What is hashed with the key for each column, (columns,) or (rows, columns).
    """
    return (scores + gumbel(hash_integers(keys, numbers))).argmax(-1)


def hash_integers(keys: Tensor, numbers: Tensor) -> Tensor:
    """Hash pairs of 64-bit integers: element `number` of the SplitMix64 sequence of `key`."""
    state = keys + (numbers + 1) * -0x61C8864680B583EB
    state = (state ^ _shift(state, 30)) * -0x40A7B892E31B1A47
    state = (state ^ _shift(state, 27)) * -0x6B2FB644ECCEEE15
    return state ^ _shift(state, 31)


def gumbel(hashes: Tensor) -> Tensor:
    """Noise from the upper 52 bits of hashes: -log(-log u), with u between 0 and 1."""
    uniform = (_shift(hashes, 12).double() + 0.5) * 2.0**-52
    return -(-uniform.log()).log()


def _shift(state: Tensor, bits: int) -> Tensor:
    """Shift to the right, with zeros from the left; torch repeats the sign."""
    return (state >> bits) & ((1 << (64 - bits)) - 1)


class RowSamplers:
    """Draws the next token of each row of a batch, by the row's own parameters."""

    def __init__(self, requests: Sequence[Request], device: torch.device) -> None:
        self._device = device
        self._samplings = [request.sampling for request in requests]
        seeds = [sampling.seed for sampling in self._samplings]
        self._noise = RowNoise(seeds, [request.draws for request in requests], device)
        self._settle()

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows only."""
        self._samplings = [self._samplings[i] for i in rows]
        self._noise.keep(rows)
        self._settle()

    def join(self, joining: RowSamplers) -> None:
        """Append the rows of another batch."""
        self._samplings += joining._samplings
        self._noise.join(joining._noise)
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
        tokens = self._noise.draw(truncate(scaled, self._top_k, self._top_p))
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


def truncate(scores: Tensor, top_k: Tensor | None, top_p: Tensor | None) -> Tensor:
    """Keep only the most probable tokens, first by top_k, then by top_p, as transformers does.

    All tokens that tie at the edge of top_k stay. top_p removes the least probable tokens whose
    probabilities sum up to 1 - top_p or less, but never all.

    Args:
        scores: Logits or log-probabilities, (rows, tokens).
        top_k: (rows, 1); 0 leaves all.
        top_p: (rows, 1).

    Returns:
        The same, with minus infinity for removed tokens; not normalised.
    """
    if top_k is not None:
        most = top_k.clamp(max=scores.shape[-1])
        best = scores.topk(int(most.max()), dim=-1).values
        edge = best.gather(1, (most - 1).clamp(min=0))
        scores = scores.masked_fill((scores < edge) & (most > 0), -inf)
    if top_p is not None:
        ascending, order = scores.sort(dim=-1)
        is_out = ascending.softmax(-1).cumsum(-1) <= 1 - top_p
        is_out[:, -1] = False
        scores = scores.masked_fill(is_out.scatter(1, order, is_out) & (top_p < 1), -inf)
    return scores
