"""Reflex: what happens is seen at once, and the engine reacts before the agent can.

| question | answer |
| --- | --- |
| when is an event visible? | at once |
| who reacts first? | the engine, by a rule; then the agent gets control |
| what is interruptible? | a thought it is engaged in, at the instant of the event |
| what if no action came? | the world goes on by itself |
| does thinking stop the world? | no |

The engine reacts while the agent is engaged in something or waits; what happens while it acts
itself is left to it. Engagement Process, section 5.2.2 and appendix E, "ReflexPatch".
"""

from collections.abc import Callable

from timeful.core.kernel import Kernel
from timeful.core.stream import Stream
from timeful.core.units import FAR, Duration, Instant
from timeful.environments.environment import Environment
from timeful.environments.game import View
from timeful.errors import SettingsError
from timeful.interfaces.event_driven import EventDriven
from timeful.records.recorder import Recorder

Rule = Callable[[View], str | None]
"""What to do about a view, if anything: an action that is legal there."""


class Reflex(EventDriven):
    """Applies a rule to each event before control comes back to the agent.

    Args:
        kernel: The timeline; the world starts now.
        environment: The world, at its start.
        recorder: Where the world's events are written.
        rule: The reaction.
        delay: How long the engine takes to react, 0 or more.
        full: Whether states are written as well.

    Raises:
        SettingsError: If the delay is negative.
    """

    def __init__(
        self,
        kernel: Kernel,
        environment: Environment,
        recorder: Recorder,
        *,
        rule: Rule,
        delay: Duration,
        full: bool,
    ) -> None:
        if delay < 0:
            raise SettingsError(f"the delay of a reflex must not be negative, got {delay}")
        self._rule = rule
        self._delay = delay
        super().__init__(kernel, environment, recorder, full=full)

    async def tick(self, since: int) -> None:
        """Wait until the view has moved on, and for the reaction to it."""
        await super().tick(since)
        await self._react()

    async def engage(self, stream: Stream | None, until: Instant = FAR) -> bool:
        """As everywhere; before control comes back with an event, the engine reacts to it."""
        over = await super().engage(stream, until)
        if not over or stream is None:
            await self._react()
        return over

    async def _react(self) -> None:
        action = None if self.over or self.busy else self._rule(self.view)
        if action is None:
            return
        await self._kernel.sleep(self._delay)
        if self.over:
            return
        self._intervene(action, by="reflex")
        await self.finish()
