"""A task with tools under a budget: what counts, when calls end, and when all is over."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.environments.timed.tasks import Counting
from timeful.core.units import START, Duration, Instant, seconds
from timeful.environments.conformance import World, check_environment
from timeful.environments.environment import Observation
from timeful.environments.timed.latency import Constant, LogNormal, Measured, Uniform
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.view import TimedView
from timeful.environments.timed.world import ANSWER, PATIENCE, TimedTask, TimeSettings
from timeful.errors import IllegalActionError, SettingsError
from timeful.tools import ToolCall

COUNT = str(ToolCall(name="count", arguments={"by": 1}))
DIG = str(ToolCall(name="dig"))
TIMER = str(ToolCall(name="get_duration"))
QUIT = str(ToolCall(name="quit"))
LAST_WORDS = str(ToolCall(name=ANSWER, arguments={"text": "done"}))


def world(*, dug: int = 0, seed: int = 0, **settings: Any) -> TimedTask:
    """A counting task under some settings of time; spans in nanoseconds."""
    return TimedTask(Counting(took=Duration(dug)), TimeSettings(**settings), seed=seed)


def live(env: TimedTask, steps: Sequence[tuple[int, str]]) -> list[Observation]:
    """Think for so long, act, wait for what comes of it; over and over, and then only wait."""
    seen: list[Observation] = []
    now = START
    for thought, action in steps:
        at = Instant(now + thought)
        while (change := env.next_change()) is not None and change < at:
            seen += env.advance(change)
        if env.next_change() is None:
            return seen
        env.intervene([action], at=at)
        now = at
        while env.busy:
            now = env.next_change() or now
            seen += env.advance(now)
    while (change := env.next_change()) is not None:
        seen += env.advance(change)
    return seen


def told(seen: Observation) -> tuple[Instant, str, Duration]:
    """When something happened, what, and what counted by then."""
    assert isinstance(seen.view, TimedView)
    what = seen.data["reason"] if seen.event == "over" else seen.data["tool"]
    return seen.at, what, seen.view.elapsed


def test_a_soft_budget_is_told_and_measured_and_cuts_nobody_off() -> None:
    soft = world(budget=seconds(2), is_soft=True)
    assert soft.next_tick is None
    seen = live(soft, [(seconds(5), TIMER), (seconds(1), LAST_WORDS)])
    assert [told(one) for one in seen] == [
        (seconds(5), "get_duration", seconds(5)),
        (seconds(6), "answered", seconds(6)),
    ]
    assert soft.view().budget == seconds(2)


# --- a reference that knows nothing but the two rules ----------------------------------------


def first(holds: Callable[[int], bool], since: int) -> int:
    """The first nanosecond at which something holds that stays so, by halving and no formula."""
    low, high = since, since + 1
    while not holds(high):
        high += high - low
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def reference(
    steps: Sequence[tuple[int, str]], *, alpha: Fraction, budget: int, spans: dict[str, int]
) -> list[tuple[int, str, int]]:
    """What happens, when, and what counts by then: thinking alpha times, tools as it is."""
    now = tools = 0
    happened: list[tuple[int, str, int]] = []

    def counts(at: int) -> int:
        return min(budget, tools + floor(alpha * (at - tools)))

    for thought, action in steps:
        at, end = now + thought, first(lambda at: counts(at) == budget, now)
        if at > end:
            break
        if action == LAST_WORDS:
            return [*happened, (at, "answered", counts(at))]
        name = re.findall(r'"name": "(\w+)"', action)[0]
        span, left = spans[name], budget - counts(at)
        if span > left:
            return [*happened, (at + left, "deadline", budget)]
        now = at + span
        tools += span
        happened.append((now, name, counts(now)))
        if name == "quit":
            return [*happened, (now, "ended", counts(now))]
        if counts(now) == budget:
            return [*happened, (now, "deadline", budget)]
    return [*happened, (first(lambda at: counts(at) == budget, now), "deadline", budget)]


SPAN = st.integers(0, 40)
ALPHA = st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.7, 2.0, 7.25])
STEPS = st.lists(
    st.tuples(SPAN, st.sampled_from([COUNT, COUNT, COUNT, DIG, TIMER, QUIT, LAST_WORDS])),
    max_size=12,
)


@example(steps=[(3, COUNT)], alpha=0.5, budget=21, count=20, dig=0, timer=0)
@example(steps=[(10, COUNT)], alpha=0.3, budget=21, count=0, dig=0, timer=0)
@example(steps=[(4, COUNT), (0, COUNT)], alpha=7.25, budget=29, count=0, dig=0, timer=0)
@given(steps=STEPS, alpha=ALPHA, budget=st.integers(1, 300), count=SPAN, dig=SPAN, timer=SPAN)
def test_time_is_counted_as_the_two_rules_say_to_the_nanosecond(
    steps: list[tuple[int, str]], alpha: float, budget: int, count: int, dig: int, timer: int
) -> None:
    laws = {"dig": Measured(), "get_duration": Constant(Duration(timer))}
    env = world(
        dug=dig,
        budget=Duration(budget),
        alpha=alpha,
        latency=Constant(Duration(count)),
        of_tools=laws,
    )
    spans = {"count": count, "dig": dig, "get_duration": timer, "quit": count}
    seen = live(env, steps)
    expected = reference(steps, alpha=Fraction(str(alpha)), budget=budget, spans=spans)
    assert [told(each) for each in seen] == expected
    made = [each.data["tool"] for each in seen if each.event == "reply"]
    assert env.score == made.count("count") + 10 * made.count("dig")
    assert sum(each.reward for each in seen) == env.score
    assert seen[-1].data["counted"] == expected[-1][2]


@given(steps=STEPS, alpha=ALPHA, budget=st.integers(1, 300), count=SPAN)
def test_nothing_takes_effect_before_the_end_of_its_call(
    steps: list[tuple[int, str]], alpha: float, budget: int, count: int
) -> None:
    env = world(budget=Duration(budget), alpha=alpha, latency=Constant(Duration(count)))
    now = START
    for thought, action in steps:
        at = Instant(now + thought)
        if (env.next_change() or START) < at:
            break
        before = env.score
        env.intervene([action], at=at)
        assert env.score == before
        end = env.next_change()
        assert end is not None
        if end > at:
            assert env.advance(Instant(end - 1)) == ()
            assert env.score == before
        replies = [each for each in env.advance(end) if each.event == "reply"]
        assert env.score == before + sum(each.reward for each in replies)
        if env.next_change() is None:
            break
        now = end


# --- the deadline ----------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "reason"), [(100, "answered"), (101, "deadline")])
def test_an_answer_at_the_very_deadline_counts_and_one_nanosecond_later_not(
    at: int, reason: str
) -> None:
    task = Counting()
    [seen] = live(TimedTask(task, TimeSettings(budget=Duration(100)), seed=0), [(at, LAST_WORDS)])
    assert told(seen) == (100, reason, 100)
    assert task.said == ("done" if at == 100 else None)
    assert seen.data["said"] == task.said, "the facts of the task are part of the end"


def test_after_the_end_nothing_can_be_done() -> None:
    env = world(budget=Duration(100))
    live(env, [])
    for action in (COUNT, TIMER, LAST_WORDS):
        with pytest.raises(IllegalActionError, match="too late"):
            env.intervene([action], at=Instant(100))
    assert env.view().over == "deadline"
    assert not env.busy


def test_without_a_budget_no_limit_is_named_and_a_day_is_the_end() -> None:
    env = world(timer=TimerSettings(tells="both"))
    assert env.view().budget is None
    assert env.next_tick is None
    [reply, over] = live(env, [(5, COUNT)])
    assert reply.data["text"] == "The score is 1.\nYou have spent 0.00 seconds."
    assert told(over) == (PATIENCE, "deadline", PATIENCE)


def test_the_deadline_is_known_as_it_stands_where_a_budget_is_named() -> None:
    env = world(budget=Duration(100), alpha=2.0, latency=Constant(Duration(10)))
    assert env.next_tick == 50
    env.intervene([COUNT], at=Instant(20))
    assert env.next_tick == 80, "a tool counts half as much as the thought of as long"
    env.advance(Instant(30))
    assert env.next_tick == 55
    env.advance(Instant(55))
    assert env.next_tick is None


def test_what_can_be_seen_while_a_tool_runs_is_how_it_was_called() -> None:
    env = world(budget=Duration(100), alpha=2.0, latency=Constant(Duration(10)))
    env.intervene([COUNT], at=Instant(20))
    view = env.view()
    assert (view.at, view.elapsed, view.running) == (20, 40, "count")
    env.advance(Instant(30))
    view = env.view()
    assert (view.at, view.elapsed, view.running) == (30, 50, "")


def test_what_the_last_words_are_worth_comes_with_the_end() -> None:
    class Scoring(Counting):
        def answer(self, text: str) -> None:
            super().answer(text)
            self.score += 5

    [reply, over] = live(
        TimedTask(Scoring(), TimeSettings(), seed=0), [(1, COUNT), (1, LAST_WORDS)]
    )
    assert [reply.reward, over.reward] == [1, 5]


def test_a_task_is_told_the_time_that_is_left_in_which_its_tool_runs() -> None:
    task = Counting()
    settings = TimeSettings(budget=Duration(100), alpha=2.0, latency=Constant(Duration(10)))
    live(TimedTask(task, settings, seed=0), [(20, COUNT), (10, COUNT)])
    assert task.limits == [60, 30]


# --- calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("hello", "no valid JSON"),
        ('{"name": "cuont"}', "Did you mean 'count'"),
        ('{"name": "count"}', "needs the argument 'by'"),
        ('{"name": "count", "arguments": {"by": "one"}}', "must be of type integer, got str"),
        ('{"name": "count", "arguments": {"by": NaN}}', "there is no NaN in JSON"),
        ('{"name": "quit", "arguments": {"why": 1}}', "takes no arguments"),
        ('{"name": "answer", "arguments": {"text": "\\ud83d"}}', "surrogates not allowed"),
        ('{"name": "answer"}', "needs the argument 'text'"),
    ],
)
def test_a_call_that_cannot_be_made_is_refused_in_words_for_its_model(
    action: str, why: str
) -> None:
    env = world()
    with pytest.raises(IllegalActionError, match=re.escape(why)) as refused:
        env.intervene([action], at=Instant(seconds(2.5)))
    assert str(refused.value).endswith("\nYou have spent 2.50 seconds.")
    assert not env.busy


def test_one_tool_runs_at_a_time() -> None:
    env = world(latency=Constant(Duration(10)))
    env.intervene([COUNT], at=START)
    assert env.busy
    assert env.view().running == "count"
    with pytest.raises(IllegalActionError, match="count is still running"):
        env.intervene([TIMER], at=Instant(5))
    with pytest.raises(IllegalActionError, match="one call at a time"):
        world().intervene([COUNT, COUNT], at=START)


def test_a_reply_names_its_tool_its_id_and_how_long_it_took() -> None:
    call = str(ToolCall(name="count", arguments={"by": 4}, id="c7"))
    env = world(latency=Constant(seconds(1.5)))
    reply, _ = live(env, [(seconds(2), call)])
    text = "The score is 4.\nYou have spent 3.50 seconds."
    assert reply.data == {"tool": "count", "id": "c7", "text": text, "took": seconds(1.5)}
    assert reply.is_quiet


def test_a_law_for_a_tool_that_there_is_not_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"unknown tool 'digg'.*Did you mean 'dig'"):
        world(of_tools={"digg": Measured()})
    with pytest.raises(SettingsError, match="budget"):
        world(budget=Duration(0))
    with pytest.raises(SettingsError, match="alpha"):
        world(alpha=0.0)


def test_latencies_are_drawn_anew_for_each_call_and_the_same_for_the_same_seed() -> None:
    def spans(seed: int) -> list[int]:
        env = world(seed=seed, latency=Uniform(Duration(0), seconds(1)))
        return [each.data["took"] for each in live(env, 6 * [(0, COUNT)])[:-1]]

    assert spans(0) == spans(0) != spans(1)
    assert len(set(spans(0))) == 6


# --- what is said of the time ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("tells", "said"),
    [
        ("elapsed", "The score is 1.\nYou have spent 3.50 seconds."),
        ("remaining", "The score is 1.\nYou have 6.50 seconds left."),
        ("both", "The score is 1.\nYou have spent 3.50 seconds. You have 6.50 seconds left."),
        ("nothing", "The score is 1."),
    ],
)
def test_a_reply_ends_with_the_time_that_is_told(tells: str, said: str) -> None:
    env = world(budget=seconds(10), latency=Constant(seconds(1)), timer=TimerSettings(tells=tells))
    first, second, _ = live(env, [(seconds(2.5), COUNT), (0, TIMER)])
    assert first.data["text"] == said
    assert second.data["text"] == "3.50 seconds.", "the timer tells the time whatever else does"


def test_a_timer_that_is_wrong_is_wrong_everywhere_but_for_the_deadline() -> None:
    timer = TimerSettings(scale=2.0, tells="both")
    env = world(budget=seconds(10), timer=timer)
    first, second, third, over = live(env, [(seconds(3), COUNT), (0, TIMER), (seconds(4), COUNT)])
    assert first.data["text"].endswith("You have spent 6.00 seconds. You have 4.00 seconds left.")
    assert second.data["text"] == "6.00 seconds."
    assert third.data["text"].endswith("You have spent 14.00 seconds. You have 0.00 seconds left.")
    assert told(over) == (seconds(10), "deadline", seconds(10))


def test_jitter_is_drawn_anew_for_each_reading_and_the_same_for_the_same_seed() -> None:
    def readings(seed: int) -> list[str]:
        seen = live(
            world(seed=seed, timer=TimerSettings(jitter=0.5)),
            [(seconds(9), TIMER)] + 5 * [(0, TIMER)],
        )
        return [each.data["text"] for each in seen if each.event == "reply"]

    assert readings(0) == readings(0) != readings(1)
    assert len(set(readings(0))) == 6


def test_jitter_is_a_normal_law_about_the_scaled_time() -> None:
    timer, rng = TimerSettings(scale=1.5, jitter=0.2), np.random.default_rng(0)
    read = np.array([timer.read(seconds(10), rng) for _ in range(20_000)])
    error = 0.2 / np.sqrt(read.size)
    assert abs(read.mean() - 15) < 4 * error
    assert abs(read.std() - 0.2) < 4 * error / np.sqrt(2)
    assert abs((np.abs(read - 15) < 0.2).mean() - 0.6827) < 4 * np.sqrt(0.6827 * 0.3173 / read.size)
    assert min(timer.read(Duration(0), rng) for _ in range(100)) == 0, "never below 0"


# --- promises of every world -----------------------------------------------------------------


def conformance(settings: TimeSettings) -> World:
    def actions(view: Any, rng: np.random.Generator) -> Sequence[str]:
        return [str(rng.choice([COUNT, COUNT, DIG, DIG, TIMER, "{}", QUIT, LAST_WORDS]))]

    def make() -> TimedTask:
        return TimedTask(Counting(took=seconds(0.3)), settings, seed=5)

    return World(make=make, actions=actions)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "settings",
    [
        TimeSettings(budget=seconds(20), latency=Uniform(Duration(0), seconds(2))),
        TimeSettings(budget=seconds(20), alpha=0.3, of_tools={"dig": Measured(1.5)}),
        TimeSettings(latency=LogNormal(seconds(1), 0.5), timer=TimerSettings(jitter=0.1)),
    ],
)
def test_a_task_keeps_every_promise_of_an_environment(settings: TimeSettings, seed: int) -> None:
    check_environment(replace(conformance(settings), seed=seed))
