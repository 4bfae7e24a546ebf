"""Reflex: what happens is seen at once, and the engine reacts before the agent can.

| question | answer |
| --- | --- |
| when is an event visible? | at once |
| who reacts first? | the engine, by a rule; then the agent gets control |
| what is interruptible? | a thought it is engaged in, at the instant of the event |
| what if no action came? | the world goes on by itself |
| does thinking stop the world? | no |

The engine reacts when an event returns control to an agent in `run_until_event` or
`wait_for_tick`. An event that comes while the agent awaits a thought or sleeps is reacted to at the
agent's next such call, unless the agent has observed it: then it is left to the agent.
Engagement Process, section 5.2.2 and appendix E, "ReflexPatch".
"""

from collections.abc import Callable
from typing import Any

from timeful.core.activity import Activity
from timeful.core.kernel import Kernel
from timeful.core.stream import Stream
from timeful.core.units import FAR, Duration, Instant
from timeful.environments.environment import Environment, Observation
from timeful.environments.game import View
from timeful.errors import IllegalActionError, SettingsError
from timeful.interfaces.event_driven import EventDriven
from timeful.records.recorder import Recorder

Rule = Callable[[View], Any]
"""The reaction to a view: an action that is legal there, or None."""


class Reflex(EventDriven):
    """Applies a rule to each event before control comes back to the agent.

    Args:
        kernel: The timeline; the world starts now.
        environment: The world, at its start.
        recorder: Where the world's events are written.
        rule: The reaction.
        delay: How long the engine takes to react, 0 or more.
        full: Whether the record holds the states that the agent saw.

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
        full: bool = True,
    ) -> None:
        if delay < 0:
            raise SettingsError(f"the delay of a reflex must not be negative, got {delay}")
        self._reacted = 0  # how many of the calls need no reaction any more
        self._engine: Activity[None] | None = None
        self._rule = rule
        self._delay = delay
        super().__init__(kernel, environment, recorder, full=full)

    def observe(self) -> tuple[Observation, ...]:
        """Take what became visible; the agent has seen it now, and the engine leaves it to it."""
        self._reacted = self._calls
        return super().observe()

    async def wait_for_tick(self, since: int) -> None:
        """Wait until the view has moved on, and for the reaction to it."""
        await super().wait_for_tick(since)
        await self._react()

    async def run_until_event(self, stream: Stream | None, until: Instant = FAR) -> bool:
        """As everywhere; before control comes back with an event, the engine reacts to it."""
        over = await super().run_until_event(stream, until)
        await self._react()
        return over

    async def _react(self) -> None:
        """Wait for the engine: an activity of its own, so that nothing is reacted to twice."""
        if self._engine is None or self._engine.done:
            if self._reacted == self._calls:
                return
            self._engine = self._kernel.start(self._reactions(), name="reflex")
        await self._engine

    async def _reactions(self) -> None:
        while True:
            await self._settle()  # what has just been done, by whomever, counts
            if self._reacted == self._calls or self.over or self.busy:
                return
            self._reacted = self._calls
            action = self._rule(self.view)
            if action is not None:
                await self._kernel.sleep(self._delay)
                self._try(action)
                await self.finish()

    def _try(self, action: Any) -> None:
        """Intervene, if that is still possible after the delay; the record tells."""
        try:
            self._intervene(action, by="reflex")
        except IllegalActionError as error:
            self._record_act(action, by="reflex", error=str(error))
