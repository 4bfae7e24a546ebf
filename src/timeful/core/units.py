"""Simulated time: integer nanoseconds, and nothing else.

Floats enter and leave only here, so ten timeouts of 0.1 s end at exactly 1 s.
"""

from math import inf
from operator import index
from typing import TYPE_CHECKING, NewType, TypeVar, overload

if TYPE_CHECKING:
    # At run time both are plain integers, which the kernel adds fastest. A type checker sees two
    # classes whose arithmetic keeps points and spans apart.

    class Instant(int):
        """A point on the timeline, in nanoseconds since the episode began."""

        def __new__(cls, value: int, /) -> "Instant": ...  # noqa: D102
        @overload
        def __add__(self, time: "Duration", /) -> "Instant": ...
        @overload
        def __add__(self, time: int, /) -> int: ...
        def __add__(self, time: int, /) -> int: ...
        @overload
        def __sub__(self, time: "Instant", /) -> "Duration": ...
        @overload
        def __sub__(self, time: "Duration", /) -> "Instant": ...
        @overload
        def __sub__(self, time: int, /) -> int: ...
        def __sub__(self, time: int, /) -> int: ...

    class Duration(int):
        """A span in nanoseconds, never negative."""

        def __new__(cls, value: int, /) -> "Duration": ...  # noqa: D102
        @overload
        def __add__(self, time: Instant, /) -> Instant: ...
        @overload
        def __add__(self, time: "Duration", /) -> "Duration": ...
        @overload
        def __add__(self, time: int, /) -> int: ...
        def __add__(self, time: int, /) -> int: ...
        @overload
        def __sub__(self, time: "Duration", /) -> "Duration": ...
        @overload
        def __sub__(self, time: int, /) -> int: ...
        def __sub__(self, time: int, /) -> int: ...
        def __mul__(self, factor: int, /) -> "Duration": ...
        def __rmul__(self, factor: int, /) -> "Duration": ...
        @overload
        def __floordiv__(self, time: "Duration", /) -> int: ...  # type: ignore[overload-overlap]
        @overload
        def __floordiv__(self, time: int, /) -> "Duration": ...
        def __floordiv__(self, time: int, /) -> int: ...
        def __mod__(self, span: int, /) -> "Duration": ...

else:
    Instant = NewType("Instant", int)
    Duration = NewType("Duration", int)

N = TypeVar("N", bound=int)

START = Instant(0)
"""The instant at which every timeline begins."""

NO_TIME = Duration(0)
"""The span between an instant and itself."""

FAR = Instant(1 << 62)
"""An instant that no episode reaches: 146 years."""


def nanoseconds(value: int) -> Duration:
    """Make a duration from whole nanoseconds.

    Raises:
        ValueError: If `value` is negative.
    """
    if value < 0:
        raise ValueError(f"a duration must not be negative, got {value} ns")
    return Duration(value)


def seconds(value: float) -> Duration:
    """Convert seconds to a duration, rounded to the nearest nanosecond.

    Raises:
        ValueError: If `value` is negative, infinite, not a number, or beyond 146 years.
    """
    if not 0 <= value < inf:
        raise ValueError(f"a duration must be finite and not negative, got {value!r} s")
    if value >= FAR / 1_000_000_000:
        raise ValueError(f"a duration must be less than 146 years, got {value!r} s")
    return Duration(round(value * 1_000_000_000))


def milliseconds(value: float) -> Duration:
    """Convert milliseconds to a duration, as `seconds` does.

    Raises:
        ValueError: If `value` is negative, infinite or not a number.
    """
    return seconds(value / 1_000)


def whole(time: N) -> N:
    """Give back an instant or a duration, if it is one.

    Raises:
        TypeError: If it is no whole number, as seconds are that were never converted.
    """
    try:
        index(time)
    except TypeError:
        message = f"time is counted in whole nanoseconds, got {time!r}; use seconds(...)"
        raise TypeError(message) from None
    return time


def in_seconds(span: int) -> float:
    """Convert an instant or a duration to seconds, for people and for wall clocks."""
    return span / 1_000_000_000
