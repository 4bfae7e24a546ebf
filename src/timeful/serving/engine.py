"""From the event loop to the sampling thread, and back.

Tokens are drawn in the sampling thread and handed to the event loop, all of one step at once.
A request that its client abandons draws no more tokens.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from threading import Lock

from timeful.errors import ModelError
from timeful.models.local.batching import Batcher, PendingRequest
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.request import Listener, Request, TokenSample
from timeful.models.local.sampler import Sampler

_Item = tuple[int, TokenSample | ModelError]


class Engine:
    """One checkpoint for many clients of one event loop; created in that loop.

    Args:
        checkpoint: The model and its tokenizer.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._batcher = Batcher(Sampler(checkpoint), policy="at once")
        (self._slot,) = self._batcher.slots(1)
        self._mailbox = _Mailbox(asyncio.get_running_loop())

    async def draw(
        self, requests: Sequence[Request]
    ) -> AsyncGenerator[tuple[int, TokenSample], None]:
        """Answer requests: each token with the index of its request, as it is drawn.

        Raises:
            ModelError: If the sampler fails or is closed.
        """
        queue: asyncio.Queue[_Item] = asyncio.Queue()
        pending: list[PendingRequest] = []
        try:
            for index, request in enumerate(requests):
                submitted = self._slot.submit(request, listener=self._listener(queue, index))
                pending.append(submitted)
                self._report_failure(queue, index, submitted)
            unfinished = len(requests)
            while unfinished:
                index, sample = await queue.get()
                if isinstance(sample, ModelError):
                    raise sample
                yield index, sample
                unfinished -= sample.finish is not None
        finally:
            for submitted in pending:
                submitted.withdraw()

    def close(self) -> None:
        """Answer nothing more; returns when nothing is computed any more."""
        self._batcher.close()

    def _listener(self, queue: "asyncio.Queue[_Item]", index: int) -> Listener:
        def listen(sample: TokenSample) -> bool:
            self._mailbox.send(queue, (index, sample))
            return True

        return listen

    def _report_failure(
        self, queue: "asyncio.Queue[_Item]", index: int, pending: PendingRequest
    ) -> None:
        def report() -> None:
            try:
                pending.result()
            except ModelError as error:
                self._mailbox.send(queue, (index, error))

        pending.when_done(report)


class _Mailbox:
    """Carries items into an event loop; one wake-up serves many items, since it costs more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = Lock()
        self._items: list[tuple[asyncio.Queue[_Item], _Item]] = []

    def send(self, queue: "asyncio.Queue[_Item]", item: _Item) -> None:
        with self._lock:
            self._items.append((queue, item))
            if len(self._items) > 1:
                return
        with suppress(RuntimeError):  # the loop is closed, so there is no receiver
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            items, self._items = self._items, []
        for queue, item in items:
            queue.put_nowait(item)
