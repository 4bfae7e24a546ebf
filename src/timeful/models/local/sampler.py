"""Drawing tokens for many prompts at once. Read this file first.

A batch is the prompts of several requests, padded on the left to the longest; equal prompts are
read once. The decoder keeps what it computed of earlier tokens, so that each step computes one
token a row, and rows that are done leave. Each request has chance of its own: its n-th token is
drawn with the n-th number of its own seed, by inverting the cumulative distribution, so that it
depends on its own seed and its own probabilities and on nothing else. (These probabilities do
depend on the batch in their last bits: a matrix product of another size adds up in another order.
See docs/local.md.)
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
from timeful.models.local.drawing import Draws
from timeful.models.local.plain import PlainDecoder, take_apart
from timeful.models.local.request import (
    Alternatives,
    Completion,
    Drawn,
    Listener,
    Request,
    Scored,
)

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
        """Find out whether a request can be answered.

        Raises:
            ModelError: If its prompt is empty, leaves no room, or holds what is no token.
        """
        prompt = request.prompt_ids
        self.checkpoint.check_room(len(prompt), 1)
        tokens = self.checkpoint.model.get_input_embeddings().num_embeddings
        if not 0 <= min(prompt) <= max(prompt) < tokens:
            raise ModelError(f"{self.checkpoint.name} has the tokens 0 to {tokens - 1} only")

    def generate(
        self, requests: Sequence[Request], *, listeners: Sequence[Listener | None] = ()
    ) -> list[Completion]:
        """Answer requests, all at once.

        Args:
            requests: Any number, of any lengths.
            listeners: For each request, or for none, who is told of each token as it is drawn.

        Raises:
            ModelError: As `check`.
        """
        told = list(listeners) or [None] * len(requests)
        for one in requests:
            self.check(one)
        rows = [
            _Row(one, listener, self.checkpoint)
            for one, listener in zip(requests, told, strict=True)
        ]
        with _evaluating(self.checkpoint.model):
            for first in range(0, len(rows), self.rows):
                self._answer(rows[first : first + self.rows])
        return [row.completion(self.policy) for row in rows]

    def score(self, ids: Sequence[int], *, top: int = 0) -> Scored:
        """Say how probable each token of a text is after those before it, at temperature 1.

        Raises:
            ModelError: If there is no token, or more than the context holds.
        """
        self.checkpoint.check_room(len(ids), 0)
        model = self.checkpoint.model
        with _evaluating(model):
            given = torch.tensor([list(ids)], device=model.device)
            logprobs = model(input_ids=given).logits[0, :-1].float().log_softmax(-1)
        own = logprobs.gather(1, given[0, 1:, None])[:, 0]
        return Scored(tuple(own.tolist()), tuple(_best(row, top) for row in logprobs))

    def _answer(self, rows: list[_Row]) -> None:
        """Run one batch to its end."""
        parts = take_apart(self.checkpoint.model)
        decoder: Decoder = (
            PlainDecoder(parts) if parts is not None else ForwardDecoder(self.checkpoint.model)
        )
        prompts = {row.request.prompt_ids: None for row in rows}
        places = {prompt: i for i, prompt in enumerate(prompts)}
        which = [places[row.request.prompt_ids] for row in rows]
        logits = decoder.begin(list(prompts), which, max(row.room for row in rows))
        draws = Draws([row.request.sampling for row in rows], logits.device)
        while True:
            ids, logprobs = draws.draw(logits)
            _tell(rows, ids, logprobs)
            alive = [i for i, row in enumerate(rows) if row.finish is None]
            if not alive:
                return
            if len(alive) <= _CROWDED * len(rows):
                rows = [rows[i] for i in alive]
                ids = ids[alive]
                decoder.keep(alive)
                draws.keep(alive)
            logits = decoder.step(ids)


class _Row:
    """One request on its way."""

    def __init__(self, request: Request, listener: Listener | None, of: Checkpoint) -> None:
        sampling = request.sampling
        self.request = request
        self.room = min(sampling.max_tokens, of.check_room(len(request.prompt_ids), 1))
        self.finish: Literal["stop", "length"] | None = None
        self._listener = listener
        self._stop_ids = frozenset(sampling.stop_ids)
        self._stop = sampling.stop
        self._reader = of.texts.reader(special=True) if sampling.stop else None
        self._tail = ""
        self._reach = max(map(len, sampling.stop), default=1) - 1
        self._ids: list[int] = []
        self._logprobs: list[float] = []
        self._top: list[Alternatives] = []

    def take(self, token: int, logprob: float, top: Alternatives) -> None:
        """Append a token, and see whether it is the last one."""
        self._ids.append(token)
        self._logprobs.append(logprob)
        if self.request.top:
            self._top.append(top)
        if token in self._stop_ids or (self._reader is not None and self._says_stop(token)):
            self.finish = "stop"
        elif len(self._ids) >= self.room:
            self.finish = "length"
        if self._listener is not None and not self._listener(
            Drawn(token, logprob, self.finish, top)
        ):
            self.finish = self.finish or "length"

    def completion(self, policy: int) -> Completion:
        """What was drawn."""
        assert self.finish is not None, "the batch has run to its end"
        return Completion(
            ids=tuple(self._ids),
            logprobs=tuple(self._logprobs),
            finish=self.finish,
            policy=policy,
            top=tuple(self._top),
        )

    def _says_stop(self, token: int) -> bool:
        assert self._reader is not None
        if not (piece := self._reader.feed(token)):
            return False
        said = self._tail + piece
        self._tail = said[len(said) - self._reach :] if self._reach else ""
        return any(stop in said for stop in self._stop)


def _tell(rows: Sequence[_Row], ids: Tensor, logprobs: Tensor) -> None:
    """Hand each row that goes on its token."""
    own = logprobs.gather(1, ids[:, None])[:, 0].tolist()
    for i, (row, token, logprob) in enumerate(zip(rows, ids.tolist(), own, strict=True)):
        if row.finish is None:
            row.take(token, logprob, _best(logprobs[i], row.request.top))


def _best(logprobs: Tensor, count: int) -> Alternatives:
    if not count:
        return ()
    best = logprobs.topk(min(count, len(logprobs)))
    return tuple(zip(best.indices.tolist(), best.values.tolist(), strict=True))


@contextmanager
def _evaluating(model: Any) -> Generator[None, None, None]:
    """Without gradients and without dropout, whatever a trainer has set."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)
