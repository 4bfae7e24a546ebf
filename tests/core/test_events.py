"""Waiting, failing, closing; and what happens to those who hold it wrong."""

import asyncio
import gc

import pytest

from tests.core.driving import run
from timeful.core.activity import CancelledActivityError
from timeful.core.kernel import Kernel
from timeful.core.units import Duration, in_seconds, milliseconds, nanoseconds, seconds
from timeful.errors import KernelError


async def failing(kernel, span, error):
    await kernel.sleep(span)
    raise error


# --- events ------------------------------------------------------------------------------------


def test_an_event_happens_once(kernel):
    event = kernel.event()
    with pytest.raises(KernelError, match="<event ahead> has not happened yet"):
        event.result()
    event.set(1)
    assert event.result() == 1
    with pytest.raises(KernelError, match="<event done> happened twice"):
        event.set(2)


def test_what_has_happened_is_known_at_once(kernel):
    event = kernel.event()
    event.set("known")

    async def main():
        return await event, await kernel.wait_any(event) == (event,), kernel.now

    assert run(kernel, main()) == ("known", True, 0)


def test_one_event_may_be_waited_for_twice_in_one_wait(kernel):
    event = kernel.timer(5)

    async def main():
        return await kernel.wait_any(event, event) == (event, event), kernel.now

    assert run(kernel, main()) == (True, 5)


def test_waiting_for_any_gives_all_that_have_happened_by_the_time_one_goes_on(kernel):
    one, two = kernel.event(), kernel.event()

    async def setter():
        await kernel.sleep(5)
        two.set(2)
        one.set(1)

    async def main():
        return [event.result() for event in await kernel.wait_any(one, two)]

    kernel.start(setter())
    assert run(kernel, main()) == [1, 2]


def test_waiting_for_nothing_is_refused(kernel):
    async def main():
        assert await kernel.wait_all() == ()
        with pytest.raises(ValueError, match="needs an event or a deadline"):
            await kernel.wait_any()

    run(kernel, main())


def test_waiting_again_and_again_for_a_long_lived_event_leaves_nothing_in_it(kernel):
    event = kernel.event()

    async def main():
        for _ in range(5_000):
            await kernel.wait_any(event, deadline=kernel.now + 1)

    run(kernel, main())
    assert len(event._waiters) == 0
    assert len(kernel._heap) < 3_000


def test_a_timer_may_be_let_happen_early(kernel):
    timer = kernel.timer(100)

    async def main():
        await timer
        return kernel.now

    kernel.start(failing_never(kernel, timer))
    assert run(kernel, main()) == 5
    kernel.run()
    assert kernel.now == 5


async def failing_never(kernel, timer):
    await kernel.sleep(5)
    timer.set(None)


# --- failures ----------------------------------------------------------------------------------


def test_an_error_goes_to_whoever_waits(kernel):
    async def main():
        child = kernel.start(failing(kernel, 5, ZeroDivisionError("oh")))
        with pytest.raises(ZeroDivisionError, match="oh"):
            await child
        return child.state

    assert run(kernel, main()) == "failed"


def test_an_error_that_nobody_waits_for_ends_the_run_and_the_timeline_can_go_on(kernel):
    kernel.start(failing(kernel, 5, ZeroDivisionError("oh")))
    kernel.start(failing(kernel, 5, KeyError("ah")))
    kernel.start(kernel.sleep(10))
    with pytest.raises(ZeroDivisionError, match="oh"):
        kernel.run()
    with pytest.raises(KeyError, match="ah"):
        kernel.run()
    kernel.run()
    assert kernel.now == 10


