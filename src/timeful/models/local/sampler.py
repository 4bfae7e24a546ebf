"""Drawing tokens for many prompts at once. Read this file first.

A batch is the prompts of several requests, padded on the left to the longest; equal prompts are
read once. The decoder keeps what it computed of earlier tokens, so that each step computes one
token a row, and rows that are done leave. Between two steps others may join: their prompts are
read by themselves, and what was computed of them is put beside the rest. Each request has noise
of its own: its n-th token is the maximum of logits plus noise, and the noise depends on the seed, n
and the token only. (The logits depend on the batch in their last bits: a matrix product of another
size adds up in another order. See docs/local.md.)
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor

from timeful.errors import ModelError
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.decoding import Decoder, ForwardDecoder
from timeful.models.local.fast_decoder import FastDecoder
from timeful.models.local.fast_weights import extract_weights
from timeful.models.local.request import (
    Alternatives,
    Completion,
    Listener,
    Request,
    TokenSample,
)
from timeful.models.local.sampling import RowSamplers

_CROWDED = 0.75
"""Rows that are done leave when this share or less is left: leaving copies what is kept."""


class Sampler:
    """Draws from one checkpoint, in one thread at a time.

    Args:
        checkpoint: The model and its tokenizer. Its weights may change between two calls.
        policy: Which version of the weights this is; a trainer counts it up.
        rows: The most rows of a batch; more requests are several batches.
    """

    def __init__(self, checkpoint: Checkpoint, *, policy: int = 0, rows: int = 256) -> None:
        self.checkpoint = checkpoint
        self.policy = policy
        self.rows = rows

    def check(self, request: Request) -> None:
        """Check that a request can be answered.

        Raises:
            ModelError: If its prompt is empty, leaves no room, has an unknown token, or is shorter
                than what was drawn of it.
        """
        prompt = request.prompt_ids
        if not 0 <= request.draws <= len(prompt):
            raise ModelError(f"draws must be 0 to {len(prompt)} (the prompt), got {request.draws}")
        self.checkpoint.check_room(len(prompt), 1)
        tokens = self.checkpoint.model.get_input_embeddings().num_embeddings
        if not 0 <= min(prompt) <= max(prompt) < tokens:
            raise ModelError(f"{self.checkpoint.name} has the tokens 0 to {tokens - 1} only")

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests, any number and of any lengths, all at once.

        Raises:
            ModelError: As `check`.
        """
        for request in requests:
            self.check(request)
        rows: list[Row] = []
        with self.batch() as batch:
            for first in range(0, len(requests), self.rows):
                chunk = requests[first : first + self.rows]
                rows += batch.join(chunk, [None] * len(chunk))
                while batch.is_alive:
                    batch.step()
        return [row.completion() for row in rows]

    @contextmanager
    def batch(self) -> Generator[Batch, None, None]:
        """An empty batch, to be used in this thread until the context is left."""
        with _evaluating(self.checkpoint.model):
            yield Batch(self)


