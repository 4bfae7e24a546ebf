"""Real work under way: a tool run, a network call, anything that another thread computes.

Every started call ends exactly once. *Completed*: it came back. *Cancelled*: it was abandoned
and stopped. *Orphaned*: it was abandoned and could not be stopped, so it ran on for nobody;
whatever it did to the outside world stays done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal, TypeVar

from timeful.core.activity import STREAM, WORK, CancelledActivityError, Event

if TYPE_CHECKING:
    from timeful.core.kernel import Kernel

T = TypeVar("T")
CallState = Literal["running", "completed", "cancelled", "orphaned"]


class Call(Event[T]):
    """A call under way; awaiting it gives what it returned or raises what it raised.

    Under virtual time it takes no simulated time: the instant waits for it. That holds also
    when it was abandoned, since work whose end nobody awaits could still change the world
    behind the kernel's back. Under a wall clock it comes back when it comes back.

    Attributes:
        state: How it ended; `cause` says why it was abandoned, if it was.
    """

    __slots__ = ("_future", "_stop", "cause", "name", "state")

    def __init__(
        self,
        kernel: Kernel,
        work: Callable[[], T],
        *,
        stop: Callable[[], None] | None,
        name: str,
    ) -> None:
        super().__init__(kernel)
        self._future: Future[T] = Future()
        self._stop = stop
        self.name = name
        self.state: CallState = "running"
        self.cause: object = None
        # A daemon, so that a tool that hangs cannot keep the process from ending. Before the
        # rest, since a thread that cannot be started must not be waited for.
        threading.Thread(target=_run, args=(work, self._future), name=name, daemon=True).start()
        kernel._calls[self] = None
        if kernel._log is not None:
            kernel._log(kernel.now, "start", name)
        if kernel._wall is None:
            kernel._push(kernel.now, WORK, self)
        else:
            kernel._awaited.add(self)
            self._future.add_done_callback(lambda _: kernel._post(STREAM, self))

    def __repr__(self) -> str:
        return f"<call {self.name!r} {self.state}>"

    def abandon(self, cause: object = None) -> bool:
        """Want it no longer: stop it if it can be stopped, else let it run on for nobody.

        Returns:
            Whether it was still running.
        """
        if self.done or self.cause is not None:
            return False
        self.cause = cause or "abandoned"
        if self._stop is not None:
            self._stop()
        return True

    def _fire(self) -> None:
        if self.done:
            return
        error = self._future.exception()  # waits in real time, under virtual time
        self._settle(None if error is not None else self._future.result(), error)

    def _leave(self) -> None:
        """The timeline is closed around it."""
        if not self.done:
            self.abandon("the timeline was closed")
            self._settle(None, CancelledActivityError(f"call {self.name!r} was left behind"))

    def _settle(self, value: T | None, error: BaseException | None) -> None:
        if self.cause is None:
            self.state = "completed"
        else:
            self.state = "orphaned" if self._stop is None else "cancelled"
        kernel = self._kernel
        kernel._calls.pop(self, None)
        kernel._awaited.discard(self)
        if kernel._log is not None:
            kernel._log(kernel.now, self.state, self.name)
        if error is not None and self.cause is None and not self._waiters:
            kernel._keep_failure(error)
        self._happen(value, error)


def _run(work: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the call
        future.set_exception(error)
