"""Fixed rate: the world ticks whether or not the agent is done thinking.

| question | answer |
| --- | --- |
| when is an event visible? | at the tick, and at the very tick: at once in a world of turns |
| who reacts first? | the agent: what it does at the very instant of a tick still counts |
| what is interruptible? | a thought it is engaged in, at a tick |
| what if no action came? | the world takes its default action |
| does thinking stop the world? | no |

Real-Time Reasoning Gym, section 2 (T_E and DEFAULT_ACTION).
"""

from timeful.core.kernel import Kernel
from timeful.core.stream import Stream
from timeful.core.units import FAR, NO_TIME, Duration
from timeful.environments.environment import Environment
from timeful.errors import SettingsError
from timeful.interfaces.event_driven import EventDriven
from timeful.records.recorder import Recorder


class FixedRate(EventDriven):
    """Shows a world at a fixed rate, while it moves by itself.

    Args:
        kernel: The timeline; the world starts now.
        environment: The world, at its start.
        recorder: Where the world's turns are written.
        period: The span between two ticks, above 0; None for a world with ticks of its own.
        full: Whether the record holds the states that the agent saw.

    Raises:
        SettingsError: If a world of turns is given a period, or another one none.
    """

    def __init__(
        self,
        kernel: Kernel,
        environment: Environment,
        recorder: Recorder,
        *,
        period: Duration | None = None,
        full: bool = True,
    ) -> None:
        own = environment.next_tick is not None
        if own and period is not None:
            raise SettingsError("a world of turns has its own period; use fixed-rate without one")
        if not own and (period is None or period <= 0):
            raise SettingsError(
                f"a world of events has no ticks, and the period is {period}: "
                "use event-driven, or fixed-rate with a period, as in fixed-rate:1s"
            )
        self._period = period
        self._beat = kernel.now + (period or NO_TIME)
        super().__init__(kernel, environment, recorder, full=full)
        if period is not None:
            kernel.start(self._beats(period), name="beats")

    async def finish(self) -> None:
        """Wait for the end of the action that is under way, and for the tick that shows it."""
        await super().finish()
        while self._hidden and not self.over:
            await self._change(None, FAR)

    def _is_over(self, stream: Stream | None, started: int) -> bool:
        return super()._is_over(stream, started) and (stream is not None or not self._hidden)

    def _is_open(self) -> bool:
        return self._period is None

    def _aim(self) -> None:
        super()._aim()
        if self._period is not None:
            self.next_tick = self._beat

    async def _beats(self, period: Duration) -> None:
        while not self.over:
            await self._kernel.world_turn(self._beat)
            await self._settle()  # what happens at the tick is seen at it
            if self.over:
                return  # its end has been shown
            self._beat = self.next_tick = self._beat + period
            self._calls += 1
            if self._hidden:
                self._reveal()
            else:
                self._tell()
