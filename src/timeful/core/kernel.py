"""The timeline. Read this file first.

A heap of (instant, order, target), where order is rank and serial in one integer, and targets
are activities (coroutines), streams (thoughts on their way) and calls (real work under way).
Two rules make virtual time honest while models and tools run for real:

* **Time stands still while somebody computes.** A call that was started at an instant has to
  come back before time passes that instant; calls are taken in the order of their start, so no
  result depends on which network was faster.
* **Time passes to T only when every running stream is known up to T.** After each chunk the
  kernel pulls the next one, waiting in real time if it must, and so learns the instant of it.

Under a wall clock the same programs run; then nobody is waited for, and what arrives from
outside happens when it arrives.
"""

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from operator import index
from types import coroutine
from typing import Any, Protocol, TypeVar

from timeful.core.activity import (
    ACTIVITY,
    DEADLINE,
    WORLD,
    Activity,
    AnyOf,
    Deadline,
    Event,
    Interrupted,
)
from timeful.core.call import Call
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.core.inlet import Inlet
from timeful.core.instruments import Log
from timeful.core.source import Source
from timeful.core.stream import Pacing, Stream, StreamObserver
from timeful.core.units import NO_TIME, START, Duration, Instant
from timeful.errors import KernelError

T = TypeVar("T")
_RANK = 1 << 48  # room for 2.8e14 serials below each rank
_SWEEP = 1 << 10  # stale heap entries that are not worth a sweep


class _Target(Protocol):
    _ticket: int

    def _fire(self) -> None: ...


