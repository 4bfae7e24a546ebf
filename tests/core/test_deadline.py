"""Deadlines: inclusive, nested, and gone with their block."""

import pytest

from tests.core.driving import run
from tests.core.sources import Script, ten_each, words
from timeful.core.activity import Interrupted
from timeful.errors import KernelError

# --- blocks ------------------------------------------------------------------------------------


def test_a_block_that_takes_longer_is_left_quietly_at_the_deadline(kernel):
    async def main():
        with kernel.deadline(7) as deadline:
            await kernel.sleep(100)
            return "never"
        return deadline.passed, kernel.now

    assert run(kernel, main()) == (True, 7)


def test_a_block_that_is_done_at_the_very_instant_still_counts(kernel):
    async def main():
        with kernel.deadline(7) as deadline:
            await kernel.sleep(7)
        await kernel.sleep(100)
        return deadline.passed, kernel.now

    assert run(kernel, main()) == (False, 107)


def test_a_chain_of_waits_at_the_very_instant_still_counts(kernel):
    async def main():
        with kernel.deadline(7) as deadline:
            await kernel.sleep(7)
            for _ in range(3):
                await kernel.sleep(0)
            assert await kernel.hold(lambda: "work") == "work"
        return deadline.passed

    assert run(kernel, main()) is False


def test_a_thought_whose_last_token_falls_on_the_deadline_is_in_time(kernel):
    async def main():
        thought = kernel.stream(Script(*words("a b c")), pacing=ten_each)
        with kernel.deadline(30) as deadline:
            await thought
        return deadline.passed, thought.state

    assert run(kernel, main()) == (False, "completed")


def test_the_outer_of_two_blocks_may_end_first(kernel):
    async def main():
        with kernel.deadline(5) as outer:
            with kernel.deadline(9) as inner:
                await kernel.sleep(100)
            raise AssertionError("the inner block must not swallow the outer deadline")
        return outer.passed, inner.passed, kernel.now

    assert run(kernel, main()) == (True, False, 5)


def test_the_inner_of_two_blocks_may_end_first_and_the_outer_still_holds(kernel):
    async def main():
        instants = []
        with kernel.deadline(9) as outer:
            with kernel.deadline(5) as inner:
                await kernel.sleep(100)
            instants.append(kernel.now)
            await kernel.sleep(100)
        instants.append(kernel.now)
        return outer.passed, inner.passed, instants

    assert run(kernel, main()) == (True, True, [5, 9])


def test_two_blocks_with_the_same_instant_are_left_by_the_outer_one(kernel):
    async def main():
        with kernel.deadline(5) as outer, kernel.deadline(5) as inner:
            await kernel.sleep(100)
        await kernel.sleep(1)
        return outer.passed, inner.passed, kernel.now

    assert run(kernel, main()) == (True, False, 6)


def test_a_deadline_does_not_outlive_its_block(kernel):
    async def main():
        with kernel.deadline(7):
            await kernel.sleep(3)
        await kernel.sleep(100)
        return kernel.now

    assert run(kernel, main()) == 103


def test_a_deadline_is_gone_when_another_interruption_ends_its_block_first(kernel):
    async def main():
        try:
            with kernel.deadline(7) as deadline:
                await kernel.sleep(100)
        except Interrupted as signal:
            await kernel.sleep(50)
            return signal.cause, deadline.passed, kernel.now

    async def other():
        await kernel.sleep(7)
        main_activity.interrupt("other")

    main_activity = kernel.start(main(), name="main")
    kernel.start(other())
    assert kernel.run_until(main_activity) == ("other", False, 57)


def test_a_deadline_is_gone_when_an_error_ends_its_block(kernel):
    async def main():
        with pytest.raises(ZeroDivisionError), kernel.deadline(7):
            raise ZeroDivisionError
        await kernel.sleep(20)
        return kernel.now

    assert run(kernel, main()) == 20


def test_a_deadline_that_has_passed_means_this_instant_and_what_happens_now_counts(kernel):
    async def main():
        await kernel.sleep(10)
        with kernel.deadline(3) as late:
            await kernel.sleep(0)
        with kernel.deadline(3) as later:
            await kernel.sleep(1)
        return late.passed, later.passed, kernel.now

    assert run(kernel, main()) == (False, True, 10)


def test_a_deadline_needs_a_running_activity(kernel):
    with pytest.raises(KernelError, match="needs a running activity"), kernel.deadline(5):
        pass


# --- waits -------------------------------------------------------------------------------------


def test_waiting_for_any_ends_empty_at_the_deadline(kernel):
    async def main():
        return await kernel.wait_any(kernel.event(), deadline=7), kernel.now

    assert run(kernel, main()) == ((), 7)


def test_what_happens_at_the_deadline_of_a_wait_counts(kernel):
    event = kernel.event()

    async def setter():
        await kernel.sleep(7)
        await kernel.sleep(0)
        event.set("just in time")

    async def main():
        happened = await kernel.wait_any(event, deadline=7)
        return [one.result() for one in happened]

    kernel.start(setter())
    assert run(kernel, main()) == ["just in time"]


def test_a_wait_that_ends_early_leaves_no_deadline_behind(kernel):
    async def main():
        await kernel.wait_any(kernel.timer(3), deadline=1_000)
        return kernel.now

    assert run(kernel, main()) == 3
    kernel.run()
    assert kernel.now == 3


def test_a_deadline_alone_can_be_waited_for(kernel):
    async def main():
        return await kernel.wait_any(deadline=9), kernel.now

    assert run(kernel, main()) == ((), 9)


def test_a_thought_is_cut_at_its_limit_and_a_token_on_the_limit_counts(kernel):
    cut = kernel.stream(Script(*words("a b c d")), pacing=ten_each)
    cut.limit(30)
    whole = kernel.stream(Script(*words("a b c")), pacing=ten_each)
    whole.limit(30)
    kernel.run()
    assert (cut.text(), cut.state, cut.cause) == ("abc", "cancelled", "limit")
    assert (whole.text(), whole.state, kernel.now) == ("abc", "completed", 30)


def test_a_new_limit_takes_the_place_of_the_older_one(kernel):
    thought = kernel.stream(Script(*words("a b c d")), pacing=ten_each)
    thought.limit(10)
    thought.limit(20)
    kernel.run()
    assert (thought.text(), kernel.now) == ("ab", 20)


def test_the_limit_of_a_thought_that_has_ended_moves_no_time(kernel):
    thought = kernel.stream(Script(*words("a")), pacing=ten_each)
    thought.limit(500)
    kernel.run()
    thought.limit(900)
    kernel.run()
    assert (thought.state, kernel.now) == ("completed", 10)


def test_a_limit_holds_for_a_paused_thought_as_well(kernel):
    thought = kernel.stream(Script(*words("a b c")), pacing=ten_each)
    thought.limit(25)

    async def main():
        await kernel.sleep(15)
        thought.pause()

    kernel.start(main())
    kernel.run()
    assert (thought.state, thought.text(), kernel.now) == ("cancelled", "a", 25)
