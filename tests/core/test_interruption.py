"""The interruption contract, promise by promise."""

import copy
import pickle

import pytest

from tests.core.driving import at
from tests.core.sources import Script, ten_each, words
from timeful.core.activity import CancelledActivityError, Interrupted
from timeful.core.kernel import Kernel
from timeful.core.source import End
from timeful.errors import KernelError


def sleeper(kernel, span=100, seen=None):
    """An activity that sleeps once, and notes the interruption that ends its sleep."""

    async def sleep():
        try:
            await kernel.sleep(span)
        except Interrupted as signal:
            if seen is None:
                raise
            seen.append((kernel.now, signal.cause, signal.at))
        return "done"

    return kernel.start(sleep(), name="sleeper")


# --- cause, instant, and what becomes of the target --------------------------------------------


def test_an_interruption_carries_its_cause_and_its_instant(kernel):
    seen = []
    target = sleeper(kernel, seen=seen)
    at(kernel, 7, lambda: target.interrupt({"any": "object"}))
    assert kernel.run_until(target) == "done"
    assert seen == [(7, {"any": "object"}, 7)]
    assert (7, "interrupt", "sleeper") in kernel._log.events


def test_a_target_that_does_not_catch_it_is_cancelled_with_the_cause(kernel):
    target = sleeper(kernel)
    at(kernel, 7, lambda: target.interrupt("enough"))
    kernel.run()
    assert (target.state, target.cause, target.done) == ("cancelled", "enough", True)
    with pytest.raises(CancelledActivityError, match=r"'sleeper' was cancelled: enough"):
        target.result()


def test_whoever_waits_for_a_cancelled_activity_is_told(kernel):
    target = sleeper(kernel)

    async def waiter():
        try:
            await target
        except CancelledActivityError:
            return kernel.now

    waiting = kernel.start(waiter())
    at(kernel, 7, target.interrupt)
    assert kernel.run_until(waiting) == 7


def test_a_target_may_catch_it_and_go_on_with_what_it_had_done_so_far(kernel):
    async def counter():
        counted = 0
        try:
            while True:
                await kernel.sleep(10)
                counted += 1
        except Interrupted:
            await kernel.sleep(5)
            return counted, kernel.now

    target = kernel.start(counter())
    at(kernel, 34, target.interrupt)
    assert kernel.run_until(target) == (3, 39)


def test_a_finally_block_of_the_target_may_take_time(kernel):
    left = []

    async def tidy():
        try:
            await kernel.sleep(100)
        finally:
            await kernel.sleep(3)
            left.append(kernel.now)

    target = kernel.start(tidy())
    at(kernel, 7, target.interrupt)
    kernel.run()
    assert left == [10]
    assert target.state == "cancelled"


def test_the_interrupter_goes_on_first_and_the_target_comes_next(kernel):
    seen = []
    target = sleeper(kernel, seen=seen)

    async def interrupter():
        await kernel.sleep(7)
        assert target.interrupt("a")
        seen.append("interrupter")

    async def bystander():
        await kernel.sleep(7)
        seen.append("bystander")

    kernel.start(interrupter())
    kernel.start(bystander())
    kernel.run()
    assert seen == ["interrupter", (7, "a", 7), "bystander"]


def test_what_it_waited_for_goes_on_without_it(kernel):
    child = sleeper(kernel, 20)

    async def parent():
        try:
            await child
        except Interrupted:
            return child.done, await child, kernel.now

    target = kernel.start(parent())
    at(kernel, 7, target.interrupt)
    assert kernel.run_until(target) == (False, "done", 20)


# --- twice, too late, at the same instant, from within -----------------------------------------


def test_two_interruptions_at_one_instant_arrive_one_after_the_other(kernel):
    seen = []

    async def stubborn():
        for _ in range(2):
            try:
                await kernel.sleep(100)
            except Interrupted as signal:
                seen.append((kernel.now, signal.cause))

    target = kernel.start(stubborn())
    at(kernel, 7, lambda: (target.interrupt(1), target.interrupt(2)))
    kernel.run()
    assert seen == [(7, 1), (7, 2)]
    assert target.state == "completed"


