"""Many threads ask, one thread samples: who waits with whom.

Two policies. *Together* is for rollouts: nothing is sampled until every live seat waits, and then
all that they asked for is one batch, in the order of the seats. So batches are the same each time,
whatever the machine is doing. *At once* is for servers: whatever waits is a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from timeful.models.local.request import Completion, Listener, Request
from timeful.models.local.sampler import Sampler

Policy = Literal["together", "at once"]


class Ticket:
    """A request on its way."""

    def result(self) -> Completion:
        """What came of it, waiting until it is known.

        Raises:
            ModelError: If it could not be answered, was withdrawn, or the batcher was closed.
        """
        raise NotImplementedError

    def when_done(self, notify: Callable[[], None]) -> None:
        """Call `notify` once, from any thread, when `result` would not wait."""
        raise NotImplementedError

    def withdraw(self) -> None:
        """Want it no longer; harmless at any time."""
        raise NotImplementedError


class Seat:
    """Whose requests these are: an episode, or a client; a context manager that leaves."""

    def submit(self, request: Request, *, listener: Listener | None = None) -> Ticket:
        """Ask, and return at once.

        Raises:
            ModelError: If the seat was left or the batcher closed.
        """
        raise NotImplementedError

    def leave(self) -> None:
        """Nobody waits for this seat any more; what it asked for is withdrawn."""
        raise NotImplementedError

    def __enter__(self) -> Seat:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Batcher:
    """Gathers requests into batches; a context manager that closes.

    Args:
        sampler: Who samples.
        policy: Who waits with whom.
    """

    def __init__(self, sampler: Sampler, *, policy: Policy = "at once") -> None:
        self.sampler = sampler
        self.policy: Policy = policy

    def seats(self, count: int) -> Sequence[Seat]:
        """Take so many seats at once, in order; under *together* each needs a thread of its own."""
        raise NotImplementedError

    def close(self) -> None:
        """Answer nothing more, and wake everybody who waits."""
        raise NotImplementedError

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
