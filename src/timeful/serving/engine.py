"""From the event loop to the thread that samples, and back.

Tokens come in the sampling thread and are handed over to the event loop, all of one step at once.
Whoever stops listening is drawn no more tokens.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

from timeful.errors import ModelError
from timeful.models.local.batching import Batcher, PendingRequest
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.request import Drawn, Listener, Request, Scored
from timeful.models.local.sampler import Sampler

_Event = tuple[int, Drawn | ModelError]


class Engine:
    """One checkpoint for many clients of one event loop; made in that loop.

    Args:
        checkpoint: The model and its tokenizer.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._sampler = Sampler(checkpoint)
        self._batcher = Batcher(self._sampler, policy="at once")
        (self._seat,) = self._batcher.seats(1)
        # A thread beside the one that samples: a forward pass changes nothing in the model.
        self._scoring = ThreadPoolExecutor(1, "scoring")
        self._post = _Mailbox(asyncio.get_running_loop())

    def check(self, request: Request) -> None:
        """Find out whether a request can be answered.

        Raises:
            ModelError: If it cannot.
        """
        self._sampler.check(request)

    async def draw(self, requests: Sequence[Request]) -> AsyncGenerator[tuple[int, Drawn], None]:
        """Answer requests, and tell each token with the place of its request, as it is drawn.

        Raises:
            ModelError: If the sampler fails or is closed.
        """
        letters: asyncio.Queue[_Event] = asyncio.Queue()
        tickets: list[PendingRequest] = []
        try:
            for place, request in enumerate(requests):
                ticket = self._seat.submit(request, listener=self._listener(letters, place))
                tickets.append(ticket)
                self._tell_failure(letters, place, ticket)
            left = len(requests)
            while left:
                place, drawn = await letters.get()
                if isinstance(drawn, ModelError):
                    raise drawn
                yield place, drawn
                left -= drawn.finish is not None
        finally:
            for ticket in tickets:
                ticket.withdraw()

    async def score(self, ids: Sequence[int], *, top: int) -> Scored:
        """Say how probable each token of a text is after those before it, at temperature 1."""
        return await asyncio.wrap_future(self._scoring.submit(self._sampler.score, ids, top=top))

    def close(self) -> None:
        """Answer nothing more; returns when nothing is computed any more."""
        self._batcher.close()
        self._scoring.shutdown(cancel_futures=True)

    def _listener(self, letters: "asyncio.Queue[_Event]", place: int) -> Listener:
        def hear(drawn: Drawn) -> bool:
            self._post.send(letters, (place, drawn))
            return True

        return hear

    def _tell_failure(
        self, letters: "asyncio.Queue[_Event]", place: int, ticket: PendingRequest
    ) -> None:
        def done() -> None:
            try:
                ticket.result()
            except ModelError as error:
                self._post.send(letters, (place, error))

        ticket.when_done(done)


class _Mailbox:
    """Carries events into an event loop; waking it costs more than carrying, so once for many."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = Lock()
        self._waiting: list[tuple[asyncio.Queue[_Event], _Event]] = []

    def send(self, to: "asyncio.Queue[_Event]", event: _Event) -> None:
        with self._lock:
            self._waiting.append((to, event))
            if len(self._waiting) > 1:
                return
        with suppress(RuntimeError):  # the loop was closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for to, event in waiting:
            to.put_nowait(event)