def test_an_error_of_real_work_that_nobody_waits_for_ends_the_run(kernel):
    kernel.call(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kernel.run()


def test_an_error_is_handed_to_whoever_waits_for_any(kernel):
    async def main():
        child = kernel.start(failing(kernel, 5, ZeroDivisionError("oh")))
        happened = await kernel.wait_any(child, deadline=10)
        with pytest.raises(ZeroDivisionError):
            happened[0].result()
        return kernel.now

    assert run(kernel, main()) == 5


def test_of_two_failures_the_first_in_the_order_given_is_raised_when_all_have_ended(kernel):
    async def main():
        first = kernel.start(failing(kernel, 9, KeyError("first")))
        second = kernel.start(failing(kernel, 5, ZeroDivisionError("second")))
        with pytest.raises(KeyError, match="first"):
            await kernel.wait_all(first, second)
        return kernel.now, second.state

    assert run(kernel, main()) == (9, "failed")


# --- held wrong --------------------------------------------------------------------------------


def test_an_activity_that_waits_for_itself_is_told(kernel):
    async def main():
        await me

    me = kernel.start(main(), name="me")
    with pytest.raises(KernelError, match="waited for itself, which never happens"):
        kernel.run()
    assert me.state == "failed"


class Foreign:
    def __await__(self):
        yield object()


def test_waiting_for_what_is_not_on_the_timeline_fails_where_it_is_awaited(kernel):
    seen = []

    async def main():
        try:
            await Foreign()
        except KernelError as error:
            seen.append(str(error))
        await asyncio.sleep(0)

    with pytest.raises(KernelError, match="waited for 'NoneType' from elsewhere") as caught:
        run(kernel, main())
    [message] = seen
    assert "'main'" in message
    assert "'object'" in message
    assert any(entry.name == "main" for entry in caught.traceback), "the line must be shown"


def test_a_timeline_cannot_be_run_or_closed_from_within(kernel):
    async def main():
        with pytest.raises(KernelError, match="running already; within it, await instead"):
            kernel.run()
        with pytest.raises(KernelError, match="cannot be closed from within"):
            kernel.close()
        await kernel.sleep(5)
        return kernel.now

    assert run(kernel, main()) == 5


def test_time_is_whole_nanoseconds(kernel):
    for ask in (kernel.sleep, kernel.sleep_until, kernel.world_turn, kernel.timer):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            ask(0.5)
    with pytest.raises(ValueError, match="cannot sleep a negative span: -1 ns"):
        kernel.sleep(-1)


def test_a_sleep_is_counted_from_when_it_is_awaited(kernel):
    async def main():
        nap, until = kernel.sleep(5), kernel.sleep_until(3)
        await kernel.sleep(10)
        await nap
        assert kernel.now == 15
        await until
        return kernel.now

    assert run(kernel, main()) == 15


def test_messages_hold_no_addresses(kernel):
    things = (
        kernel.event(),
        kernel.timer(5),
        kernel.start(kernel.sleep(1), name="a"),
        kernel.call(int, name="c"),
    )
    assert [repr(thing) for thing in things] == [
        "<event ahead>",
        "<event ahead>",
        "<activity 'a' running>",
        "<call 'c' running>",
    ]


# --- closing -----------------------------------------------------------------------------------


def test_closing_runs_clean_ups_the_youngest_first_and_tells_who_waited():
    kernel, cleaned = Kernel(), []

    async def live(name):
        try:
            await kernel.event()
        finally:
            cleaned.append(name)

    activities = [kernel.start(live(name)) for name in "abc"]
    kernel.run()
    kernel.close()
    assert cleaned == ["c", "b", "a"]
    for activity in activities:
        assert (activity.state, activity.cause) == ("cancelled", "the timeline was closed")
        with pytest.raises(CancelledActivityError, match="was cancelled: the timeline was closed"):
            activity.result()


def test_what_never_took_its_first_step_is_closed_without_a_warning():
    with Kernel() as kernel:
        activity = kernel.start(failing(kernel, 5, ZeroDivisionError()))
    assert activity.state == "cancelled"
    gc.collect()  # warnings are errors here: an unawaited coroutine would be one


def test_a_clean_up_cannot_wait_while_the_timeline_is_closed_and_the_rest_is_closed_all_the_same():
    kernel, cleaned = Kernel(), []

    async def waits():
        try:
            await kernel.event()
        finally:
            await kernel.sleep(1)

    async def plain():
        try:
            await kernel.event()
        finally:
            cleaned.append("plain")

    kernel.start(plain())
    waiting = kernel.start(waits(), name="waits")
    kernel.run()
    with pytest.raises(KernelError, match="'waits' running> waited in its clean-up") as caught:
        kernel.close()
    assert any(entry.name == "waits" for entry in caught.traceback), "the line must be shown"
    assert cleaned == ["plain"]
    assert waiting.state == "cancelled"
    kernel.close()
    gc.collect()


def test_an_error_in_a_clean_up_is_raised_when_everything_else_is_closed():
    kernel, cleaned = Kernel(), []

    async def live(name, error):
        try:
            await kernel.event()
        finally:
            cleaned.append(name)
            if error:
                raise error

    kernel.start(live("a", None))
    kernel.start(live("b", ZeroDivisionError()))
    kernel.run()
    with pytest.raises(ZeroDivisionError):
        kernel.close()
    assert cleaned == ["b", "a"]


def test_what_a_clean_up_starts_is_closed_as_well():
    kernel, begun = Kernel(), []

    async def child():
        begun.append(True)

    async def parent():
        try:
            await kernel.event()
        finally:
            kernel.start(child())
            kernel.call(int)

    kernel.start(parent())
    kernel.run()
    kernel.close()
    assert begun == []
    assert not kernel._living
    assert not kernel._calls


# --- units -------------------------------------------------------------------------------------


def test_floats_become_whole_nanoseconds_at_the_edge():
    assert seconds(0.1) * 10 == seconds(1) == milliseconds(1_000) == 1_000_000_000
    assert in_seconds(Duration(1_500_000_000)) == 1.5
    for value in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="must be finite and not negative"):
            seconds(value)
    with pytest.raises(ValueError, match="must not be negative, got -1 ns"):
        nanoseconds(-1)
