"""What comes from outside, the hand-over to wall time, and clocks without a machine."""

import threading

import pytest

from tests.core.machine import FakeMachine
from tests.core.sources import Fed
from timeful.core.clock import ScriptedClock, ScriptEnd
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End
from timeful.errors import KernelError


@pytest.fixture
def fake():
    return FakeMachine()


def test_values_happen_when_they_arrive_and_in_that_order(fake):
    seen = []
    with Kernel(fake.clock()) as kernel:
        inlet = kernel.inlet(lambda value: seen.append((kernel.now, value)))
        for instant, value in ((10, "a"), (10, "b"), (35, "c")):
            fake.at(instant, lambda value=value: inlet.put(value))
        fake.at(40, inlet.close)
        kernel.start(kernel.sleep(20))
        kernel.run()
    assert seen == [(10, "a"), (10, "b"), (35, "c")]


def test_a_value_comes_before_the_activities_of_its_instant(fake):
    seen = []
    with Kernel(fake.clock()) as kernel:
        inlet = kernel.inlet(seen.append)

        async def main():
            await kernel.sleep(10)
            seen.append("activity")

        fake.at(10, lambda: inlet.put("value"))
        kernel.run_until(kernel.start(main()))
    assert seen == ["value", "activity"]


def test_what_arrives_while_the_kernel_is_late_does_not_overtake_what_was_due_before(fake):
    seen = []
    with Kernel(fake.clock()) as kernel:
        inlet = kernel.inlet(lambda value: seen.append((kernel.now, value)))

        async def busy():
            await kernel.sleep(5)
            fake.shown += 20
            inlet.put("at 25")
            fake.shown += 10
            inlet.put("at 35")

        async def ticker():
            for _ in range(4):
                await kernel.sleep(10)
                seen.append((kernel.now, "tick"))

        kernel.start(busy())
        kernel.run_until(kernel.start(ticker()))
    ticks = [(10 * n, "tick") for n in range(1, 5)]
    assert seen == [*ticks[:2], (25, "at 25"), ticks[2], (35, "at 35"), ticks[3]]


def test_an_inlet_keeps_a_run_alive_until_any_thread_closes_it():
    with Kernel(FakeMachine().clock()) as kernel:
        inlet = kernel.inlet(lambda value: thread.start() if value else None)
        thread = threading.Thread(target=inlet.close)
        inlet.put("go")
        kernel.run()
        thread.join(30)
    assert inlet.is_closed


def test_a_closed_inlet_refuses_values(fake):
    with Kernel(fake.clock()) as kernel:
        inlet, other = kernel.inlet(print), kernel.inlet(print)
        inlet.close()
        inlet.close()
        with pytest.raises(KernelError):
            inlet.put("x")
    with pytest.raises(KernelError):
        other.put("x")  # the timeline was closed around it


def test_under_virtual_time_activities_put_and_other_threads_do_not():
    seen = []
    with Kernel() as kernel:
        inlet = kernel.inlet(lambda value: seen.append((kernel.now, value)))

        async def person():
            await kernel.sleep(7)
            inlet.put("hello")

        kernel.start(person())
        kernel.run()
        with pytest.raises(KernelError):
            inlet.put("from nowhere")
    assert seen == [(7, "hello")]


def test_a_timeline_at_rest_goes_live_at_its_instant(fake):
    seen = []
    with Kernel() as kernel:
        inlet = kernel.inlet(lambda value: seen.append((kernel.now, value)))

        async def main():
            for _ in range(3):
                await kernel.sleep(100)
                seen.append((kernel.now, "woke"))

        kernel.start(main())
        kernel.run(until=150)
        kernel.go_live(fake.clock())
        begin = fake.shown
        fake.at(75, lambda: inlet.put("outside"))
        fake.at(160, inlet.close)
        kernel.run()
        assert (kernel.clock.is_wall, fake.shown - begin) == (True, 160)
    assert seen == [(100, "woke"), (200, "woke"), (225, "outside"), (300, "woke")]


def test_what_fell_due_before_it_went_live_happens_at_once_at_its_own_instants(fake):
    seen = []
    with Kernel() as kernel:

        async def main():
            for _ in range(3):
                await kernel.sleep(100)
                seen.append(kernel.now)

        work = kernel.start(main())
        kernel.run(until=10)
        kernel.go_live(fake.clock(), at=250)
        begin = fake.shown
        kernel.run_until(work)
        assert (fake.shown - begin, kernel.behind) == (50, 150)
    assert seen == [100, 200, 300]


def test_a_timeline_cannot_go_live_in_the_past_or_from_within(fake):
    with Kernel() as kernel:
        kernel.run(until=10)
        with pytest.raises(ValueError, match="10 ns already"):
            kernel.go_live(fake.clock(), at=9)

        async def main():
            kernel.go_live(fake.clock())

        with pytest.raises(KernelError):
            kernel.run_until(kernel.start(main()))


def run_script(clock):
    """A ticker, two values and a thought whose pieces come from outside."""
    seen = []
    with Kernel(clock) as kernel:
        inlet, source = kernel.inlet(lambda value: seen.append((kernel.now, value))), Fed()
        clock.at(20, lambda: inlet.put("b"))
        clock.at(20, lambda: inlet.put("a"))
        clock.at(25, lambda: source.put(Chunk("word", 1)))
        clock.at(31, lambda: (source.put(End()), inlet.close()))
        thought = kernel.stream(source, pacing=None)

        async def ticker():
            for _ in range(4):
                await kernel.sleep(10)
                seen.append((kernel.now, thought.text()))

        kernel.start(ticker())
        kernel.run()
        return seen, thought.state


def test_a_slow_machine_makes_no_difference():
    expected = [(10, ""), (20, "b"), (20, "a"), (20, ""), (30, "word"), (40, "word")]
    assert run_script(ScriptedClock()) == (expected, "completed")
    lags = iter((3, 14, 0, 50))
    assert run_script(ScriptedClock(lag=lambda: next(lags, 0))) == (expected, "completed")


def test_what_follows_from_an_instant_is_later_than_it():
    seen = []
    with Kernel(ScriptedClock()) as kernel:
        inlet = kernel.inlet(lambda value: seen.append((kernel.now, value)))

        async def main():
            await kernel.sleep(10)
            inlet.put("a")
            inlet.put("b")
            await kernel.sleep(5)

        kernel.run_until(kernel.start(main()))
    assert seen == [(11, "a"), (12, "b")]


@pytest.mark.parametrize("sleeps", [True, False])
def test_a_run_ends_with_its_script(sleeps):
    clock = ScriptedClock(end=50)
    with Kernel(clock) as kernel:
        thought = kernel.stream(Fed(), pacing=None)
        if sleeps:
            kernel.start(kernel.sleep(51))
        with pytest.raises(ScriptEnd):
            kernel.run()
        assert thought.state == "running"