class Kernel:
    """Runs activities on one timeline.

    Args:
        clock: A `VirtualClock` (the default) or a `WallClock`.
        log: Called for every event of the kernel; see `timeful.core.instruments`.

    Attributes:
        now: The instant of what is happening.
        current: The activity that is running, or None between activities.
        behind: The greatest delay of an event after its instant on a wall clock.
    """

    def __init__(self, clock: Clock | None = None, *, log: Log | None = None) -> None:
        self.clock: Clock = clock or VirtualClock()
        self.now = START
        self.current: Activity[Any] | None = None
        self.behind = NO_TIME
        self._log = log
        self._wall = self.clock if isinstance(self.clock, WallClock) else None
        self._heap: list[tuple[Any, int, _Target]] = []  # instant, order, target
        self._serial = 0
        self._stale = 0  # entries called off since the last sweep
        self._driving = False
        self._living: dict[Activity[Any], None] = {}
        self._streams: dict[Stream, None] = {}
        self._calls: dict[Call[Any], None] = {}
        self._inlets: dict[Inlet[Any], None] = {}
        self._failure: BaseException | None = None
        self._posted: deque[tuple[Instant, int, _Target]] = deque()
        self._awaited: set[_Target] = set()  # whose posts a run waits for
        self._condition = threading.Condition()

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what activities use -----------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, T], *, name: str = "") -> Activity[T]:
        """Start an activity; it runs from this instant on, after those already due."""
        activity = Activity(self, work, name or getattr(work, "__name__", "activity"))
        self._living[activity] = None
        self._push(self.now, ACTIVITY, activity)
        if self._log is not None:
            self._log(self.now, "start", activity.name)
        return activity

    def sleep(self, span: Duration) -> Coroutine[Any, Any, None]:
        """Wait for a span, counted from the instant at which this is awaited.

        Raises:
            ValueError: If the span is negative.
            TypeError: If it is not a whole number of nanoseconds.
        """
        if span < 0:
            raise ValueError(f"cannot sleep a negative span: {span} ns")
        return _sleep(index(span))

    def sleep_until(self, at: Instant) -> Coroutine[Any, Any, None]:
        """Wait until an instant; one that has passed already means this one."""
        return _wake((index(at), ACTIVITY))

    def world_turn(self, at: Instant) -> Coroutine[Any, Any, None]:
        """Wait until an instant, and until everybody else at that instant is done with it."""
        return _wake((index(at), WORLD))

    def event(self) -> Event[Any]:
        """Make an event that happens when somebody calls its `set`."""
        return Event(self)

    def timer(self, at: Instant) -> Event[None]:
        """Make an event that happens at an instant, after the activities of that instant."""
        timer: Event[None] = Event(self)
        self._push(max(index(at), self.now), DEADLINE, timer)
        return timer

    async def wait_any(
        self, *events: Event[Any], deadline: Instant | None = None
    ) -> tuple[Event[Any], ...]:
        """Wait for the first of several events.

        Args:
            events: What to wait for; activities, streams, calls and plain events.
            deadline: Wait no longer than this; what happens at this very instant still counts.

        Returns:
            Those that have happened by now, in the order given; empty if the deadline came first.

        Raises:
            ValueError: If there is nothing to wait for.
        """
        if deadline is None:
            if not events:
                raise ValueError("wait_any needs an event or a deadline")
            await AnyOf(self, events)
        else:
            timer = self.timer(deadline)
            try:
                await AnyOf(self, (*events, timer))
            finally:
                self._call_off(timer)
        return tuple(event for event in events if event.done)

    async def wait_all(self, *events: Event[T]) -> tuple[T, ...]:
        """Wait for all of several events and return their values in the order given.

        Raises:
            BaseException: The first error in the order given.
        """
        pending = tuple(event for event in events if not event.done)
        while pending:
            await AnyOf(self, pending)
            pending = tuple(event for event in pending if not event.done)
        return tuple(event.result() for event in events)

    @contextmanager
    def deadline(self, at: Instant) -> Generator[Deadline, None, None]:
        """Interrupt the block within when an instant comes; it is then left quietly.

        What the block finishes at this very instant still counts. Ask `passed` afterwards.
        """
        if self.current is None:
            raise KernelError("a deadline needs a running activity")
        deadline = Deadline(self.current)
        self._push(max(index(at), self.now), DEADLINE, deadline)
        try:
            yield deadline
        except Interrupted as signal:
            if signal.cause is not deadline:
                raise
        finally:
            self._call_off(deadline)

    def call(
        self, work: Callable[[], T], *, stop: Callable[[], None] | None = None, name: str = "call"
    ) -> Call[T]:
        """Start real work in a thread; under virtual time the instant waits for it.

        Args:
            work: What to run.
            stop: Makes running work come back early; called when the call is abandoned.
            name: For the log.
        """
        return Call(self, work, stop=stop, name=name)

    async def hold(
        self, work: Callable[[], T], *, stop: Callable[[], None] | None = None, name: str = "call"
    ) -> T:
        """Do real work and wait for it; an interruption abandons it. Arguments as for `call`."""
        call = self.call(work, stop=stop, name=name)
        try:
            return await call
        except Interrupted as signal:
            call.abandon(signal.cause)
            raise

    def stream(
        self,
        source: Source,
        *,
        pacing: Pacing | None,
        name: str = "stream",
        observer: StreamObserver | None = None,
    ) -> Stream:
        """Start a thought now.

        Args:
            source: Where its chunks come from.
            pacing: The span from the start until the n-th token; None lets chunks arrive when
                they arrive, which needs a wall clock.
            name: For the log.
            observer: Told of every chunk and of the end.

        Raises:
            KernelError: If there is no pacing and no wall clock.
        """
        if pacing is None and self._wall is None:
            raise KernelError("a stream under virtual time needs a pace; calibrate the model")
        return Stream(self, source, pacing=pacing, name=name, observer=observer)

    def inlet(self, observer: Callable[[T], None], *, name: str = "inlet") -> Inlet[T]:
        """Open a door for what comes from outside.

        Args:
            observer: Told of every value, at the instant of its arrival and in that order.
            name: For the log.
        """
        return Inlet(self, observer, name)

    # --- what drives them --------------------------------------------------------------------

    def go_live(self, clock: WallClock, *, at: Instant | None = None) -> None:
        """Hand a timeline that is at rest over to a wall clock; the next run continues under it.

        Args:
            clock: The clock.
            at: The instant that the clock shows from now on; None means this one, from the next
                run on. At a later one, all that is due until then happens at once, at its
                own instants.

        Raises:
            ValueError: If `at` has passed.
            KernelError: If the timeline is running.
        """
        if self._driving:
            raise KernelError("a running timeline cannot change its clock; let run return first")
        if at is not None:
            if index(at) < self.now:
                raise ValueError(f"cannot go live at {at} ns: it is {self.now} ns already")
            clock.start(at)
        self.clock = self._wall = clock

    def run(self, until: Instant | None = None) -> None:
        """Run until nothing is left to do, or through the instant `until`.

        Raises:
            ValueError: If `until` has passed.
            KernelError: If the timeline is running already.
            BaseException: What an activity failed with while nobody waited for it.
        """
        if until is not None and index(until) < self.now:
            raise ValueError(f"cannot run until {until} ns: it is {self.now} ns already")
        self._drive(until, None)
        if until is not None:
            self.now = max(until, self.now)

    def run_until(self, event: Event[T]) -> T:
        """Run until an event has happened, and return its value.

        Raises:
            KernelError: If everything came to rest and it had not happened.
            BaseException: The error it happened with, or as for `run`.
        """
        self._drive(None, event)
        if not event.done:
            raise KernelError(f"the timeline came to rest before {event!r} happened")
        return event.result()

    def _drive(self, until: Instant | None, goal: Event[Any] | None) -> None:
        if self._driving:
            raise KernelError("the timeline is running already; within it, await instead")
        if self._wall is not None:
            self._wall.start(self.now)
        self._driving = True
        try:
            self._loop(until, goal)
        finally:
            self._driving = False

    def _loop(self, until: Instant | None, goal: Event[Any] | None) -> None:
        heap, log = self._heap, self._log
        while goal is None or not goal.done:
            if not heap:
                if self._outside(until):
                    continue
                return
            at, order, target = heap[0]
            if target._ticket != order:  # stale: it was interrupted, cancelled or closed
                heappop(heap)
                continue
            if at > self.now:
                due = at if until is None or at < until else until
                if self._wall is not None and self._outside(due):
                    continue
                if due < at:
                    return
                self.now = at
            heappop(heap)
            if log is not None and type(target) is Activity:
                log(self.now, "resume", target.name)
            target._fire()
            if self._failure is not None:
                self._raise_failure()

    def close(self) -> None:
        """End everything that still runs: activities first, then streams and calls as orphans.

        Raises:
            KernelError: If it is called from within, or a clean-up waits for something.
            Exception: The first error in a clean-up; everything else is ended all the same.
        """
        if self._driving:
            raise KernelError("the timeline cannot be closed from within; let run return first")
        while living := self._living or self._streams or self._calls or self._inlets:
            target, _ = living.popitem()
            try:
                target._leave()
            except Exception as error:  # noqa: BLE001 - raised when all the rest is ended
                self._keep_failure(error)
        self._heap.clear()
        self._raise_failure()

    # --- inside ------------------------------------------------------------------------------

    def _push(self, at: int, rank: int, target: _Target) -> None:
        self._serial = serial = self._serial + 1
        order = target._ticket = rank * _RANK + serial
        heappush(self._heap, (at, order, target))

    def _call_off(self, target: _Target) -> None:
        """Make the heap entry of a target stale, and sweep the heap once half of it may be."""
        target._ticket = -1
        self._stale += 1
        if self._stale > _SWEEP and self._stale * 2 > len(self._heap):
            self._stale = 0
            self._heap[:] = [entry for entry in self._heap if entry[2]._ticket == entry[1]]
            heapify(self._heap)

    def _post(self, rank: int, target: _Target) -> None:
        """Let a target fire at the present instant of the wall clock; called from any thread."""
        with self._condition:
            at = self.now if self._wall is None else self._wall.now()
            self._posted.append((at, rank, target))
            self._condition.notify_all()

    def _outside(self, until: Instant | None) -> bool:
        """Let real time pass to `until`; return early, and True, when something is posted."""
        wall = self._wall
        if wall is None:
            return False
        with self._condition:
            while not self._posted:
                if not self._awaited and until is None:
                    return False
                if until is not None and self._has_come(until, wall):
                    return False
                wall.wait(self._condition, until)
            at, rank, target = self._posted[0]
            if until is not None and at > until and self._has_come(until, wall):
                return False  # it comes later than what is due: pushed then, in its order
            self._posted.popleft()
        self._awaited.discard(target)
        # What was due before it arrived comes first, however late the kernel is.
        self._push(max(self.now, at), rank, target)
        return True

    def _has_come(self, at: Instant, wall: WallClock) -> bool:
        late = wall.lateness(at)
        self.behind = max(self.behind, late)
        return late >= 0

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _keep_failure(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error


@coroutine
def _sleep(span: int) -> Generator[int, None, None]:
    yield span


@coroutine
def _wake(key: tuple[int, int]) -> Generator[tuple[int, int], None, None]:
    yield key
