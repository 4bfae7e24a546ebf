"""Frozen: the classic step, in which the world waits for the agent.

| question | answer |
| --- | --- |
| when is an event visible? | at once |
| who reacts first? | the agent: the world moves when it acts |
| what is interruptible? | nothing: nothing happens while the agent is at something |
| what if no action came? | nothing moves, until the agent's patience is used up; then default |
| does thinking stop the world? | yes |

Thinking still takes time; it only costs nothing in the world. Gymnasium's `step` is this law.
"""

from typing import Any

from timeful.core.activity import Event
from timeful.core.kernel import Kernel
from timeful.core.stream import Stream
from timeful.core.units import FAR, START, Duration, Instant
from timeful.environments.environment import Environment, Living
from timeful.errors import SettingsError
from timeful.interfaces.visibility import Visibility
from timeful.records.recorder import Recorder


class Frozen(Visibility):
    """Moves the world one change for each action.

    Args:
        kernel: The timeline.
        environment: The world, at its start.
        recorder: Where the world's turns are written.
        patience: The longest that the world waits for an action, above 0; it also is what an
            agent that plans its time by `next_tick` takes for a turn.
        full: Whether the record holds the states that the agent saw.

    Raises:
        SettingsError: If the patience is not above 0, or others live in the world.
    """

    def __init__(
        self,
        kernel: Kernel,
        environment: Environment,
        recorder: Recorder,
        *,
        patience: Duration,
        full: bool = True,
    ) -> None:
        if patience <= 0:
            raise SettingsError(f"the patience of a frozen world must be above 0, got {patience}")
        if isinstance(environment, Living):
            raise SettingsError("a world in which others live waits for nobody; do not freeze it")
        super().__init__(kernel, environment, recorder, full=full)
        self._patience = patience
        self._world_now = START
        self._patience_ends()
        self.world = kernel.start(self._wait_for_end(), name="world")

    def act(self, action: Any) -> None:
        """Intervene, and let the world move once.

        Raises:
            IllegalActionError: If the world has no such action.
        """
        self._environment.intervene((action,), at=self._world_now)
        self._record_act(action)
        self._step()

    async def finish(self) -> None:
        """Let the world move until the action under way is over."""
        while self.busy and not self.over:
            self._step()

    async def run_until_event(self, stream: Stream | None, until: Instant = FAR) -> bool:
        """As everywhere; but what moved the world was the agent, which need not be called."""
        self._answered = self._calls
        return await super().run_until_event(stream, until)

    async def _run_until_event(self, stream: Stream | None, until: Instant, since: int) -> bool:
        """A thought runs while the world waits; without one the world moves once."""
        if stream is None:
            self._step()
            return not self.busy
        await self.attend(stream, until)
        return stream.done

    def _step(self) -> None:
        change = self._environment.next_change()
        if change is not None:  # else an action has ended it, which is still to be seen
            self._world_now = change
        self._move(self._world_now)
        self._patience_ends()

    def _patience_ends(self) -> None:
        self.next_tick = self._kernel.now + self._patience

    async def _wait_for_end(self) -> None:
        while not self.over:
            stirred: Event[None] = self._stirred
            await self._kernel.wait_any(stirred, deadline=self.next_tick)
            if not stirred.done:
                self._step()
