"""A task with tools under a time budget, as a world of events.

An intervention is a call as JSON (`timeful.tools`). It lasts as long as its latency law says; its
reply is an event, and its effect comes with it. `get_duration` is the timer, and an intervention
by the name `answer`, which is no tool, says the agent's last words. At the deadline all is over:
what came at that very instant still counts, what was under way does not.
(Timely Machine, sections 4.1 and A.2.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from timeful.core.activity import Event
from timeful.core.call import Call
from timeful.core.kernel import Kernel
from timeful.core.units import NO_TIME, START, Duration, Instant, in_seconds, seconds
from timeful.environments.environment import Observation
from timeful.environments.event_queue import EventQueue
from timeful.environments.timed.latency import Constant, Latency
from timeful.environments.timed.stopwatch import Stopwatch, TimerSettings
from timeful.environments.timed.task import Done, Task
from timeful.environments.timed.view import TimedView
from timeful.errors import IllegalActionError, check_known, check_range
from timeful.records.recorder import Recorder
from timeful.seeding import child
from timeful.tools import BadCallError, Parameter, ToolCall, ToolSpec, find_tool, names, read_call

TIMER = ToolSpec(
    name="get_duration", description="Tells how many seconds have passed since the start."
)
ANSWER = "answer"
"""The intervention that ends the task with the agent's last words, its argument `text`."""

PATIENCE = seconds(86_400)
"""How long a task without a deadline goes on: a day, so that a lost agent comes to an end."""

_AT_ONCE = Constant()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSettings:
    """The time that a case has, and what costs how much of it.

    Attributes:
        budget: The time that counts until the deadline, above 0; None for an unhurried run, in
            which no limit is named and the deadline is `PATIENCE`.
        is_soft: Whether the budget is told and measured but not enforced: who is late is late,
            and is not cut off (Engagement Process, section 5.3 and appendix F, judges so).
        alpha: How much the agent's own thinking counts (see `stopwatch.py`).
        timer: What timers say.
        latency: How long the calls of the task's tools take.
        of_tools: Other laws for some tools, the timer included, which else takes no time.

    Raises:
        SettingsError: If the budget is not above 0.
    """

    budget: Duration | None = None
    is_soft: bool = False
    alpha: float = 1.0
    timer: TimerSettings = field(default_factory=TimerSettings)
    latency: Latency = _AT_ONCE
    of_tools: Mapping[str, Latency] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.budget is not None:
            check_range("a budget in s", in_seconds(self.budget), above=0)
        Stopwatch(self.alpha)

    def law(self, tool: str) -> Latency:
        """How long a call of a tool takes."""
        usual = _AT_ONCE if tool == TIMER.name else self.latency
        return self.of_tools.get(tool, usual)


@dataclass(slots=True, kw_only=True)
class _State:
    """Where a task stands; `at` is when something happened last, or was begun."""

    stopwatch: Stopwatch
    at: Instant = START
    queue: EventQueue["_End"] = field(default_factory=EventQueue)
    running: ToolCall | None = None
    calls: int = 0
    turn: int = 0
    over: str = ""
    work: Call[Done] | None = None


@dataclass(frozen=True, slots=True)
class _End:
    """What is due: a call that is over, or the last words."""

    call: ToolCall
    start: Instant
    result: Any = None


