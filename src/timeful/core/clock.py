"""Two clocks: one jumps, one waits. The only file that asks the operating system for the time."""

import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf, isfinite

from timeful.core.units import FAR, START, Duration, Instant


def monotonic_ns() -> int:
    """Real nanoseconds since an arbitrary beginning: for measuring, never for simulated time."""
    return time.monotonic_ns()  # noqa: TID251 - this is the one place


def cpu_seconds() -> float:
    """CPU seconds that this process has used, for operators and benchmarks."""
    return time.process_time()


def unix_seconds() -> int:
    """The date as seconds since 1970, for protocols that name it; never simulated time."""
    return int(time.time())  # noqa: TID251 - this is the one place


class VirtualClock:
    """Time jumps to the next event; nothing waits but for real work."""

    is_wall = False


def _wait(condition: threading.Condition, timeout_s: float | None) -> None:
    condition.wait(timeout_s)


class WallClock:
    """Time passes as the machine's does, `scale` times as fast.

    Args:
        scale: Simulated seconds per real second, above 0 and finite.
        read: A monotonic nanosecond counter; tests give their own.
        wait: Waits on a held condition for at most so many real seconds (None: until notified).

    Raises:
        ValueError: If the scale is not above 0 and finite.
    """

    is_wall = True

    def __init__(
        self,
        scale: float = 1.0,
        *,
        read: Callable[[], int] = monotonic_ns,
        wait: Callable[[threading.Condition, float | None], None] = _wait,
    ) -> None:
        if not (0 < scale < inf and isfinite(scale)):
            raise ValueError(f"a wall clock's scale must be above 0 and finite, got {scale!r}")
        self._scale = scale
        self._read = read
        self._wait = wait
        self._zero: int | None = None

    def start(self, at: Instant) -> None:
        """Let the clock show `at` now, unless it is running already."""
        if self._zero is None:
            self._zero = self._read() - round(at / self._scale)

    def now(self) -> Instant:
        """The instant that the clock shows; the beginning, until `start`."""
        if self._zero is None:
            return START
        return Instant(int((self._read() - self._zero) * self._scale))

    def lateness(self, at: Instant) -> Duration:
        """The span since an instant; below 0 if it is still to come."""
        return Duration(self.now() - at)

    def wait(self, condition: threading.Condition, until: Instant | None) -> None:
        """Wait on a held condition until it is notified or the clock shows `until`."""
        if until is None:
            self._wait(condition, None)
        else:
            # Rounded up: waking early would only mean waiting again.
            real_ns = (until - self.now()) / self._scale
            if real_ns > 0:
                self._wait(condition, min((real_ns + 1) / 1e9, threading.TIMEOUT_MAX))


class ScriptEnd(BaseException):
    """Nothing more comes on a scripted clock; a signal that ends the run, and no error."""


class ScriptedClock(WallClock):
    """A wall clock without a machine: what comes from outside is a script, and waiting is free.

    For replays and for tests of live worlds. What the timeline runs sees a wall clock; time jumps
    to what is due next, on the timeline or in the script. Real work in threads has no place here.

    Args:
        end: Time does not pass this instant: the run then ends with `ScriptEnd`. So does one that
            waits for something that is not in the script.
        lag: The span by which a wait is too long, as on a slow machine; None for none.
    """

    def __init__(self, *, end: Instant = FAR, lag: Callable[[], Duration] | None = None) -> None:
        super().__init__()
        self._agenda: list[tuple[Instant, int, Callable[[], None]]] = []
        self._serial = 0
        self._shown = START
        self._end = end
        self._lag = lag
        self._is_outside = False

    def at(self, at: Instant, work: Callable[[], None]) -> None:
        """Let something happen outside at an instant; at the same one, in the order of calls."""
        self._serial += 1
        heappush(self._agenda, (at, self._serial, work))

    def start(self, at: Instant) -> None:
        """Let the clock show `at`, unless it shows a later instant."""
        self._shown = max(self._shown, at)

    def now(self) -> Instant:
        """The instant of the script; within the timeline each look takes a nanosecond."""
        # As on a machine: what follows from an instant is later than that instant.
        if not self._is_outside:
            self._shown = Instant(self._shown + 1)
        return self._shown

    def lateness(self, at: Instant) -> Duration:
        """Below 0 while the script has something up to an instant; else time jumps to it."""
        if self._agenda and self._agenda[0][0] <= at:
            return Duration(-1)
        if at > self._end:
            raise ScriptEnd
        if self._shown < at:
            self._shown = at
            if self._lag is not None:
                self._pass(at + self._lag())
        return Duration(self._shown - at)

    def wait(self, condition: threading.Condition, until: Instant | None) -> None:
        """Let the next thing of the script happen, and all that is at its instant."""
        if not self._agenda:
            raise ScriptEnd
        self._pass(self._agenda[0][0])

    def _pass(self, to: Instant) -> None:
        self._is_outside = True
        while self._agenda and self._agenda[0][0] <= to:
            at, _, work = heappop(self._agenda)
            self._shown = max(self._shown, at)
            work()
        self._is_outside = False
        self._shown = max(self._shown, to)


Clock = VirtualClock | WallClock
