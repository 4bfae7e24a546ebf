"""The session: all that an agent sees of time, the world and its models.

An agent is an async function of a session. It cannot tell which interface, which clock or which
kind of model it is under, so the same function runs under all of them.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeVar

from timeful.agents.answers import Parsed
from timeful.agents.port import Port
from timeful.agents.thought import Thought, ThoughtRecorder
from timeful.core.activity import Activity
from timeful.core.kernel import Kernel
from timeful.core.units import FAR, Duration, Instant, whole
from timeful.environments.environment import Observation
from timeful.environments.game import View
from timeful.errors import IllegalActionError
from timeful.models.model import Model, Prompt
from timeful.records.events import (
    Acted,
    CallEnded,
    CallStarted,
    Noted,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.seeding import child_seed

T = TypeVar("T")
Transcripts = Literal["full", "answers"]


class Session:
    """What an agent is given.

    Args:
        kernel: The timeline.
        port: The interface's side.
        recorder: Where all that happens is written.
        seed: The sampling seed of this episode; every thought gets a child of it.
        transcripts: "full" records every chunk and prompt, "answers" only the answers.
    """

    def __init__(
        self,
        kernel: Kernel,
        port: Port,
        recorder: Recorder,
        *,
        seed: int,
        transcripts: Transcripts = "full",
    ) -> None:
        self._kernel = kernel
        self._port = port
        self._recorder = recorder
        self._seed = seed
        self._full = transcripts == "full"
        self._thoughts = 0
        self._calls = 0
        self._seen_tick = port.ticks
        self.retries = 0
        self.refusal = ""
        """Why the world did not take the latest illegal action."""

    # --- the world ---------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self._port.over

    @property
    def view(self) -> View:
        """The latest state that can be seen."""
        return self._port.view

    @property
    def turn(self) -> int:
        """How often the world has moved."""
        return self._port.turn

    @property
    def restarts(self) -> int:
        """How often a turn has put the agent back to where it began: a plan from before is void."""
        return self._port.restarts

    def observe(self) -> tuple[Observation, ...]:
        """Take what became visible since the last call, each with its instant."""
        return self._port.observe()

    def act(self, action: str) -> bool:
        """Intervene in the world.

        Returns:
            Whether the action was legal. An illegal one is recorded and has no effect: unless
            another comes in time, the world moves on with its default.
        """
        try:
            self._port.act(action)
        except IllegalActionError as error:
            self.refusal = str(error)
            self._recorder.write(
                Acted(at=self.now, turn=self.turn, action=action, legal=False, error=str(error))
            )
            return False
        return True

    async def do(self, action: str) -> bool:
        """Intervene, and wait until the world is done with it, if it lasts.

        Returns:
            Whether the action was legal, as for `act`.
        """
        is_legal = self.act(action)
        if is_legal:
            await self._port.finish()
        return is_legal

    async def engage(self, thought: Thought | None = None, *, span: Duration | None = None) -> bool:
        """Go on with a thought until it is over, or until the interface hands back control.

        Under an event-driven law control comes back with every event, under a loop only at the
        end. A thought that is not over is then interrupted: engage in it again, and it resumes
        from the same token. Without a thought, this goes on with the action that is under way.

        Args:
            thought: What to go on with.
            span: Take control back after this span at the latest, as one's own choice.

        Returns:
            Whether it is over.

        Raises:
            ModelError: If the thought's model failed.
        """
        stream = None if thought is None else thought.stream
        until = FAR if span is None else (self.now + whole(span))
        over = await self._port.engage(stream, until)
        if thought is not None and thought.done:
            thought.stream.result()
        return over

    def take(self, parsed: Parsed) -> bool:
        """Act on a parsed answer, or note why that cannot be done; True if it could."""
        if not parsed.actions:
            self.note("answer", f"{parsed.outcome}: {parsed.detail}")
            return False
        return self.act(parsed.actions[0])

    def note(self, topic: str, text: str) -> None:
        """Leave a remark in the record."""
        self._recorder.write(Noted(at=self.now, topic=topic, text=text))

    # --- time --------------------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        """The present instant."""
        return self._kernel.now

    @property
    def next_tick(self) -> Instant:
        """When the world moves next, whatever the agent does."""
        return self._port.next_tick

    async def tick(self) -> None:
        """Wait until something became visible since this was last called, or all is over."""
        await self._port.tick(self._seen_tick)
        self._seen_tick = self._port.ticks

    async def until(self, at: Instant) -> None:
        """Wait until an instant; one that has passed means now."""
        await self._kernel.sleep_until(whole(at))

    async def sleep(self, span: Duration) -> None:
        """Wait for a span."""
        await self._kernel.sleep(whole(span))

    async def wait(self, thought: Thought, *, until: Instant) -> bool:
        """Wait for the end of a thought, but no longer than to an instant.

        Returns:
            Whether the thought has ended; its end at that very instant counts.

        Raises:
            ModelError: If its model failed.
        """
        if not thought.done:
            await self._port.attend(thought.stream, until)
        if thought.done:
            thought.stream.result()
        return thought.done

    def spawn(self, work: Coroutine[Any, Any, T], *, name: str = "") -> Activity[T]:
        """Run something side by side; an error in it ends the episode unless it is awaited."""
        return self._kernel.start(work, name=name)

    # --- thinking and tools ------------------------------------------------------------------

    def think(
        self,
        model: Model,
        prompt: Prompt,
        *,
        limit: Duration | None = None,
        max_tokens: int | None = None,
    ) -> Thought:
        """Start a thought now; it costs time while it runs, whether it is awaited or not.

        Args:
            model: Whom to ask.
            prompt: What to ask.
            limit: Cut it after this span. A token that falls on the limit still counts.
            max_tokens: The most tokens that the model may generate.

        Raises:
            ValueError: If the limit is negative.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"the limit of a thought must not be negative, got {limit} ns")
        number = self._thoughts = self._thoughts + 1
        seed = child_seed(self._seed, "thought", number)
        full = self._full
        messages: list[tuple[str, str]] | None = None
        if full:
            messages = [(message.role, message.shown) for message in prompt.messages]
        self._recorder.write(
            ThoughtStarted(
                at=self.now,
                thought=number,
                model=model.name,
                purpose=prompt.purpose,
                turn=self._port.turn,
                limit=limit,
                max_tokens=max_tokens,
                seed=seed,
                messages=messages,
            )
        )
        kernel = self._kernel
        source = model.open(prompt, max_tokens=max_tokens, seed=seed)
        stream = kernel.stream(
            source,
            pacing=None if model.live and kernel.clock.is_wall else model.pace,
            name=f"{prompt.purpose}-{number}",
            observer=ThoughtRecorder(
                kernel, self._recorder, source, number, full, self._count_retries
            ),
        )
        if limit is not None:
            stream.limit(kernel.now + limit)
        return Thought(stream, self._port.turn, self._port.attend)

    async def call(
        self,
        tool: Callable[[], T],
        *,
        stop: Callable[[], None] | None = None,
        name: str = "tool",
    ) -> T:
        """Run a tool for real and wait for it; under virtual time it takes no simulated time.

        Args:
            tool: What to run, in a thread.
            stop: Makes it come back early if this call is interrupted; without it, an
                interrupted tool runs on as an orphan, and virtual time waits for it.
            name: For the record.
        """
        number = self._calls = self._calls + 1
        self._recorder.write(CallStarted(at=self.now, call=number, tool=name))
        call = self._kernel.call(tool, stop=stop, name=name)
        error: str | None = None
        try:
            return await call
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            if not call.done:
                call.abandon("interrupted")
            state = call.state if call.done else "orphaned" if stop is None else "cancelled"
            cause = None if call.cause is None else str(call.cause)
            self._recorder.write(
                CallEnded(at=self.now, call=number, state=state, cause=cause, error=error)
            )

    def _count_retries(self, count: int) -> None:
        self.retries += count


Agent = Callable[[Session], Coroutine[Any, Any, None]]
"""An agent: an async function of a session."""
