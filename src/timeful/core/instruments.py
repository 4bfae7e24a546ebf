"""Watching the kernel from outside, without changing what it does."""

from collections.abc import Callable

from timeful.core.units import Instant

Log = Callable[[Instant, str, str], None]
"""Called with an instant, what happened, and the name of whom it happened to.

What happened is one of: start, completed, cancelled, failed, orphaned; of activities also resume
(woken, its first step included) and interrupt; of thoughts also paused and running (again); of
inlets arrive.
"""


class EventLog:
    """Keeps every event of a kernel, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[Instant, str, str]] = []

    def __call__(self, at: Instant, event: str, name: str) -> None:
        """Keep one event."""
        self.events.append((at, event, name))