def test_the_second_of_two_does_not_arrive_when_the_first_ended_it(kernel):
    target = sleeper(kernel)
    accepted = []
    at(kernel, 7, lambda: accepted.extend([target.interrupt(1), target.interrupt(2)]))
    kernel.run()
    assert accepted == [True, True]
    assert target.cause == 1
    assert [e for e in kernel._log.events if e[2] == "sleeper"][-2:] == [
        (7, "interrupt", "sleeper"),
        (7, "cancelled", "sleeper"),
    ]


def test_interrupted_again_in_its_clean_up_it_still_ends_once(kernel):
    steps = []

    async def target():
        try:
            await kernel.sleep(100)
        except Interrupted as first:
            steps.append((kernel.now, first.cause))
            try:
                await kernel.sleep(10)
            finally:
                steps.append(kernel.now)

    running = kernel.start(target(), name="target")
    at(kernel, 7, lambda: running.interrupt("one"))
    at(kernel, 9, lambda: running.interrupt("two"))
    kernel.run()
    assert steps == [(7, "one"), 9]
    assert (running.state, running.cause) == ("cancelled", "two")


def test_interrupting_what_has_finished_does_nothing_and_says_so(kernel):
    target = sleeper(kernel, 5)
    kernel.run()
    before = list(kernel._log.events)
    assert target.interrupt("late") is False
    kernel.run()
    assert kernel._log.events == before
    assert (target.state, target.cause, target.result()) == ("completed", None, "done")


def test_at_the_instant_of_completion_a_target_that_came_first_has_completed(kernel):
    target = sleeper(kernel, 7)
    accepted = []
    at(kernel, 7, lambda: accepted.append(target.interrupt()))  # started later, so later at 7
    kernel.run()
    assert accepted == [False]
    assert target.state == "completed"


def test_at_the_instant_of_completion_an_interrupter_that_came_first_wins(kernel):
    running = []
    at(kernel, 7, lambda: running[0].interrupt("first"))
    running.append(sleeper(kernel, 7))
    kernel.run()
    assert (running[0].state, running[0].cause) == ("cancelled", "first")


def test_an_interruption_beats_a_wake_up_at_the_same_instant_and_the_wake_up_is_gone(kernel):
    seen = []
    running = []

    async def target():
        try:
            await kernel.sleep(7)
            seen.append("woken")
        except Interrupted:
            seen.append("interrupted")
        await kernel.sleep(50)
        seen.append(kernel.now)

    at(kernel, 7, lambda: running[0].interrupt("now"))
    running.append(kernel.start(target()))
    kernel.run()
    assert seen == ["interrupted", 57]


def test_the_value_of_an_event_that_happened_is_not_lost_by_the_interruption(kernel):
    event = kernel.event()

    async def waiter():
        try:
            await event
        except Interrupted as signal:
            return signal.cause, event.done, await event, kernel.now

    target = kernel.start(waiter())
    at(kernel, 7, lambda: (event.set("value"), target.interrupt("same instant")))
    assert kernel.run_until(target) == ("same instant", True, "value", 7)


def test_interrupted_before_its_first_step_it_never_begins(kernel):
    begun = []

    async def work():
        begun.append(True)

    target = kernel.start(work(), name="work")
    target.interrupt("too soon")
    kernel.run()
    assert begun == []
    assert (target.state, target.cause) == ("cancelled", "too soon")


def test_an_activity_cannot_interrupt_itself(kernel):
    async def work():
        target.interrupt()

    target = kernel.start(work(), name="work")
    with pytest.raises(KernelError, match="cannot interrupt itself; return or raise instead"):
        kernel.run()
    assert target.state == "failed"


def test_an_interrupted_waiter_leaves_nothing_behind_in_what_it_waited_for(kernel):
    event = kernel.event()

    async def waiter():
        for _ in range(10):
            try:
                await kernel.wait_any(event, kernel.event(), deadline=1_000)
            except Interrupted:
                assert not event._waiters

    target = kernel.start(waiter())
    for instant in range(10):
        at(kernel, instant, target.interrupt)
    kernel.run()
    assert target.state == "completed"
    assert kernel.now == 9, "a deadline that was called off moves no time"


