"""What can be seen of a task with tools: the case, its tools, and the time that counts."""

from dataclasses import dataclass
from typing import Any

from timeful.core.units import Duration, Instant, in_seconds
from timeful.tools import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedView:
    """All that the agent can see, as it was at an instant: that of the latest event.

    How well it does is not part of it, unless a tool of the task says so.

    Attributes:
        at: The instant.
        turn: How much has happened.
        opening: The case in words.
        tools: What can be called.
        budget: The time there is in all; None if none is named.
        elapsed: The time that counted so far.
        running: The tool that runs now; empty if none does.
        over: Why nothing more can be done: "answered", "ended" or "deadline"; else empty.
    """

    at: Instant
    turn: int
    opening: str
    tools: tuple[ToolSpec, ...]
    budget: Duration | None
    elapsed: Duration
    running: str = ""
    over: str = ""

    def text(self) -> str:
        """One line of time, then the case."""
        of = "" if self.budget is None else f" of {in_seconds(self.budget):.2f}"
        running = f", {self.running} is running" if self.running else ""
        end = f", over: {self.over}" if self.over else ""
        return f"time {in_seconds(self.elapsed):.2f}{of} s{running}{end}\n{self.opening}"

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values, times in nanoseconds; the case and tools by name only."""
        return {
            "at": self.at,
            "elapsed": self.elapsed,
            "budget": self.budget,
            "tools": [tool.name for tool in self.tools],
            "running": self.running,
            "over": self.over,
        }
