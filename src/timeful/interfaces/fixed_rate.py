"""Fixed rate: the world ticks whether or not the agent is done thinking.

| question | answer |
| --- | --- |
| when is a change visible? | at once |
| who goes first at a tick? | the agent: what it does at that very instant still counts |
| what if no action came? | the world takes its default action |
| does thinking stop the world? | no |

Real-Time Reasoning Gym, section 2 (T_E and DEFAULT_ACTION).
"""

from timeful.core.kernel import Kernel
from timeful.core.units import Instant
from timeful.environments.environment import Environment
from timeful.interfaces.window import Window
from timeful.records.recorder import Recorder


class FixedRate(Window):
    """Lets a world that moves by itself move at its own instants.

    Args:
        kernel: The timeline; the world starts now.
        environment: The world, at its start.
        recorder: Where the world's turns are written.
        full: Whether states are written as well.
    """

    def __init__(
        self, kernel: Kernel, environment: Environment, recorder: Recorder, *, full: bool
    ) -> None:
        super().__init__(kernel, environment, recorder, full=full)
        self._origin = kernel.now
        self._pending: str | None = None
        self._aim()
        self.world = kernel.start(self._tick(), name="world")

    def act(self, action: str) -> None:
        """Intervene in the turn under way; the last action before the tick counts.

        Raises:
            IllegalActionError: If the world has no such action.
        """
        self._environment.intervene((action,))
        self._record_act(action)

    async def _tick(self) -> None:
        while not self.over:
            await self._kernel.world_turn(self.next_tick)
            self._move(Instant(self._kernel.now - self._origin))
            self._aim()

    def _aim(self) -> None:
        change = self._environment.next_change()
        if change is not None:
            self.next_tick = Instant(self._origin + change)
