"""Loop: the agent looks up between two steps of its own, and never within one.

| question | answer |
| --- | --- |
| when is an event visible? | when a thought or action under way is over; at once in between |
| who reacts first? | the agent |
| what is interruptible? | nothing |
| what if no action came? | the world goes on by itself |
| does thinking stop the world? | no |

The agent loop of most tool-using agents: think, act, observe. Engagement Process, section 5.2,
"AgentLoop" in its tables, and "Loop" of the patrol experiments (section 5.1.2).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from timeful.core.stream import Stream
from timeful.core.units import FAR, Instant
from timeful.interfaces.event_driven import EventDriven


class Loop(EventDriven):
    """Hides what happens while the agent waits for a thought or an action of its own.

    Of several that are under way side by side, the first to be over ends a step.

    Arguments as for `EventDriven`.
    """

    _attending = 0

    def _is_open(self) -> bool:
        return not self._attending

    async def attend(self, stream: Stream, until: Instant | None = None) -> None:
        """Wait for the end of a thought, or for an instant, and see nothing meanwhile."""
        with self._attention():
            await super().attend(stream, until)

    async def finish(self) -> None:
        """Wait for the end of the action that is under way, and see nothing meanwhile."""
        with self._attention():
            await super().finish()

    async def run_until_event(self, stream: Stream | None, until: Instant = FAR) -> bool:
        """As everywhere; but what was visible before, the agent has had its chance to see."""
        self._answered = self._calls
        return await super().run_until_event(stream, until)

    async def _run_until_event(self, stream: Stream | None, until: Instant, since: int) -> bool:
        with self._attention():
            started = self._happened
            while not (self._is_over(stream, started) or self._is_up(until)):
                await self._change(stream, until)
            return self._is_over(stream, started)

    @contextmanager
    def _attention(self) -> Iterator[None]:
        self._attending += 1
        try:
            yield
        finally:
            self._attending -= 1
            if self._hidden:
                self._reveal()
