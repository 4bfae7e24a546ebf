"""Polling: a loop that looks up every so often while it is at something, and pays for each look.

| question | answer |
| --- | --- |
| when is an event visible? | at the next look, or when the thought or action is over |
| who reacts first? | the agent |
| what is interruptible? | a thought it is engaged in, at a look that found something |
| what if no action came? | the world goes on by itself |
| does thinking stop the world? | no |

Engagement Process, section 5.2, "Periodic Poll" in its tables.
"""

from timeful.core.kernel import Kernel
from timeful.core.stream import Stream
from timeful.core.units import FAR, Duration, Instant
from timeful.environments.environment import Environment
from timeful.errors import SettingsError
from timeful.interfaces.loop import Loop
from timeful.records.events import Polled
from timeful.records.recorder import Recorder

POLL = "a poll"
"""What a thought waits for while its interface looks."""


class Polling(Loop):
    """Looks at the world at fixed spans of what the agent is engaged in.

    Args:
        kernel: The timeline; the world starts now.
        environment: The world, at its start.
        recorder: Where the world's events are written.
        interval: The span between two looks, above 0, counted anew whenever the agent engages
            in something. Nothing stays unseen for longer.
        cost: How long a look takes, 0 or more; the thought waits meanwhile. A look is cut
            short at the instant at which the agent wanted control back.
        full: Whether the record holds the states that the agent saw.

    Raises:
        SettingsError: If the interval is not above 0, or the cost is below.
    """

    def __init__(
        self,
        kernel: Kernel,
        environment: Environment,
        recorder: Recorder,
        *,
        interval: Duration,
        cost: Duration,
        full: bool = True,
    ) -> None:
        if interval <= 0:
            raise SettingsError(f"the interval between two polls must be above 0, got {interval}")
        if cost < 0:
            raise SettingsError(f"the cost of a poll must not be negative, got {cost}")
        self._looking = 0
        self._interval = interval
        self._cost = cost
        super().__init__(kernel, environment, recorder, full=full)

    async def attend(self, stream: Stream, until: Instant | None = None) -> None:
        """Wait for the end of a thought, or for an instant, with a look now and then."""
        end = FAR if until is None else until
        with self._attention():
            while not stream.done and self._kernel.now < end:
                look = min(self._next_look(), end)
                await self._kernel.wait_any(stream, deadline=look)
                if not stream.done and self._kernel.now < end:
                    is_paused = stream.pause(POLL)
                    try:
                        await self._poll(end)
                    finally:
                        if is_paused and stream.state == "paused":
                            stream.resume()
        if stream.done:
            stream.result()

    async def finish(self) -> None:
        """Wait for the end of the action that is under way, with a look now and then."""
        with self._attention():
            look = self._next_look()
            while self.busy and not self.over:
                await self._change(None, look)
                if self.busy and self._kernel.now >= look:
                    await self._poll(FAR)
                    look = self._next_look()

    async def _run_until_event(self, stream: Stream | None, until: Instant, since: int) -> bool:
        with self._attention():
            started, look = self._happened, self._next_look()
            while not (self._is_over(stream, started) or self._is_up(until)):
                await self._change(stream, min(look, until))
                if self._is_over(stream, started) or self._is_up(until):
                    break
                if self._kernel.now >= look:
                    is_paused = stream is not None and stream.pause(POLL)
                    await self._poll(until)
                    if self._calls > since:
                        break
                    if stream is not None and is_paused and stream.state == "paused":
                        stream.resume()
                    look = self._next_look()
            return self._is_over(stream, started)

    def _is_open(self) -> bool:
        return self._looking > 0 or super()._is_open()

    def _next_look(self) -> Instant:
        return self._kernel.now + self._interval

    async def _poll(self, end: Instant) -> None:
        """Look, and pay, but not beyond `end`; what happens meanwhile is seen at once."""
        count = len(self._hidden)
        if count:
            self._reveal()
        self._recorder.write(Polled(at=self._kernel.now, found=count))
        if self._cost:
            self._looking += 1
            try:
                await self._kernel.sleep(min(self._cost, end - self._kernel.now))
            finally:
                self._looking -= 1
