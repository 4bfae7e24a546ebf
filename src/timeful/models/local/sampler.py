"""Drawing tokens for many prompts at once. Read this file first.

A batch is the prompts of several requests, padded on the left to the longest; the decoder keeps
what it computed of earlier tokens, so that each step computes one token a row. Rows that are done
leave. Each request has chance of its own: its n-th token is drawn with the n-th number of its own
seed, by inverting the cumulative distribution, so that it depends on its own seed and its own
probabilities and on nothing else. (These probabilities do depend on the batch in their last bits:
a matrix product of another size adds up in another order. See docs/local.md.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from timeful.models.local.request import Completion, Listener, Request, Scored

if TYPE_CHECKING:
    from timeful.models.local.checkpoint import Checkpoint


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

    def generate(
        self, requests: Sequence[Request], *, listeners: Sequence[Listener | None] = ()
    ) -> list[Completion]:
        """Answer requests, all at once.

        Args:
            requests: Any number, of any lengths.
            listeners: For each request, or for none, who is told of each token as it is drawn.

        Raises:
            ModelError: If a prompt is empty or leaves no room in the context.
        """
        raise NotImplementedError

    def score(self, ids: Sequence[int], *, top: int = 0) -> Scored:
        """Say how probable each token of a text is after those before it, at temperature 1.

        Raises:
            ModelError: If there is no token, or more than the context holds.
        """
        raise NotImplementedError
