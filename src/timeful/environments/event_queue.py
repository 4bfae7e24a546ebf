"""A queue of events that will happen in a world, ordered by instant."""

from heapq import heappop, heappush
from typing import Generic, TypeVar

from timeful.core.units import Instant

T = TypeVar("T")


class EventQueue(Generic[T]):
    """Events to come; those of one instant are in the order in which they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, T]] = []
        self._serial = 0

    def add(self, at: Instant, event: T) -> None:
        """Add an event that will happen at an instant."""
        self._serial += 1
        heappush(self._heap, (at, self._serial, event))

    @property
    def next(self) -> Instant | None:
        """The instant of the first event; None if the queue is empty."""
        return self._heap[0][0] if self._heap else None

    def take(self, to: Instant) -> tuple[Instant, T] | None:
        """Remove and return the first event that happens by an instant; None without one."""
        if self._heap and self._heap[0][0] <= to:
            at, _, event = heappop(self._heap)
            return at, event
        return None
