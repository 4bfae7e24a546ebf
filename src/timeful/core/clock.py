"""Two clocks: one jumps, one waits. The only file that asks the operating system for the time."""

import threading
import time
from collections.abc import Callable
from math import inf, isfinite

from timeful.core.units import START, Instant


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

    def wait(self, condition: threading.Condition, until: Instant | None) -> None:
        """Wait on a held condition until it is notified or the clock shows `until`."""
        if until is None:
            self._wait(condition, None)
        else:
            # Rounded up: waking early would only mean waiting again.
            real_ns = (until - self.now()) / self._scale
            if real_ns > 0:
                self._wait(condition, min((real_ns + 1) / 1e9, threading.TIMEOUT_MAX))


Clock = VirtualClock | WallClock
