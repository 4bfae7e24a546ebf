"""Many threads ask, one thread samples: who waits with whom.

Two policies. *Together* is for rollouts: nothing is sampled until every seat waits, and then all
that was asked for is one batch, in the order of the seats. So batches are the same each time,
whatever the machine is doing. *At once* is for servers: there is one batch, whatever waits joins it
before its next token, and each is answered when it is done.

A seat is an episode's, or a client's. Under *together* it waits while one of its threads waits for
a request that is not answered; it then asked for all that it asks for at that instant, since an
episode opens its thoughts before it waits for any. A seat that is left, because its episode has
ended or failed, is waited for no more.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

from timeful.errors import ModelError
from timeful.models.local.request import Completion, Drawn, Listener, Request

if TYPE_CHECKING:
    from timeful.models.local.sampler import Row, Sampler

Policy = Literal["together", "at once"]

MOST_WAITING = 4096
"""Requests that may wait under *at once*; whoever comes then had better come back."""


class PendingRequest:
    """A request on its way; made by `Slot.submit`."""

    def __init__(self, seat: Slot, request: Request, listener: Listener | None) -> None:
        self.request = request
        self._seat = seat
        self._listener = listener
        self._outcome: Completion | ModelError | None = None
        self._done = threading.Event()
        self._notify: Callable[[], None] | None = None
        self._is_wanted = True

    def result(self) -> Completion:
        """What came of it, waiting until it is known.

        Raises:
            ModelError: If it could not be answered, was withdrawn, or the batcher was closed.
        """
        if not self._done.is_set():
            self._seat._batcher._await(self)
        if isinstance(self._outcome, ModelError):
            raise self._outcome
        assert self._outcome is not None, "a ticket that is done has an outcome"
        return self._outcome

    def when_done(self, notify: Callable[[], None]) -> None:
        """Call `notify` once, from any thread, when `result` would not wait.

        Until then its seat waits, as in `result`.
        """
        with self._seat._batcher._lock:
            if not self._done.is_set():
                self._notify = notify
                self._seat._waiting += 1
                self._seat._batcher._changed.notify_all()
                return
        notify()

    def withdraw(self) -> None:
        """Want it no longer; harmless at any time, also while it is being answered."""
        self._seat._batcher._withdraw([self])

    def hear(self, drawn: Drawn) -> bool:
        """Pass a token on, and say whether more are wanted."""
        wanted = self._is_wanted
        if wanted and self._listener is not None:
            wanted = self._listener(drawn)
        return wanted

    def _settle(self, outcome: Completion | ModelError) -> Callable[[], None] | None:
        """Take the outcome, if it is the first; returns whom to tell, outside of the lock."""
        if self._outcome is not None:
            return None
        self._outcome = outcome
        self._done.set()
        notify, self._notify = self._notify, None
        if notify is not None:
            self._seat._waiting -= 1
        return notify


class Slot:
    """Whose requests these are; a context manager that leaves."""

    def __init__(self, batcher: Batcher, place: int) -> None:
        self._batcher = batcher
        self._place = place
        self._waiting = 0  # threads of it, and those who want to be told
        self._asked = 0  # requests that no batch has taken yet
        self._has_left = False

    @property
    def streams(self) -> bool:
        """Whether listeners are told of tokens while they are drawn, or of none."""
        return self._batcher.policy == "at once"

    @property
    def policy(self) -> int:
        """Which version of the weights answers now."""
        return self._batcher.sampler.policy

    def submit(self, request: Request, *, listener: Listener | None = None) -> PendingRequest:
        """Ask, and return at once.

        Args:
            request: What is asked.
            listener: Told of each token in the sampling thread; under *at once* only. It must
                not wait.

        Raises:
            ModelError: If the seat was left or the batcher closed, the prompt does not fit, or too
                many wait.
        """
        self._batcher.sampler.check(request)
        ticket = PendingRequest(self, request, listener)
        self._batcher._submit(self, ticket)
        return ticket

    def leave(self) -> None:
        """Nobody waits for this seat any more; what it asked for is withdrawn."""
        self._batcher._leave(self)

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Batcher:
    """Gathers requests into batches, and has them answered in a thread of its own.

    A context manager that closes.

    Args:
        sampler: Who samples.
        policy: Who waits with whom.
    """

    def __init__(self, sampler: Sampler, *, policy: Policy = "at once") -> None:
        self.sampler = sampler
        self.policy: Policy = policy
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._asked: dict[PendingRequest, None] = {}  # that no batch has taken yet, in order
        self._seats: dict[Slot, None] = {}  # that are waited for
        self._taken = 0
        self._running: dict[PendingRequest, None] = {}
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def seats(self, count: int) -> Sequence[Slot]:
        """Take so many seats at once, in order.

        Under *together* all of them are waited for from now on, until each is left: an episode
        in a thread of its own for each, and no fewer threads than seats.

        Raises:
            ModelError: If the batcher was closed.
        """
        with self._lock:
            self._check_open()
            taken = [Slot(self, self._taken + i) for i in range(count)]
            self._taken += count
            if self.policy == "together":
                self._seats.update(dict.fromkeys(taken))
            if self._thread is None:
                # A daemon, or the process of whoever forgets to close would never end; and closed
                # before it ends, since torch aborts a process that ends while it computes.
                self._thread = threading.Thread(target=self._work, name="sampler", daemon=True)
                self._thread.start()
                atexit.register(self.close)
        return taken

    def close(self) -> None:
        """Answer nothing more and wake everybody who waits; harmless when called again.

        Returns when nothing is sampled any more.
        """
        atexit.unregister(self.close)
        with self._lock:
            self._is_closed = True
            waiting = [*self._running, *self._asked]
        self._withdraw(waiting)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the threads that ask ----------------------------------------------------------------

    def _submit(self, seat: Slot, ticket: PendingRequest) -> None:
        with self._lock:
            self._check_open()
            if seat._has_left:
                raise ModelError("a seat that was left asks for nothing more")
            if self.policy == "at once" and len(self._asked) >= MOST_WAITING:
                raise ModelError(f"{MOST_WAITING} requests wait already: ask again later")
            self._asked[ticket] = None
            seat._asked += 1
            if self.policy == "at once":
                self._changed.notify_all()

    def _await(self, ticket: PendingRequest) -> None:
        seat = ticket._seat
        with self._lock:
            seat._waiting += 1
            if seat._waiting == 1:
                self._changed.notify_all()
        try:
            ticket._done.wait()
        finally:
            with self._lock:
                seat._waiting -= 1

    def _withdraw(self, tickets: Sequence[PendingRequest]) -> None:
        with self._lock:
            notify = []
            for ticket in tickets:
                ticket._is_wanted = False
                if ticket in self._asked:
                    self._take(ticket)
                why = "the sampler was closed" if self._is_closed else "the request was withdrawn"
                notify.append(ticket._settle(ModelError(why)))
            self._changed.notify_all()
        _tell(notify)

    def _leave(self, seat: Slot) -> None:
        with self._lock:
            seat._has_left = True
            self._seats.pop(seat, None)
            asked = [ticket for ticket in self._asked if ticket._seat is seat]
        self._withdraw(asked)

    def _take(self, ticket: PendingRequest) -> None:
        del self._asked[ticket]
        ticket._seat._asked -= 1

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
                batch = list(self._asked)
                if self.policy == "together":
                    # By seats: who asked first is up to the machine, within a seat it is not.
                    batch.sort(key=lambda ticket: ticket._seat._place)
                    self._begin(batch)
            try:
                if self.policy == "together":
                    outcomes = self.sampler.generate([ticket.request for ticket in batch])
                    self._settle(dict(zip(batch, outcomes, strict=True)))
                else:
                    self._answer_all()
            except Exception as error:  # noqa: BLE001 - every kind of failure belongs to who asked
                failure = ModelError(f"the sampler failed: {type(error).__name__}: {error}")
                failure.__cause__ = error
                self._settle(dict.fromkeys(self._running, failure))

    def _is_ready(self) -> bool:
        if self.policy == "at once":
            return bool(self._asked)
        # Who was just answered may still be on the way out of its wait: it then asks for nothing.
        return bool(self._seats) and all(one._waiting and one._asked for one in self._seats)

    def _answer_all(self) -> None:
        """Answer whoever waits, and whoever comes meanwhile, until nobody is left."""
        of: dict[Row, PendingRequest] = {}
        with self.sampler.batch() as batch:
            while True:
                if new := self._next(batch.free):
                    asked, listeners = [one.request for one in new], [one.hear for one in new]
                    of.update(zip(batch.join(asked, listeners), new, strict=True))
                if not batch.is_alive:
                    return
                if done := batch.step():
                    self._settle({of.pop(row): row.completion() for row in done})

    def _next(self, count: int) -> Sequence[PendingRequest]:
        """Take up to so many of those who wait, who came first."""
        with self._lock:
            new = [] if self._is_closed else list(islice(self._asked, count))
            self._begin(new)
        return new

    def _begin(self, batch: Sequence[PendingRequest]) -> None:
        for ticket in batch:
            self._take(ticket)
            self._running[ticket] = None

    def _settle(self, outcomes: Mapping[PendingRequest, Completion | ModelError]) -> None:
        with self._lock:
            notify = []
            for ticket, outcome in outcomes.items():
                del self._running[ticket]
                notify.append(ticket._settle(outcome))
        _tell(notify)


def _tell(notify: Sequence[Callable[[], None] | None]) -> None:
    for one in notify:
        if one is not None:
            one()
