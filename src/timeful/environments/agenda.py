"""What is to come in a world of events, in order."""

from heapq import heappop, heappush
from typing import Generic, TypeVar

from timeful.core.units import Instant

T = TypeVar("T")


class Agenda(Generic[T]):
    """Things that will happen, each at an instant; at one instant in the order of adding."""

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, T]] = []
        self._added = 0

    def add(self, at: Instant, what: T) -> None:
        """Put something on the agenda."""
        self._added += 1
        heappush(self._heap, (at, self._added, what))

    @property
    def next(self) -> Instant | None:
        """When the first of it happens; None if there is nothing."""
        return self._heap[0][0] if self._heap else None

    def take(self, to: Instant) -> tuple[Instant, T] | None:
        """Take the first thing that happens by an instant, if there is one."""
        if self._heap and self._heap[0][0] <= to:
            at, _, what = heappop(self._heap)
            return at, what
        return None