class TimedTask:
    """An `Environment` of one task; its score is the task's.

    Events are "reply", with the `text` that the tool gave, the `tool`, the call's `id` and how
    long it `took`, and "over", with the `reason`, the time that `counted` and the task's facts.

    Args:
        task: The task, at its start.
        time: The time it has.
        seed: Of latencies and jitter.

    Raises:
        SettingsError: If a latency is given for a tool that there is not.
    """

    def __init__(self, task: Task, time: TimeSettings, *, seed: int) -> None:
        self._task = task
        self._time = time
        self._seed = seed
        self._tools = (*task.tools, TIMER)
        for name in time.of_tools:
            check_known("tool", name, names(self._tools))
        self._budget = PATIENCE if time.budget is None or time.is_soft else time.budget
        self._kernel: Kernel | None = None
        self._origin = NO_TIME
        self._stirred: Callable[[], None] = _ignore
        self._state = _State(stopwatch=Stopwatch(time.alpha))

    def reset(self) -> None:
        """Go back to the start of the same case."""
        self._task.reset()
        self._state = _State(stopwatch=Stopwatch(self._time.alpha))

    def live(self, kernel: Kernel, recorder: Recorder, stirred: Callable[[], None]) -> None:
        """Begin now; from here on the real work of tools is done in threads."""
        self._kernel = kernel
        self._origin = kernel.now - START
        self._stirred = stirred

    # --- interventions -----------------------------------------------------------------------

    def intervene(self, actions: Sequence[ToolCall | str], *, at: Instant) -> None:
        """Begin a call, one at a time, or say the last words.

        Raises:
            IllegalActionError: If it is no call, there is no such tool, its arguments do not
                fit, or a tool is still running. The message is fit for a model to read, and
                tells the time as a reply does.
        """
        if len(actions) > 1:
            raise IllegalActionError("one call at a time")
        for action in actions:
            try:
                call = self._read(action)
            except BadCallError as error:
                reading = self._format_reading(self._read_timer(at, "refused", at))
                raise IllegalActionError(_append_reading(str(error), reading)) from None
            self._begin(call, at)

    def _read(self, action: ToolCall | str) -> ToolCall:
        """Read a call that can be made now.

        Raises:
            BadCallError: If it is none.
            IllegalActionError: If the task is over.
        """
        state = self._state
        if state.over:
            raise IllegalActionError("it is too late for that; the task is over")
        call = read_call(action) if isinstance(action, str) else action
        if call.name == ANSWER:
            _ANSWER_SPEC.check(call.arguments)
        else:
            find_tool(call, self._tools)
        if state.running is not None:
            raise BadCallError(f"{state.running.name} is still running")
        return call

    def _begin(self, call: ToolCall, at: Instant) -> None:
        state = self._state
        state.at = at
        if call.name == ANSWER:
            state.running = call
            state.queue.add(at, _End(call, at))
            return
        remaining = self._budget - self._charged_time(at)
        work = None if call.name == TIMER.name else self._task.begin(call, remaining)
        state.calls += 1
        state.running = call
        state.stopwatch.start(at)
        if work is None:
            self._end_at(call, at, Done(took=NO_TIME, result=None), at)
        elif self._kernel is None:
            self._end_at(call, at, work.run(), at)
        else:
            state.work = self._kernel.call(work.run, stop=work.stop, name=call.name)
            self._kernel.start(self._await(state, call, at, state.work), name=call.name)

    async def _await(
        self, state: _State, call: ToolCall, start: Instant, work: Event[Done]
    ) -> None:
        """Wait for real work: no time under a virtual clock, its own time under a wall clock."""
        try:
            done = await work
        except Exception:
            if state.over:  # stopped at the deadline, and nobody asks what it came to
                return
            raise
        state.work = None
        if self._kernel is not None and state is self._state and not state.over:
            self._end_at(call, start, done, self._kernel.now - self._origin)
            self._stirred()

    def _end_at(self, call: ToolCall, start: Instant, done: Done, back: Instant) -> None:
        """A call is over when its latency is, and not before its work is `back`."""
        rng = child(self._seed, "latency", self._state.calls)
        span = self._time.law(call.name).draw(rng, done.took)
        self._state.queue.add(max(start + span, back), _End(call, start, done.result))

    # --- what happens ------------------------------------------------------------------------

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let calls end, and the deadline come, through an instant."""
        state, observations = self._state, list[Observation]()
        while not state.over:
            deadline = self._deadline
            due = state.queue.take(min(to, deadline))
            if due is not None:
                observations += self._end(due[1], due[0])
            elif to >= deadline:
                observations.append(self._finish(deadline, "deadline"))
            else:
                break
        return tuple(observations)

    def _end(self, end: _End, at: Instant) -> list[Observation]:
        state, call = self._state, end.call
        before = self._task.score
        state.running = None
        state.stopwatch.stop(at)
        if call.name == ANSWER:
            self._task.answer(call.arguments["text"])
            return [self._finish(at, "answered", before)]
        read = self._read_timer(at, state.calls)
        if call.name == TIMER.name:
            text = f"{read:.2f} seconds."
        else:
            text = _append_reading(self._task.finish(call, end.result), self._format_reading(read))
        data = {"tool": call.name, "id": call.id, "text": text, "took": at - end.start}
        observations = [self._happen("reply", at, data, before)]
        return [*observations, self._finish(at, "ended")] if self._task.over else observations

    def _read_timer(self, at: Instant, *occasion: str | int) -> float:
        """What a timer says at an instant, in seconds; each occasion has noise of its own."""
        rng = child(self._seed, "timer", *occasion)
        return self._time.timer.read(self._charged_time(at), rng)

    def _format_reading(self, read: float) -> str:
        tells, budget = self._time.timer.tells, self._time.budget
        lines = []
        if tells in ("elapsed", "both"):
            lines.append(f"You have spent {read:.2f} seconds.")
        if tells in ("remaining", "both") and budget is not None:
            lines.append(f"You have {max(0.0, in_seconds(budget) - read):.2f} seconds left.")
        return " ".join(lines)

    def _finish(self, at: Instant, reason: str, before: float | None = None) -> Observation:
        state = self._state
        running_tool = "" if state.running is None else state.running.name
        if state.work is not None:
            state.work.abandon(reason)
        state.over = reason
        data = {
            "reason": reason,
            "counted": self._charged_time(at),
            "cut": running_tool,
            **self._task.facts(),
        }
        return self._happen("over", at, data, self._task.score if before is None else before)

    def _happen(
        self, event: str, at: Instant, data: Mapping[str, Any], before: float
    ) -> Observation:
        self._state.turn += 1
        self._state.at = at
        return Observation(
            at=at,
            event=event,
            view=self.view(),
            reward=float(self._task.score - before),
            data=data,
            is_quiet=event == "reply",
        )

    # --- what can be seen --------------------------------------------------------------------

    @property
    def _deadline(self) -> Instant:
        # Counts are whole nanoseconds: one that has just used the budget up by the time of a
        # tool may have had it a nanosecond earlier by the time of a thought.
        return max(self._state.at, self._state.stopwatch.reaches(self._budget))

    def _charged_time(self, at: Instant) -> Duration:
        """What counts by an instant; at the deadline it is the budget, whatever a nanosecond is."""
        return min(self._budget, self._state.stopwatch.elapsed(at))

    def next_change(self) -> Instant | None:
        """When a call ends or the deadline comes; None once it is over."""
        if self._state.over:
            return None
        due = self._state.queue.next
        return self._deadline if due is None else min(due, self._deadline)

    @property
    def next_tick(self) -> Instant | None:
        """The deadline, as it stands; None if there is none or all is over."""
        if self._state.over or self._time.budget is None or self._time.is_soft:
            return None
        return self._deadline

    @property
    def busy(self) -> bool:
        """Whether a tool is running."""
        return self._state.running is not None and not self._state.over

    @property
    def score(self) -> float:
        """How well the task is done so far."""
        return self._task.score

    def view(self) -> TimedView:
        """The task as it was when something happened last, or was begun."""
        state = self._state
        return TimedView(
            at=state.at,
            turn=state.turn,
            opening=self._task.opening,
            tools=self._tools,
            budget=self._time.budget,
            elapsed=self._charged_time(state.at),
            running="" if state.running is None else state.running.name,
            over=state.over,
        )


def _append_reading(text: str, reading: str) -> str:
    return "\n".join(filter(None, (text, reading)))


def _ignore() -> None:
    """Nobody has joined the world."""


_ANSWER_SPEC = ToolSpec(
    name=ANSWER,
    description="Ends the task.",
    parameters=(Parameter(name="text", description="The last words."),),
)
