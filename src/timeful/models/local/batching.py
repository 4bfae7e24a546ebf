"""Requests of many threads, sampled by one thread in batches, under one of two policies.

*Together* is for rollouts: sampling starts when every slot waits, and all pending requests form
one batch, in the order of the slots. The batches therefore do not depend on the machine's speed.
*At once* is for servers: there is one batch, new requests join it before its next token, and each
request is answered when it is done.

A slot belongs to one episode or client. Under *together*, a slot waits while one of its threads
waits for a request that is not answered. It has then submitted all its requests of that instant,
since an episode opens its thoughts before it waits for any. A slot that was left, because its
episode has ended or failed, is not waited for.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

from timeful.errors import ModelError
from timeful.models.local.request import Completion, Listener, Request, TokenSample

if TYPE_CHECKING:
    from timeful.models.local.sampler import Row, Sampler

Policy = Literal["together", "at once"]

MAX_QUEUED = 4096
"""Requests that may be queued under *at once*; further ones are refused."""


class PendingRequest:
    """A submitted request; made by `Slot.submit`."""

    def __init__(self, slot: Slot, request: Request, listener: Listener | None) -> None:
        self.request = request
        self._slot = slot
        self._listener = listener
        self._outcome: Completion | ModelError | None = None
        self._done = threading.Event()
        self._notify: Callable[[], None] | None = None
        self._is_wanted = True

    def result(self) -> Completion:
        """Return the answer, waiting for it.

        Raises:
            ModelError: If it could not be answered, was withdrawn, or the batcher was closed.
        """
        if not self._done.is_set():
            self._slot._batcher._await(self)
        if isinstance(self._outcome, ModelError):
            raise self._outcome
        assert self._outcome is not None, "a request that is done has an outcome"
        return self._outcome

    def when_done(self, notify: Callable[[], None]) -> None:
        """Call `notify` once, from any thread, when `result` would not wait.

        Until then its slot waits, as in `result`.
        """
        with self._slot._batcher._lock:
            if not self._done.is_set():
                self._notify = notify
                self._slot._waiters += 1
                self._slot._batcher._changed.notify_all()
                return
        notify()

    def withdraw(self) -> None:
        """Cancel the request; harmless at any time, also while it is being answered."""
        self._slot._batcher._withdraw([self])

    def listen(self, sample: TokenSample) -> bool:
        """Pass a token on; False to stop drawing."""
        if self._is_wanted and self._listener is not None:
            return self._listener(sample)
        return self._is_wanted

    def _settle(self, outcome: Completion | ModelError) -> Callable[[], None] | None:
        """Set the outcome once; returns the callback to run outside of the lock."""
        if self._outcome is not None:
            return None
        self._outcome = outcome
        self._done.set()
        notify, self._notify = self._notify, None
        if notify is not None:
            self._slot._waiters -= 1
        return notify


class Slot:
    """The owner of requests; a context manager that leaves."""

    def __init__(self, batcher: Batcher, index: int) -> None:
        self._batcher = batcher
        self._index = index
        self._waiters = 0  # threads and callbacks that wait for an answer
        self._queued = 0  # requests that are in no batch yet
        self._has_left = False

    @property
    def streams(self) -> bool:
        """Whether listeners are called for each token as it is drawn; else they never are."""
        return self._batcher.policy == "at once"

    @property
    def policy(self) -> int:
        """The current version of the weights."""
        return self._batcher.sampler.policy

    def submit(self, request: Request, *, listener: Listener | None = None) -> PendingRequest:
        """Submit a request, without waiting.

        Args:
            request: The prompt and how to continue it.
            listener: Called for each token in the sampling thread; under *at once* only. It must
                not wait.

        Raises:
            ModelError: If the slot was left or the batcher closed, the prompt does not fit, or
                the queue is full.
        """
        self._batcher.sampler.check(request)
        pending = PendingRequest(self, request, listener)
        self._batcher._submit(pending)
        return pending

    def leave(self) -> None:
        """Withdraw the queued requests; the other slots no longer wait for this one."""
        self._batcher._leave(self)

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Batcher:
    """Gathers requests into batches and samples them in its own thread.

    A context manager that closes.

    Args:
        sampler: Draws the tokens.
        policy: When a batch begins, see above.
    """

    def __init__(self, sampler: Sampler, *, policy: Policy = "at once") -> None:
        self.sampler = sampler
        self.policy: Policy = policy
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._queue: dict[PendingRequest, None] = {}  # in no batch yet, in order
        self._active: dict[Slot, None] = {}  # slots to wait for
        self._slot_count = 0
        self._running: dict[PendingRequest, None] = {}
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def slots(self, count: int) -> Sequence[Slot]:
        """Make slots, in order.

        Under *together*, all of them are waited for from now on until each is left: each needs
        a thread of its own.

        Raises:
            ModelError: If the batcher was closed.
        """
        with self._lock:
            self._check_open()
            slots = [Slot(self, self._slot_count + i) for i in range(count)]
            self._slot_count += count
            if self.policy == "together":
                self._active.update(dict.fromkeys(slots))
            if self._thread is None:
                # A daemon, so that a batcher that was never closed does not keep the process
                # alive; and closed at exit, since torch aborts a process that ends while it
                # computes.
                self._thread = threading.Thread(target=self._work, name="sampler", daemon=True)
                self._thread.start()
                atexit.register(self.close)
        return slots

    def close(self) -> None:
        """Fail all requests; harmless when called again.

        Returns when nothing is sampled any more.
        """
        atexit.unregister(self.close)
        with self._lock:
            self._is_closed = True
            pending = [*self._running, *self._queue]
        self._withdraw(pending)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the threads that submit -------------------------------------------------------------

    def _submit(self, pending: PendingRequest) -> None:
        slot = pending._slot
        with self._lock:
            self._check_open()
            if slot._has_left:
                raise ModelError("a slot that was left takes no requests")
            if self.policy == "at once" and len(self._queue) >= MAX_QUEUED:
                raise ModelError(f"{MAX_QUEUED} requests are queued already: try again later")
            self._queue[pending] = None
            slot._queued += 1
            if self.policy == "at once":
                self._changed.notify_all()

    def _await(self, pending: PendingRequest) -> None:
        slot = pending._slot
        with self._lock:
            slot._waiters += 1
            if slot._waiters == 1:
                self._changed.notify_all()
        try:
            pending._done.wait()
        finally:
            with self._lock:
                slot._waiters -= 1

    def _withdraw(self, requests: Sequence[PendingRequest]) -> None:
        with self._lock:
            reason = "the sampler was closed" if self._is_closed else "the request was withdrawn"
            callbacks = []
            for pending in requests:
                pending._is_wanted = False
                if pending in self._queue:
                    self._dequeue(pending)
                callbacks.append(pending._settle(ModelError(reason)))
            self._changed.notify_all()
        _run(callbacks)

    def _leave(self, slot: Slot) -> None:
        with self._lock:
            slot._has_left = True
            self._active.pop(slot, None)
            queued = [pending for pending in self._queue if pending._slot is slot]
        self._withdraw(queued)

    def _dequeue(self, pending: PendingRequest) -> None:
        del self._queue[pending]
        pending._slot._queued -= 1

    def _check_open(self) -> None:
        if self._is_closed:
            raise ModelError("the sampler was closed")

    # --- the thread that samples -------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._lock:
                while not (self._is_closed or self._is_ready()):
                    self._changed.wait()
                if self._is_closed:
                    return
                batch = list(self._queue)
                if self.policy == "together":
                    # The order within a slot is fixed, that between slots depends on the machine.
                    batch.sort(key=lambda pending: pending._slot._index)
                    self._begin(batch)
            try:
                if self.policy == "together":
                    outcomes = self.sampler.generate([pending.request for pending in batch])
                    self._settle(dict(zip(batch, outcomes, strict=True)))
                else:
                    self._answer_all()
            except Exception as error:  # noqa: BLE001 - any failure is raised by `result`
                failure = ModelError(f"the sampler failed: {type(error).__name__}: {error}")
                failure.__cause__ = error
                self._settle(dict.fromkeys(self._running, failure))

    def _is_ready(self) -> bool:
        if self.policy == "at once":
            return bool(self._queue)
        # A thread may not have returned from its wait yet: its slot has then queued nothing.
        return bool(self._active) and all(slot._waiters and slot._queued for slot in self._active)

    def _answer_all(self) -> None:
        """Answer all queued requests, and those that arrive meanwhile, until none is left."""
        pending_of: dict[Row, PendingRequest] = {}
        with self.sampler.batch() as batch:
            while True:
                if joining := self._next(batch.free):
                    requests = [pending.request for pending in joining]
                    rows = batch.join(requests, [pending.listen for pending in joining])
                    pending_of.update(zip(rows, joining, strict=True))
                if not batch.is_alive:
                    return
                if done := batch.step():
                    self._settle({pending_of.pop(row): row.completion() for row in done})

    def _next(self, count: int) -> Sequence[PendingRequest]:
        with self._lock:
            batch = [] if self._is_closed else list(islice(self._queue, count))
            self._begin(batch)
        return batch

    def _begin(self, batch: Sequence[PendingRequest]) -> None:
        for pending in batch:
            self._dequeue(pending)
            self._running[pending] = None

    def _settle(self, outcomes: Mapping[PendingRequest, Completion | ModelError]) -> None:
        with self._lock:
            callbacks = []
            for pending, outcome in outcomes.items():
                del self._running[pending]
                callbacks.append(pending._settle(outcome))
        _run(callbacks)


def _run(callbacks: Sequence[Callable[[], None] | None]) -> None:
    for callback in callbacks:
        if callback is not None:
            callback()
