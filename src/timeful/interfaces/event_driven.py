"""Event-driven: the Engagement Process itself. What happens is seen when it happens.

| question | answer |
| --- | --- |
| when is an event visible? | at once |
| who reacts first? | the agent |
| what is interruptible? | a thought it is engaged in, at the instant of the event |
| what if no action came? | the world goes on by itself |
| does thinking stop the world? | no |

Engagement Process, sections 3.1 and 5.2; "EP" in its tables.
"""

from typing import Any, Literal

from timeful.core.activity import Interrupted
from timeful.core.kernel import Kernel
from timeful.core.units import FAR, START
from timeful.environments.environment import Environment, Living
from timeful.interfaces.visibility import Visibility
from timeful.records.recorder import Recorder

_AIM = "what comes next has changed"


class EventDriven(Visibility):
    """Lets a world that moves by itself move at its own instants.

    Args:
        kernel: The timeline; the world starts now.
        environment: The world, at its start.
        recorder: Where the world's events are written.
        full: Whether the record holds the states that the agent saw.
    """

    def __init__(
        self, kernel: Kernel, environment: Environment, recorder: Recorder, *, full: bool = True
    ) -> None:
        super().__init__(kernel, environment, recorder, full=full)
        self._origin = kernel.now - START
        self._aim()
        self.world = kernel.start(self._live(), name="world")
        if isinstance(environment, Living):  # those in it begin when it already turns
            environment.live(kernel, recorder, self._aim_anew)

    def act(self, action: Any) -> None:
        """Intervene now; at the instant of an event, before it.

        Raises:
            IllegalActionError: If the world has no such action, or not now.
        """
        self._intervene(action, by="agent")

    def _intervene(self, action: Any, *, by: Literal["agent", "reflex"]) -> None:
        self._environment.intervene((action,), at=self._kernel.now - self._origin)
        self._record_act(action, by=by)
        self._aim_anew()

    async def _live(self) -> None:
        while not self.over:
            try:
                await self._kernel.world_turn(self._due)
            except Interrupted as signal:
                if signal.cause is not _AIM:
                    raise
                continue
            self._move(self._kernel.now - self._origin)
            self._aim()

    async def _settle(self) -> None:
        """Wait until the world has done all that it does at this instant."""
        while self._due <= self._kernel.now and not self.over:
            await self._kernel.world_turn(self._kernel.now)

    def _aim_anew(self) -> None:
        due = self._due
        self._aim()
        if self._due != due:
            self.world.interrupt(_AIM)

    def _aim(self) -> None:
        change, tick = self._environment.next_change(), self._environment.next_tick
        # A world that an intervention ended has still to move, now, for its end to be seen.
        self._due = self._kernel.now if change is None else self._origin + change
        self.next_tick = FAR if tick is None else self._origin + tick