def test_the_memory_of_a_million_interrupted_sleeps_is_bounded(kernel):
    kernel = Kernel()
    longest = 0

    async def target():
        nonlocal longest
        for _ in range(20_000):
            try:
                await kernel.sleep(10**12)
            except Interrupted:
                longest = max(longest, len(kernel._heap))

    running = kernel.start(target())

    async def interrupter():
        while not running.done:
            await kernel.sleep(1)
            running.interrupt()

    kernel.run_until(kernel.start(interrupter()))
    assert longest < 3_000


# --- thoughts ----------------------------------------------------------------------------------


def test_of_an_interrupted_thought_the_delivered_prefix_and_the_rest_are_both_known(kernel):
    whole = words("the world moves while we think")
    source = Script(*whole)
    thought = kernel.stream(source, pacing=ten_each)
    at(kernel, 35, lambda: thought.pause("look up"))
    kernel.run()
    assert (thought.state, thought.cause, kernel.now) == ("paused", "look up", 35)
    assert thought.text() == "theworldmoves"
    assert thought.undelivered == whole[3:4]
    assert (*thought.chunks, *thought.drain()) == whole
    assert (thought.state, source.closes) == ("cancelled", 1)


def test_a_cut_thought_keeps_its_prefix_and_knows_its_cause(kernel):
    source = Script(*words("a b c d"))
    thought = kernel.stream(source, pacing=ten_each)
    at(kernel, 20, lambda: thought.cancel("seen enough"))
    assert kernel.run_until(thought) is thought
    assert (thought.text(), thought.tokens, kernel.now) == ("ab", 2, 20)
    assert (thought.state, thought.cause, thought.end) == ("cancelled", "seen enough", None)
    assert (source.pulls, source.closes) == (2, 1), "what nobody needs is not even asked for"


def test_interrupting_whoever_waits_for_a_thought_does_not_stop_the_thought(kernel):
    thought = kernel.stream(Script(*words("a b c")), pacing=ten_each)

    async def waiter():
        try:
            await thought
        except Interrupted:
            return thought.text()

    target = kernel.start(waiter())
    at(kernel, 15, target.interrupt)
    assert kernel.run_until(target) == "a"
    kernel.run()
    assert (thought.state, kernel.now) == ("completed", 30)


def test_ending_a_thought_a_second_time_does_nothing_and_says_so(kernel):
    source = Script(*words("a b"), End())
    thought = kernel.stream(source, pacing=ten_each)
    kernel.run()
    assert thought.cancel("late") is False
    assert thought.orphan("late") is False
    assert thought.pause("late") is False
    assert (thought.state, thought.cause, source.closes) == ("completed", None, 1)
    with pytest.raises(KernelError, match="cannot be resumed: it is not paused"):
        thought.resume()
    with pytest.raises(KernelError, match="cannot be drained: it is not paused"):
        thought.drain()


def test_a_thought_cut_at_the_instant_of_its_last_token_has_it_but_not_its_end(kernel):
    thought = kernel.stream(Script(*words("a b")), pacing=ten_each)
    at(kernel, 20, lambda: thought.cancel("now"))
    kernel.run()
    assert (thought.text(), thought.state, kernel.now) == ("ab", "cancelled", 20)


# --- signals and errors travel -----------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [Interrupted("why", 7), CancelledActivityError("activity 'a' was cancelled: x")]
)
def test_signals_and_errors_survive_copy_and_pickle(error):
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), twin.args, vars(twin)) == (type(error), error.args, vars(error))


def test_an_interruption_is_a_signal_and_passes_handlers_of_errors(kernel):
    async def careless():
        try:
            await kernel.sleep(100)
        except Exception:  # noqa: BLE001 - what a careless agent does
            return "swallowed"

    target = kernel.start(careless())
    at(kernel, 7, target.interrupt)
    kernel.run()
    assert target.state == "cancelled"
    assert issubclass(CancelledActivityError, KernelError)