class Batch:
    """Requests in progress; more may join between two steps. Made by `Sampler.batch`.

    Args:
        sampler: Whose it is.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._parts = extract_weights(sampler.checkpoint.model)
        self._rows: list[Row] = []  # also those that are done, until they leave
        self._decoder: Decoder
        self._draws: RowSamplers
        self._logits = torch.empty(0)

    @property
    def is_alive(self) -> bool:
        """Whether any request is in progress."""
        return bool(self._rows)

    @property
    def free(self) -> int:
        """How many may join now."""
        if self._rows and not self._decoder.can_join:
            return 0
        return self._sampler.rows - sum(row.finish is None for row in self._rows)

    def join(self, requests: Sequence[Request], listeners: Sequence[Listener | None]) -> list[Row]:
        """Read the prompts of new requests, at most `free`; they take part from the next step on.

        Args:
            requests: At least one; each was checked.
            listeners: For each request, called for each token as it is drawn; or None.
        """
        of = self._sampler.checkpoint
        pairs = zip(requests, listeners, strict=True)
        rows = [Row(request, listener, of, self._sampler.policy) for request, listener in pairs]
        decoder: Decoder = (
            FastDecoder(self._parts) if self._parts is not None else ForwardDecoder(of.model)
        )
        prompt_index = {
            request: i
            for i, request in enumerate({request.prompt_ids: None for request in requests})
        }
        prompt_of_row = [prompt_index[request.prompt_ids] for request in requests]
        logits = decoder.begin(list(prompt_index), prompt_of_row, max(row.room for row in rows))
        draws = RowSamplers(requests, logits.device)
        if self._rows:
            alive = [i for i, row in enumerate(self._rows) if row.finish is None]
            self._logits = torch.cat([self._logits[alive], logits])
            self._keep(alive)
            self._decoder.join(decoder)
            self._draws.join(draws)
        else:
            self._decoder, self._draws, self._logits = decoder, draws, logits
        self._rows += rows
        return rows

    def step(self) -> list[Row]:
        """Draw a token for each row; returns the rows that ended."""
        ids, logprobs = self._draws.draw(self._logits)
        done = _tell(self._rows, ids, logprobs)
        alive = [i for i, row in enumerate(self._rows) if row.finish is None]
        if not alive:
            self._rows = []
            return done
        if len(alive) <= _CROWDED * len(self._rows):
            ids = ids[alive]
            self._keep(alive)
        self._logits = self._decoder.step(ids)
        return done

    def _keep(self, alive: list[int]) -> None:
        """Remove all other rows."""
        if len(alive) < len(self._rows):
            self._rows = [self._rows[i] for i in alive]
            self._decoder.keep(alive)
            self._draws.keep(alive)


class Row:
    """One request in progress.

    Args:
        request: What is asked.
        listener: Who is told of each token.
        of: Whose tokens they are.
        policy: Which version of the weights draws them.

    Attributes:
        finish: What ended it; None until it is done.
    """

    def __init__(
        self, request: Request, listener: Listener | None, of: Checkpoint, policy: int
    ) -> None:
        sampling = request.sampling
        self.request = request
        self.room = min(sampling.max_tokens, of.check_room(len(request.prompt_ids), 1))
        self.finish: Literal["stop", "length"] | None = None
        self._policy = policy
        self._listener = listener
        self._stop_ids = frozenset(sampling.stop_ids)
        self._stop = sampling.stop
        self._reader = of.detokenizer.reader(special=True) if sampling.stop else None
        self._tail = ""
        self._reach = max(map(len, sampling.stop), default=1) - 1
        self._ids: list[int] = []
        self._logprobs: list[float] = []
        self._top: list[Alternatives] = []
        if self._reader is not None and request.draws:
            for token in request.prompt_ids[-request.draws :]:
                self._says_stop(token)

    def take(self, token: int, logprob: float, top: Alternatives) -> None:
        """Append a token, and check whether it is the last one."""
        self._ids.append(token)
        self._logprobs.append(logprob)
        if self.request.top:
            self._top.append(top)
        if token in self._stop_ids or (self._reader is not None and self._says_stop(token)):
            self.finish = "stop"
        elif len(self._ids) >= self.room:
            self.finish = "length"
        if self._listener is not None and not self._listener(
            TokenSample(token, logprob, self.finish, top)
        ):
            self.finish = self.finish or "length"

    def completion(self) -> Completion:
        """The answer, when it is complete."""
        assert self.finish is not None, "it has run to its end"
        return Completion(
            ids=tuple(self._ids),
            logprobs=tuple(self._logprobs),
            finish=self.finish,
            policy=self._policy,
            top=tuple(self._top),
        )

    def _says_stop(self, token: int) -> bool:
        assert self._reader is not None
        if not (piece := self._reader.feed(token)):
            return False
        window = self._tail + piece
        self._tail = window[len(window) - self._reach :] if self._reach else ""
        return any(stop in window for stop in self._stop)


def _tell(rows: Sequence[Row], ids: Tensor, logprobs: Tensor) -> list[Row]:
    """Give each active row its token; returns the rows that ended."""
    own = logprobs.gather(1, ids[:, None])[:, 0].tolist()
    done: list[Row] = []
    for i, (row, token, logprob) in enumerate(zip(rows, ids.tolist(), own, strict=True)):
        if row.finish is None:
            row.take(token, logprob, _best(logprobs[i], row.request.top))
            if row.finish is not None:
                done.append(row)
    return done


def _best(logprobs: Tensor, count: int) -> Alternatives:
    if not count:
        return ()
    best = logprobs.topk(min(count, len(logprobs)))
    return tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))


@contextmanager
def _evaluating(model: Any) -> Generator[None, None, None]:
    """Without gradients and dropout, whatever a trainer has set."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)
