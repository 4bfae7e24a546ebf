"""A task: what is to be done, with which tools, and how well it was done.

A task knows nothing of time. The world around it (`world.py`) lets its tools take their time, and
makes what they do take effect when that time is over: a call that the deadline cuts has none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from timeful.core.units import Duration
from timeful.tools import ToolCall, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What real work came to.

    Attributes:
        took: How long it ran, in real nanoseconds; what a measured latency charges.
        result: For the task's own `finish`.
    """

    took: Duration
    result: Any


class Work(Protocol):
    """Real work of a tool, run in a thread while its call is under way."""

    def run(self) -> Done:
        """Do it, and return what it came to; it must not change the task."""
        ...

    def stop(self) -> None:
        """Make `run` come back early, from any thread; its result is then thrown away."""
        ...


class Task(Protocol):
    """One case of a benchmark, at its start or under way.

    Whatever depends on chance was drawn when it was made, so `reset` begins the same again.
    """

    @property
    def opening(self) -> str:
        """What the agent reads first: the case, without its time limit."""
        ...

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools it has, the timer aside."""
        ...

    @property
    def score(self) -> float:
        """How well it is done so far."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing more can be done."""
        ...

    def reset(self) -> None:
        """Go back to the start."""
        ...

    def begin(self, call: ToolCall, limit: Duration) -> Work | None:
        """Begin a call whose name and arguments are known to fit.

        Args:
            call: Which one.
            limit: The time that is left until the deadline; work that takes longer counts for
                nothing and may be stopped.

        Returns:
            The real work that it takes; None if there is hardly any, and `finish` does it all.
        """
        ...

    def finish(self, call: ToolCall, result: Any) -> str:
        """Let a call take effect, now that its time is over.

        Args:
            call: Which one.
            result: What its work came to; None if it had none.

        Returns:
            The reply, without the time.
        """
        ...

    def answer(self, text: str) -> None:
        """Take the agent's last words; the task is over then. Called once at most."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What else there is to know of how it went, as plain JSON values, for the record."""
        ...

    def close(self) -> None:
        """Let go of processes and files; harmless when called again."""
        ...
