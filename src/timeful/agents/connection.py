"""The connection of an agent to a world, as an interface makes it."""

from collections.abc import Callable
from typing import Any, Protocol

from timeful.core.activity import Activity, Event
from timeful.core.kernel import Kernel
from timeful.core.stream import Stream
from timeful.core.units import Instant
from timeful.environments.environment import Environment, Observation
from timeful.environments.game import View
from timeful.records.recorder import Recorder


class Connection(Protocol):
    """A world as one agent sees it: when events become visible, and when control comes back."""

    world: Activity[None]
    """Moves the world; it ends when the world is over."""
    over: bool
    turn: int
    """The number of changes of the world that the agent may know of."""
    ticks: int
    """The number of times that something became visible."""
    restarts: int
    """The number of turns that put the agent back to where it began."""
    view: View
    """The latest state that the agent may see."""
    next_tick: Instant
    """When the world moves next, unless the agent makes it move earlier."""
    moved: Event[None]
    """Happens when something becomes visible next."""

    @property
    def busy(self) -> bool:
        """Whether an action that takes time is in progress."""
        ...

    @property
    def score(self) -> float:
        """The utility so far."""
        ...

    def act(self, action: Any) -> None:
        """Intervene.

        Raises:
            IllegalActionError: If the world has no such action.
        """
        ...

    def observe(self) -> tuple[Observation, ...]:
        """Take the observations that became visible since the last call."""
        ...

    async def wait_for_tick(self, since: int) -> None:
        """Wait until `ticks` is beyond a count, or the episode is over."""
        ...

    async def attend(self, stream: Stream, until: Instant | None = None) -> None:
        """Wait for the end of a thought, or for an instant."""
        ...

    async def run_until_event(self, stream: Stream | None, until: Instant) -> bool:
        """Continue something until it is over (True) or control comes back (False)."""
        ...

    async def finish(self) -> None:
        """Wait for the end of the action that is in progress."""
        ...


Interface = Callable[[Kernel, Environment, Recorder], Connection]
"""Connects an agent to a world, from now on; see `timeful.interfaces.make`."""
