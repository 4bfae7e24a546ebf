"""What interfaces share: the window through which an agent sees the world.

It keeps what happened until it may be seen, and what may be seen until it is taken, and writes
both down. When the world moves, when the agent sees it and when it gets control back is each
interface's own law.
"""

from typing import Any, Literal

from timeful.core.activity import Event, Interrupted
from timeful.core.kernel import Kernel
from timeful.core.stream import Stream
from timeful.core.units import FAR, Instant
from timeful.environments.environment import Environment, Observation, Turn
from timeful.environments.game import View
from timeful.records.events import Acted, Happened, Looked, Observed, Turned
from timeful.records.recorder import Recorder

EVENT = "an event"
"""Why a thought is interrupted when control comes back with something that happened."""


class Visibility:
    """The agent's side of an interface; see `timeful.agents.connection.Connection`."""

    def __init__(
        self, kernel: Kernel, environment: Environment, recorder: Recorder, *, full: bool = True
    ) -> None:
        self._kernel = kernel
        self._environment = environment
        self._recorder = recorder
        self._full = full
        self._happened = 0
        self._hidden: list[tuple[int, Instant, Observation]] = []
        self._unread: list[Observation] = []
        self._calls = 0  # how often something became visible that calls the agent
        self._answered = 0  # how many of these calls it has had control for
        self._stirred: Event[None] = kernel.event()  # the world changed, visibly or not
        self.view: View = environment.view()
        self.turn = 0
        self.ticks = 0
        self.restarts = 0
        self.over = environment.next_change() is None
        self.next_tick: Instant = kernel.now
        self.moved: Event[None] = kernel.event()

    @property
    def score(self) -> float:
        """The utility so far."""
        return self._environment.score

    @property
    def busy(self) -> bool:
        """Whether an action that lasts is under way."""
        return self._environment.busy

    def observe(self) -> tuple[Observation, ...]:
        """Take the observations that became visible since the last call."""
        unread, self._unread = tuple(self._unread), []
        self._answered = self._calls
        if unread:
            self._recorder.write(Looked(at=self._kernel.now, through=self.turn))
        return unread

    # --- waiting, where laws differ ----------------------------------------------------------

    async def wait_for_tick(self, since: int) -> None:
        """Wait until the view has moved on from a count of ticks."""
        while self.ticks == since and not self.over:
            await self.moved

    async def attend(self, stream: Stream, until: Instant | None = None) -> None:
        """Wait for the end of a thought, or for an instant, and for nothing else."""
        if until is None:
            await stream
        elif not stream.done:
            await self._kernel.wait_any(stream, deadline=until)

    async def run_until_event(self, stream: Stream | None, until: Instant = FAR) -> bool:
        """Go on with a thought or with what is under way, until it is over or control comes back.

        Control comes back by the interface's law, and at the latest at an instant. A thought
        that is not over is paused then, and also if the agent is interrupted meanwhile. Of
        several activities that are engaged in something, each is called.

        Returns:
            Whether it is over.
        """
        since = self._answered
        if stream is not None and stream.state == "paused" and self._calls == since:
            stream.resume()
        try:
            over = await self._run_until_event(stream, until, since)
        except Interrupted as signal:
            if stream is not None:
                stream.pause(signal.cause)
            raise
        if stream is not None and not over:
            stream.pause(EVENT if self._calls > since else "its time was up")
        self._answered = self._calls
        return over

    async def _run_until_event(self, stream: Stream | None, until: Instant, since: int) -> bool:
        """Control comes back with a call beyond `since`, also with one that came before."""
        started = self._happened
        while not (self._calls > since or self._is_over(stream, started) or self._is_up(until)):
            await self._change(stream, until)
        return self._is_over(stream, started)

    def _is_over(self, stream: Stream | None, started: int) -> bool:
        """Whether the thought is over or, without one, the action, after at least one change."""
        if stream is not None:
            return stream.done
        return self._happened > started and not self.busy

    def _is_up(self, until: Instant) -> bool:
        return self.over or self._kernel.now >= until

    async def _change(self, stream: Stream | None, until: Instant) -> None:
        """Wait for a change, seen or not, or for the end of a thought, or for an instant."""
        changes = (self._stirred, self.moved)
        events = changes if stream is None else (stream, *changes)
        await self._kernel.wait_any(*events, deadline=None if until >= FAR else until)

    async def finish(self) -> None:
        """Wait for the end of the action that is under way."""
        while self.busy and not self.over:
            await self._change(None, FAR)

    # --- what happens, and what is seen of it ------------------------------------------------

    def _is_open(self) -> bool:
        """Whether the agent sees at once what happens now."""
        return True

    def _move(self, to: Instant) -> None:
        """Let the world move through one of its instants, and show what may be seen."""
        now = self._kernel.now
        for observation in self._environment.advance(to):
            self._happened += 1
            self._hidden.append((self._happened, now, observation))
            self._record(self._happened, observation)
        self.over = self._environment.next_change() is None
        if self.over or self._is_open():
            self._reveal()
        stirred, self._stirred = self._stirred, self._kernel.event()
        stirred.set(None)

    def _reveal(self) -> None:
        """Show everything that has happened; whoever waits for it wakes at this instant."""
        hidden, self._hidden = self._hidden, []
        for number, at, observation in hidden:
            self.turn = number
            self.view = observation.view
            self.restarts += isinstance(observation, Turn) and observation.restarted
            self._unread.append(observation)
            self._calls += not observation.is_quiet
            state = observation.view.json_state() if self._full else None
            self._recorder.write(
                Observed(at=self._kernel.now, happened_at=at, turn=number, state=state)
            )
        if hidden or self.over:
            self._tell()

    def _tell(self) -> None:
        self.ticks += 1
        event, self.moved = self.moved, self._kernel.event()
        event.set(None)

    def _record(self, number: int, observation: Observation) -> None:
        now, score = self._kernel.now, self._environment.score
        if isinstance(observation, Turn):
            self._recorder.write(
                Turned(
                    at=now,
                    turn=number,
                    action=observation.action,
                    late=observation.late,
                    reward=observation.reward,
                    score=score,
                )
            )
        else:
            self._recorder.write(
                Happened(
                    at=now,
                    number=number,
                    what=observation.event,
                    data=dict(observation.data),
                    reward=observation.reward,
                    score=score,
                )
            )

    def _record_act(
        self,
        action: Any,
        *,
        by: Literal["agent", "reflex"] = "agent",
        error: str | None = None,
    ) -> None:
        self._recorder.write(
            Acted(
                at=self._kernel.now,
                turn=self.turn,
                action=str(action),
                legal=error is None,
                error=error,
                by=by,
            )
        )
