"""What an interface gives an agent: when events become visible, and when control comes back."""

from typing import Protocol

from timeful.core.activity import Event
from timeful.core.stream import Stream
from timeful.core.units import Instant
from timeful.environments.environment import Observation
from timeful.environments.game import View


class Port(Protocol):
    """The side of an interface that faces the agent."""

    over: bool
    turn: int
    """How often the world has moved, as far as the agent may know."""
    ticks: int
    """How often something became visible."""
    restarts: int
    """How often a turn put the agent back to where it began."""
    view: View
    """The latest state that the agent may see."""
    next_tick: Instant
    """When the world moves next, unless the agent makes it move earlier."""
    moved: Event[None]
    """Happens when something becomes visible next."""

    @property
    def busy(self) -> bool:
        """Whether an action that lasts is under way."""
        ...

    def act(self, action: str) -> None:
        """Intervene.

        Raises:
            IllegalActionError: If the world has no such action.
        """
        ...

    def observe(self) -> tuple[Observation, ...]:
        """Take the observations that became visible since the last call."""
        ...

    async def tick(self, since: int) -> None:
        """Wait until `ticks` is beyond a count, or the episode is over."""
        ...

    async def attend(self, stream: Stream, until: Instant | None = None) -> None:
        """Wait for the end of a thought, or for an instant."""
        ...

    async def engage(self, stream: Stream | None, until: Instant) -> bool:
        """Go on with something until it is over (True) or control comes back (False)."""
        ...

    async def finish(self) -> None:
        """Wait for the end of the action that is under way."""
        ...
