"""The session: all that an agent sees of time, the world and its models.

An agent is an async function of a session. It cannot tell which interface, which clock or which
kind of model it is under, so the same function runs under all of them.
"""

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Literal, TypeVar

from timeful.agents.action_parser import Parsed
from timeful.agents.connection import Connection
from timeful.agents.guard import Guard, guarded
from timeful.agents.thought import Thought, ThoughtRecorder
from timeful.core.activity import Activity
from timeful.core.kernel import Kernel
from timeful.core.source import End
from timeful.core.units import FAR, Duration, Instant, whole
from timeful.environments.environment import Observation
from timeful.environments.game import View
from timeful.errors import IllegalActionError
from timeful.models.model import Content, Model, Pricing, Prompt, make_prompt, price_prompt
from timeful.records.events import (
    Acted,
    CallEnded,
    CallStarted,
    Noted,
    Printed,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.seeding import child_seed

T = TypeVar("T")
Transcripts = Literal["full", "answers"]


class Intervention:
    """An action that was taken now; awaiting it waits until the world is done with it.

    It is true if the action was legal. An action that takes no time is over at once.
    """

    __slots__ = ("_connection", "refusal")

    def __init__(self, connection: Connection, refusal: str | None = None) -> None:
        self._connection = connection
        self.refusal = refusal
        """Why the world did not take the action; None if it did."""

    def __bool__(self) -> bool:
        return self.refusal is None

    def __await__(self) -> Generator[object, Any, "Intervention"]:
        if self.refusal is None:
            yield from self._connection.finish().__await__()
        return self


class Session:
    """The agent's side of an episode.

    Args:
        kernel: The timeline.
        connection: The world, as the interface shows it.
        recorder: The record of the episode.
        seed: The sampling seed of this episode; every thought gets a child of it.
        transcripts: "full" records every chunk and prompt, "answers" only the answers.
    """

    def __init__(
        self,
        kernel: Kernel,
        connection: Connection,
        recorder: Recorder,
        *,
        seed: int,
        transcripts: Transcripts = "full",
    ) -> None:
        self._kernel = kernel
        self._connection = connection
        self._recorder = recorder
        self._seed = seed
        self._full = transcripts == "full"
        self._thoughts = 0
        self._calls = 0
        self._seen_tick = connection.ticks
        self.retries = 0
        self.waited_s = 0.0
        self.guard = Guard(kernel)

    # --- the world ---------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        self.guard.count("over")
        return self._connection.over

    @property
    def view(self) -> View:
        """The latest state that can be seen."""
        return self._connection.view

    @property
    def turn(self) -> int:
        """How often the world has moved."""
        return self._connection.turn

    @property
    def restarts(self) -> int:
        """How often a turn has put the agent back to where it began: a plan from before is void."""
        return self._connection.restarts

    def observe(self) -> tuple[Observation, ...]:
        """Take what became visible since the last call, each with its instant."""
        self.guard.count("observe")
        return self._connection.observe()

    def act(self, action: Any) -> Intervention:
        """Act now; await the result to wait until the world is done with the action.

        Args:
            action: An action of the world's own type, or a parsed answer. Of an answer with
                several actions the first is taken; an answer without any is noted in the record.

        Returns:
            The intervention: true if the action was legal. An illegal action is recorded and
            has no effect: without a later one, the world takes its default.
        """
        self.guard.count("act")
        if isinstance(action, Parsed):
            if not action.actions:
                refusal = f"{action.outcome}: {action.detail}"
                self.note("answer", refusal)
                return Intervention(self._connection, refusal)
            action = action.actions[0]
        try:
            self._connection.act(action)
        except IllegalActionError as error:
            refusal = str(error)
            self._recorder.write(
                Acted(at=self.now, turn=self.turn, action=str(action), legal=False, error=refusal)
            )
            return Intervention(self._connection, refusal)
        return Intervention(self._connection)

    @guarded
    async def run_until_event(
        self, thought: Thought | None = None, *, span: Duration | None = None
    ) -> bool:
        """Continue a thought until it is over, or until the interface returns control.

        The interface `event-driven` returns control at every event, `loop` only at the end. A
        thought that is not over is then interrupted; the next call resumes it from the same
        token. Without a thought, this continues the action that is in progress.

        Args:
            thought: The thought to continue.
            span: The longest time until control is taken back.

        Returns:
            Whether the thought or the action is over.

        Raises:
            ModelError: If the thought's model failed.
        """
        stream = None if thought is None else thought.stream
        until = FAR if span is None else (self.now + whole(span))
        over = await self._connection.run_until_event(stream, until)
        if thought is not None and thought.done:
            thought.stream.result()
        return over

    def note(self, topic: str, text: str) -> None:
        """Write a remark into the record."""
        self.guard.count("note")
        self._recorder.write(Noted(at=self.now, topic=topic, text=text))

    def keep_output(self, stream: str, text: str) -> None:
        """Write the output of a program into the record; the record's hash leaves it out."""
        self._recorder.write(Printed(at=self.now, stream=stream, text=text))

    # --- time --------------------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        """The present instant."""
        return self._kernel.now

    @property
    def next_tick(self) -> Instant:
        """When the world moves next, whatever the agent does."""
        return self._connection.next_tick

    @guarded
    async def wait_for_tick(self) -> None:
        """Wait until something became visible since this was last called, or all is over."""
        await self._connection.wait_for_tick(self._seen_tick)
        self._seen_tick = self._connection.ticks

    @guarded
    async def sleep_until(self, at: Instant) -> None:
        """Wait until an instant; an instant in the past means now."""
        await self._kernel.sleep_until(whole(at))

    @guarded
    async def sleep(self, span: Duration) -> None:
        """Wait for a span."""
        await self._kernel.sleep(whole(span))

    @guarded
    async def wait(self, thought: Thought, *, until: Instant) -> bool:
        """Wait for the end of a thought, but no longer than to an instant.

        Returns:
            Whether the thought has ended; its end at that very instant counts.

        Raises:
            ModelError: If its model failed.
        """
        if not thought.done:
            await self._connection.attend(thought.stream, until)
        if thought.done:
            thought.stream.result()
        return thought.done

    def spawn(self, work: Coroutine[Any, Any, T], *, name: str = "") -> Activity[T]:
        """Run something side by side; an error in it ends the episode unless it is awaited."""
        return self._kernel.start(work, name=name)

    @guarded
    async def wait_first(self, *tasks: Activity[Any]) -> None:
        """Wait until the first of several spawned activities is over, in whatever way."""
        await self._kernel.wait_any(*tasks)

    # --- thinking and tools ------------------------------------------------------------------

    def think(
        self,
        model: Model,
        prompt: Prompt | Content | Callable[[], Content],
        *,
        label: str = "",
        limit: Duration | None = None,
        max_tokens: int | None = None,
    ) -> Thought:
        """Start a thought now; it costs time while it runs, whether it is awaited or not.

        Args:
            model: The model that thinks.
            prompt: A text, a list of messages, a function that returns one of these, or a
                `Prompt`.
            label: The kind of thought, for the record.
            limit: Cut the thought after this span. A token that falls on the limit still counts.
            max_tokens: The most tokens that the model may generate.

        Raises:
            TypeError: If the prompt is none of these.
            ValueError: If the limit is negative.
        """
        self.guard.count("think")
        prompt = make_prompt(prompt, label=label)
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
                purpose=prompt.label,
                turn=self._connection.turn,
                limit=limit,
                max_tokens=max_tokens,
                seed=seed,
                messages=messages,
            )
        )
        kernel = self._kernel
        pace = None if model.live and kernel.clock.is_wall else model.pace
        if pace is not None:
            room = None if limit is None else pace.most_tokens(limit)
            if room is not None and max_tokens is not None and max_tokens <= room:
                room = None
            prompt = price_prompt(prompt, Pricing(room=room))
        source = model.open(prompt, max_tokens=max_tokens, seed=seed)
        stream = kernel.stream(
            source,
            pacing=pace,
            name=f"{prompt.label or 'thought'}-{number}",
            observer=ThoughtRecorder(
                kernel, self._recorder, source, number, full, self._count_attempts
            ),
        )
        if limit is not None:
            stream.limit(kernel.now + limit)
        return Thought(stream, self._connection.turn, self._connection.attend)

    @property
    def calls_take_time(self) -> bool:
        """Whether the world moves while a call runs, as it does under a wall clock."""
        return self._kernel.clock.is_wall

    @guarded
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

    def _count_attempts(self, end: End) -> None:
        self.retries += end.attempts - 1
        self.waited_s += end.waited_s


Agent = Callable[[Session], Coroutine[Any, Any, None]]
"""An agent: an async function of a session."""
