"""Whole episodes of a task with tools: their bytes, real work, and the deadline of a wall clock."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import pytest

from tests.core.machine import FakeMachine
from tests.environments.timed.tasks import Counting
from timeful.agents.session import Agent, Session
from timeful.agents.tool_user import tool_user
from timeful.core.clock import Clock, VirtualClock, WallClock, monotonic_ns
from timeful.core.kernel import Kernel
from timeful.core.units import Duration, Instant, milliseconds, seconds
from timeful.environments.timed.latency import Constant, Latency, LogNormal, Measured
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.task import Done, Work
from timeful.environments.timed.world import ANSWER, TimedTask, TimeSettings
from timeful.interfaces.event_driven import EventDriven
from timeful.models.model import Message
from timeful.models.scripted import ScriptedModel
from timeful.records.events import Entry, EpisodeFailed, Happened, Wall
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.tools import ToolCall

DIG = str(ToolCall(name="dig"))
COUNT = str(ToolCall(name="count", arguments={"by": 1}))
TIMER = str(ToolCall(name="get_duration"))


class Stamped(Recorder):
    """Knows at which real time an event was written."""

    def __init__(self) -> None:
        super().__init__()
        self.stamps: list[tuple[int, Entry]] = []

    def write(self, event: Entry) -> None:
        self.stamps.append((monotonic_ns(), event))
        super().write(event)


def play(
    agent: Agent, task: Counting, *, clock: Clock | None = None, seed: int = 0, **settings: Any
) -> Stamped:
    recorder = Stamped()
    play_episode(
        EpisodeSetting(settings={}, seed=seed),
        environment=TimedTask(task, TimeSettings(**settings), seed=seed),
        interface=partial(EventDriven, full=True),
        agent=agent,
        clock=clock or VirtualClock(),
        recorder=recorder,
    )
    return recorder


def happened(recorder: Recorder) -> list[tuple[int, str, Any]]:
    return [(e.at, e.what, e.data) for e in recorder.events if isinstance(e, Happened)]


async def digger(session: Session, *, calls: Sequence[str] = (DIG,)) -> None:
    for call in calls:
        await session.act(call)


# --- the same again --------------------------------------------------------------------------


def talker() -> Agent:
    says = [f"hm hm <tool_call>{COUNT}</tool_call> and <tool_call>{TIMER}</tool_call>"] * 4
    return partial(
        tool_user,
        model=ScriptedModel([*says, "That is all."]),
        briefing=lambda view, calls: [Message("user", view.opening)],
    )


def test_the_same_seed_has_the_same_bytes_and_another_one_others() -> None:
    def record(seed: int, clock: Clock | None = None) -> str:
        timer = TimerSettings(jitter=0.1, tells="both")
        latency = LogNormal(seconds(1), 0.5)
        recorder = play(
            talker(),
            Counting(),
            seed=seed,
            clock=clock,
            budget=seconds(9),
            latency=latency,
            timer=timer,
        )
        assert happened(recorder)[-1][1] == "over"
        return recorder.sha256

    assert record(0) == record(0) != record(1)
    assert record(0, FakeMachine(overshoot=100_000).clock()) == record(0), "on a slow machine too"


# --- real work -------------------------------------------------------------------------------


def test_work_takes_what_it_took_under_a_virtual_clock() -> None:
    task = Counting(took=seconds(2))
    laws = {"dig": Measured(1.5)}
    recorder = play(digger, task, budget=seconds(9), of_tools=laws)
    assert happened(recorder)[0] == (
        seconds(3),
        "reply",
        {
            "tool": "dig",
            "id": "",
            "text": "The score is 10.\nYou have spent 3.00 seconds.",
            "took": seconds(3),
        },
    )


def test_work_that_took_too_long_has_no_effect() -> None:
    task = Counting(took=seconds(2))
    recorder = play(digger, task, budget=seconds(2) - 1, of_tools={"dig": Measured()})
    [(at, what, data)] = happened(recorder)
    assert (at, what, data["reason"], data["cut"]) == (seconds(2) - 1, "over", "deadline", "dig")
    assert task.score == 0


@pytest.mark.parametrize(("took", "outcome"), [(0, ["reply", "over"]), (1, ["over"])])
def test_work_begun_at_the_very_deadline_counts_if_it_takes_no_time(
    took: int, outcome: list[str]
) -> None:
    async def late(session: Session) -> None:
        await session.sleep_until(Instant(100))
        await session.act(DIG)

    task = Counting(took=Duration(took))
    recorder = play(late, task, budget=Duration(100), of_tools={"dig": Measured()})
    assert [what for _, what, _ in happened(recorder)] == outcome
    assert task.limits == [0]
    assert task.score == 10 * (1 - took)


@dataclass
class Hanging:
    """Work that comes back when it is stopped."""

    stopped: threading.Event = field(default_factory=threading.Event)
    back: threading.Event = field(default_factory=threading.Event)

    def run(self) -> Done:
        assert self.stopped.wait(30), "nobody stopped it"
        self.back.set()
        return Done(took=Duration(0), result=10)

    def stop(self) -> None:
        self.stopped.set()


@dataclass
class Stuck(Counting):
    """A task whose digging hangs."""

    work: Hanging = field(default_factory=Hanging)

    def begin(self, call: ToolCall, limit: Duration) -> Work | None:
        return self.work if call.name == "dig" else None


@dataclass
class Broken(Counting):
    """A task whose digging fails."""

    def begin(self, call: ToolCall, limit: Duration) -> Work | None:
        class Failing(Hanging):
            def run(self) -> Done:
                raise OSError("the spade broke")

        return Failing()


@pytest.mark.parametrize("clock", [VirtualClock, WallClock])
def test_work_that_breaks_fails_the_episode_and_says_why(clock: type[Clock]) -> None:
    recorder = play(digger, Broken(), clock=clock(), budget=seconds(5))
    [failed] = [e for e in recorder.events if isinstance(e, EpisodeFailed)]
    assert failed.error == "OSError: the spade broke"


@dataclass
class Busy(Counting):
    """A task whose digging really takes a while."""

    def begin(self, call: ToolCall, limit: Duration) -> Work | None:
        class Waiting(Hanging):
            def run(self) -> Done:
                began = monotonic_ns()
                self.stopped.wait(0.01)
                return Done(took=Duration(monotonic_ns() - began), result=10)

        return Waiting()


@pytest.mark.parametrize(
    ("law", "least", "most"),
    [
        (Measured(), milliseconds(10), seconds(5)),
        (Measured(0.1), milliseconds(10), seconds(5)),
        (Constant(milliseconds(1)), milliseconds(10), seconds(5)),
        (Constant(milliseconds(200)), milliseconds(200), milliseconds(200)),
    ],
)
def test_under_a_wall_clock_a_call_is_over_when_its_latency_is_and_not_before_its_work(
    law: Latency, least: int, most: int
) -> None:
    async def once(session: Session) -> None:
        await session.act(DIG)
        await session.act(str(ToolCall(name=ANSWER, arguments={"text": ""})))

    task = Busy()
    recorder = play(once, task, clock=WallClock(), budget=seconds(5), of_tools={"dig": law})
    (_, what, data), _ = happened(recorder)
    assert what == "reply"
    assert least <= data["took"] <= most
    assert task.score == 10


# --- the wall clock --------------------------------------------------------------------------


def test_a_tool_that_hangs_is_stopped_at_the_deadline_which_is_kept_within_50_ms() -> None:
    budget, late = milliseconds(60), []
    for _ in range(5):
        task = Stuck()
        recorder = play(
            digger, task, clock=WallClock(), budget=budget, of_tools={"dig": Measured()}
        )
        assert task.work.back.wait(5), "the work is ended, not left behind"
        [(at, what, data)] = happened(recorder)
        assert (at, what, data["reason"], data["cut"]) == (budget, "over", "deadline", "dig")
        assert (data["counted"], task.score) == (budget, 0)
        late.append(lateness(recorder, budget))
    assert min(late) >= 0
    assert median(late) < 50e6, "the usual one: a single one may meet a busy machine"


def test_work_is_stopped_at_the_deadline_also_where_the_timeline_goes_on() -> None:
    task, recorder, budget = Stuck(), Recorder(), milliseconds(20)
    settings = TimeSettings(budget=budget, of_tools={"dig": Measured()})
    with Kernel(WallClock()) as kernel:
        port = EventDriven(kernel, TimedTask(task, settings, seed=0), recorder, full=False)
        port.act(DIG)
        kernel.run(until=Instant(budget + 1))
        assert task.work.back.wait(5)
        kernel.run(until=Instant(budget + milliseconds(20)))
    assert [what for _, what, _ in happened(recorder)] == ["over"]
    assert task.score == 0


def lateness(recorder: Stamped, budget: int) -> int:
    """How long after the budget, counted from the very start, the episode was really over."""
    (began, _), *_ = recorder.stamps
    over = next(at for at, event in recorder.stamps if isinstance(event, Wall))
    return over - began - budget
