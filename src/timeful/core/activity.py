"""Things to wait for, and coroutines that live on the timeline.

An `Event` happens once. An `Activity` is a coroutine driven by the kernel, and the event of its
own end. An interruption is a signal, not an error: `Interrupted` derives from `BaseException`,
carries its cause, and leaves its target free to clean up, to go on, or to end.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from timeful.core.units import Instant
from timeful.errors import NO_ASYNCIO, AgentError, KernelError

if TYPE_CHECKING:
    from timeful.core.kernel import Kernel

T = TypeVar("T")
State = Literal["running", "completed", "cancelled", "failed"]

# Ranks order what happens at one instant; docs/time.md gives the reason for each.
INTERRUPT, STREAM, ACTIVITY, WORK, DEADLINE, WORLD = range(6)


class Interrupted(BaseException):
    """Thrown into an activity at the point where it waits.

    Attributes:
        cause: Whatever the interrupter gave as its reason.
        at: The instant at which it was interrupted.
    """

    def __init__(self, cause: object, at: Instant) -> None:
        super().__init__(cause, at)
        self.cause = cause
        self.at = at


class CancelledActivityError(KernelError):
    """Somebody waited for an activity that was interrupted to its end."""


class Event(Generic[T]):
    """Something that happens once, with a value or an error; any number may wait for it."""

    __slots__ = ("__weakref__", "_error", "_kernel", "_ticket", "_value", "_waiters", "done")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ticket = -1  # of the one heap entry that counts; any other is stale
        self._value: T | None = None
        self._error: BaseException | None = None
        self._waiters: dict[_Waiter, None] = {}
        self.done = False

    def __repr__(self) -> str:
        # Without an address: messages end up in records, which are equal to the byte.
        return f"<{type(self).__name__.lower()} {'done' if self.done else 'ahead'}>"

    def __await__(self) -> Generator[object, Any, T]:
        if not self.done:
            yield self
        return self.result()

    def result(self) -> T:
        """The value it happened with.

        Raises:
            KernelError: If it has not happened yet.
            BaseException: The error it happened with.
        """
        if not self.done:
            raise KernelError(f"{self!r} has not happened yet")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def set(self, value: T) -> None:
        """Let it happen now; whoever waits is woken at this instant, in order of waiting.

        Raises:
            KernelError: If it has happened before.
        """
        self._happen(value, None)

    def _happen(self, value: T | None, error: BaseException | None) -> None:
        if self.done:
            raise KernelError(f"{self!r} happened twice")
        self.done = True
        self._value = value
        self._error = error
        self._ticket = -1
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            waiter._notify(self)

    def _subscribe(self, waiter: _Waiter) -> None:
        self._waiters[waiter] = None

    def _unsubscribe(self, waiter: _Waiter) -> None:
        self._waiters.pop(waiter, None)

    def _fire(self) -> None:
        """What happens when its heap entry comes up."""
        self._happen(None, None)


class AnyOf(Event[None]):
    """Happens with the first of several events; awaited once, where it is made."""

    __slots__ = ("_events",)

    def __init__(self, kernel: Kernel, events: tuple[Event[Any], ...]) -> None:
        super().__init__(kernel)
        self._events = events
        self.done = any(event.done for event in events)

    def _subscribe(self, waiter: _Waiter) -> None:
        super()._subscribe(waiter)
        for event in self._events:
            event._subscribe(self)

    def _unsubscribe(self, waiter: _Waiter) -> None:
        super()._unsubscribe(waiter)
        self._detach()

    def _notify(self, event: Event[Any]) -> None:
        self._detach()
        self._happen(None, None)

    def _detach(self) -> None:
        for event in self._events:
            event._unsubscribe(self)  # a long-lived event must not remember us


class Activity(Event[T]):
    """A coroutine on the timeline, and the event of its end.

    Awaiting it gives its result, or raises what it failed with; if it was interrupted and did
    not catch that, `CancelledActivityError`.
    """

    __slots__ = ("_coroutine", "_pending", "_waiting", "cause", "name", "state")

    def __init__(self, kernel: Kernel, coroutine: Coroutine[Any, Any, T], name: str) -> None:
        super().__init__(kernel)
        self._coroutine = coroutine
        self._pending: BaseException | None = None  # to be thrown in when it fires next
        self._waiting: Event[Any] | None = None
        self.name = name
        self.state: State = "running"
        self.cause: object = None
        """Why it was cancelled, if it was."""

    def __repr__(self) -> str:
        return f"<activity {self.name!r} {self.state}>"

    def interrupt(self, cause: object = None) -> bool:
        """Throw `Interrupted(cause)` into it, before anything else at this instant.

        What it was waiting for goes on; it may wait for it again. Two interruptions at one
        instant arrive one after the other, the second only if the first did not end it.

        Returns:
            Whether it was still running. Interrupting something finished does nothing.

        Raises:
            KernelError: If an activity interrupts itself: it should raise or return instead.
        """
        if self.done:
            return False
        kernel = self._kernel
        if kernel.current is self:
            raise KernelError(f"{self!r} cannot interrupt itself; return or raise instead")
        kernel._push(kernel.now, INTERRUPT, _Interruption(self, Interrupted(cause, kernel.now)))
        return True

    def _notify(self, event: Event[Any]) -> None:
        self._waiting = None
        self._kernel._push(self._kernel.now, ACTIVITY, self)

    def _deliver(self, signal: Interrupted) -> None:
        if self.done:
            return
        kernel = self._kernel
        if kernel._log is not None:
            kernel._log(kernel.now, "interrupt", self.name)
        if self._waiting is not None:
            self._waiting._unsubscribe(self)
            self._waiting = None
        kernel._call_off(self)  # a wake-up at this very instant loses to the interruption
        self._pending = signal
        self._fire()

    def _fire(self) -> None:
        kernel = self._kernel
        kernel.current = self
        try:
            if self._pending is None:
                target = self._coroutine.send(None)
            else:
                signal, self._pending = self._pending, None
                target = self._coroutine.throw(signal)
        except StopIteration as stop:
            self._end("completed", stop.value, None)
            return
        except Interrupted as signal:
            self._cancel(signal.cause)
            return
        except Exception as error:  # noqa: BLE001 - handed to whoever waits, else raised by run
            self._end("failed", None, error)
            return
        except BaseException as signal:  # to the program, such as KeyboardInterrupt
            self._cancel(type(signal).__name__)
            raise
        finally:
            kernel.current = None
        if type(target) is int:  # a sleep: the one case that must be fast
            kernel._push(kernel.now + target, ACTIVITY, self)
        elif type(target) is tuple:
            kernel._push(max(target[0], kernel.now), target[1], self)
        elif isinstance(target, Event) and target is not self:
            self._waiting = target
            target._subscribe(self)
        else:
            # Thrown in where it waits, so that the traceback shows the line.
            target_name = (
                "itself" if target is self else f"{type(target).__name__!r} from elsewhere"
            )
            self._pending = AgentError(
                f"{self!r} waited for {target_name}, which never happens on this timeline; "
                f"{NO_ASYNCIO}"
            )
            kernel._push(kernel.now, ACTIVITY, self)

    def _cancel(self, cause: object) -> None:
        self.cause = cause
        error = CancelledActivityError(f"activity {self.name!r} was cancelled: {cause}")
        self._end("cancelled", None, error)

    def _end(self, state: State, value: T | None, error: BaseException | None) -> None:
        kernel = self._kernel
        self.state = state
        kernel._living.pop(self, None)
        if kernel._log is not None:
            kernel._log(kernel.now, state, self.name)
        if state == "failed" and error is not None and not self._waiters:
            kernel._keep_failure(error)
        self._happen(value, error)

    def _leave(self) -> None:
        """The timeline is closed around it: it runs no further than its `finally` blocks."""
        waits = KernelError(f"{self!r} waited in its clean-up while the timeline was closed")
        if self._waiting is not None:
            self._waiting._unsubscribe(self)
            self._waiting = None
        try:
            self._coroutine.throw(GeneratorExit())
            self._coroutine.throw(waits)  # still here: thrown in where it waits
            raise waits
        except (GeneratorExit, StopIteration):
            pass
        finally:
            self._cancel("the timeline was closed")


class _Interruption:
    """The heap entry of an interruption on its way."""

    __slots__ = ("_activity", "_signal", "_ticket")

    def __init__(self, activity: Activity[Any], signal: Interrupted) -> None:
        self._activity = activity
        self._signal = signal
        self._ticket = -1

    def _fire(self) -> None:
        self._activity._deliver(self._signal)


class Deadline:
    """A deadline on a block, made by `Kernel.deadline`; the cause of its interruption."""

    __slots__ = ("_activity", "_ticket", "passed")

    def __init__(self, activity: Activity[Any]) -> None:
        self._activity = activity
        self._ticket = -1
        self.passed = False
        """Whether the deadline came before the block was done."""

    def __repr__(self) -> str:
        return f"<deadline {'passed' if self.passed else 'ahead'}>"

    def _fire(self) -> None:
        self.passed = True
        self._activity._deliver(Interrupted(self, self._activity._kernel.now))


_Waiter = Activity[Any] | AnyOf
