"""The same programs under both clocks: the same events, in the same order, at the same instants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import programs
from tests.core.machine import REAL_WORK, FakeMachine
from tests.core.sources import Script, ten_each, words
from timeful.core.activity import CancelledActivityError, Interrupted
from timeful.core.clock import VirtualClock, WallClock
from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End
from timeful.core.units import START, Instant

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def sleeps_of_different_lengths(kernel, note):
    async def sleeper(name, span):
        for number in range(4):
            await kernel.sleep(span)
            note(name, number)

    for name, span in (("three", 3), ("four", 4), ("six", 6), ("twelve", 12)):
        kernel.start(sleeper(name, span), name=name)


@program
def sleeping_until_what_has_passed(kernel, note):
    async def sleeper():
        for instant in (20, 10, 30, 0):
            await kernel.sleep_until(instant)
            note("until", instant)

    kernel.start(sleeper())


@program
def parents_that_join_their_children(kernel, note):
    async def child(span):
        await kernel.sleep(span)
        return span

    async def parent():
        children = [kernel.start(child(span), name=f"child-{span}") for span in (9, 3, 6)]
        note("values", await kernel.wait_all(*children))
        note("again", await children[0])

    kernel.start(parent())


@program
def the_first_of_several(kernel, note):
    async def main():
        events = [kernel.timer(instant) for instant in (8, 5, 5, 11)]
        while pending := [event for event in events if not event.done]:
            happened = await kernel.wait_any(*pending)
            note("happened", [events.index(event) for event in happened])

    kernel.start(main())


@program
def waiting_with_a_deadline(kernel, note):
    event = kernel.event()

    async def setter():
        await kernel.sleep(10)
        event.set("value")

    async def waiter(deadline):
        note(deadline, len(await kernel.wait_any(event, deadline=deadline)))

    for deadline in (9, 10, 11):
        kernel.start(waiter(deadline))
    kernel.start(setter())


@program
def nested_deadlines(kernel, note):
    async def main():
        with kernel.deadline(20) as outer:
            for span in (3, 5, 30):
                with kernel.deadline(kernel.now + 5) as inner:
                    await kernel.sleep(span)
                note("inner", inner.passed)
            await kernel.sleep(100)
        note("outer", outer.passed)

    kernel.start(main())


@program
def interruptions_and_clean_up(kernel, note):
    async def worker():
        while True:
            try:
                await kernel.sleep(10)
                note("worked", None)
            except Interrupted as signal:
                note("interrupted", signal.cause)
                await kernel.sleep(2)
                if signal.cause == 2:
                    raise

    async def boss(target):
        for cause in range(4):
            await kernel.sleep(15)
            note("accepted", target.interrupt(cause))

    kernel.start(boss(kernel.start(worker(), name="worker")), name="boss")


@program
def an_interruption_at_the_instant_of_a_wake_up(kernel, note):
    async def sleeper():
        try:
            await kernel.sleep(10)
            note("woken", None)
        except Interrupted:
            note("interrupted", None)

    async def boss():
        await kernel.sleep(10)
        for target in targets:
            note("accepted", target.interrupt())

    targets = [kernel.start(sleeper(), name="before")]
    kernel.start(boss(), name="boss")
    targets.append(kernel.start(sleeper(), name="after"))


@program
def cancelled_children(kernel, note):
    async def child():
        await kernel.sleep(50)

    async def parent():
        try:
            await target
        except CancelledActivityError as error:
            note("told", str(error))

    async def boss():
        await kernel.sleep(7)
        target.interrupt("no longer needed")

    target = kernel.start(child(), name="child")
    kernel.start(parent())
    kernel.start(boss())


@program
def a_scripted_thought_and_its_reader(kernel, note):
    thought = kernel.stream(Script(*words("a b c d"), End(tokens=6)), pacing=ten_each)

    async def reader():
        while not thought.done:
            await kernel.wait_any(thought, deadline=kernel.now + 8)
            note("text", thought.text())

    kernel.start(reader())


@program
def two_thoughts_and_a_ticking_world(kernel, note):
    slow = kernel.stream(Script(*words("p l a n", tokens=3)), pacing=ten_each, name="slow")
    quick = kernel.stream(Script(*words("g o")), pacing=lambda n: 5 + 10 * n, name="quick")

    async def world():
        for turn in range(1, 7):
            await kernel.world_turn(20 * turn)
            note("turn", (slow.text(), quick.text()))

    async def waiter():
        await kernel.wait_all(slow, quick)
        note("both", None)

    kernel.start(world(), name="world")
    kernel.start(waiter())


@program
def pauses_and_resumptions(kernel, note):
    thought = kernel.stream(Script(*words("a b c d e")), pacing=ten_each)

    async def pauser():
        for run, rest in ((5, 7), (10, 10), (25, 0), (1, 30)):
            await kernel.sleep(run)
            note("paused", thought.pause("rest"))
            await kernel.sleep(rest)
            thought.resume()
        await thought
        note("text", thought.text())

    kernel.start(pauser())


@program
def limits_and_cancellations(kernel, note):
    cut = kernel.stream(Script(*words("a b c d")), pacing=ten_each, name="cut")
    cut.limit(30)
    dropped = kernel.stream(Script(*words("a b c d")), pacing=ten_each, name="dropped")

    async def dropper():
        await cut
        note("cut", (cut.text(), cut.cause))
        await kernel.sleep(3)
        dropped.cancel("enough")
        note("dropped", dropped.undelivered)

    kernel.start(dropper())


@program
def a_thought_that_fails(kernel, note):
    thought = kernel.stream(Script(Chunk("a", 1), OSError("broken")), pacing=ten_each)

    async def waiter():
        try:
            await thought
        except OSError as error:
            note("failed", str(error))

    kernel.start(waiter())


@program
def everything_at_one_instant(kernel, note):
    thought = kernel.stream(Script(*words("a b")), pacing=ten_each)

    async def world():
        await kernel.world_turn(20)
        note("world", thought.done)

    async def deadline():
        note("deadline", len(await kernel.wait_any(kernel.event(), deadline=20)))

    async def activity():
        await kernel.sleep(20)
        note("activity", thought.done)
        await thought
        note("thought", thought.text())

    for work in (world, deadline, activity):
        kernel.start(work(), name=work.__name__)


@program
def events_set_by_others(kernel, note):
    events = [kernel.event() for _ in range(3)]

    async def relay(number):
        value = await events[number]
        await kernel.sleep(number)
        note("relayed", value)
        if number + 1 < len(events):
            events[number + 1].set(value + 1)

    for number in reversed(range(3)):
        kernel.start(relay(number), name=f"relay-{number}")
    events[0].set(10)


WITH_REAL_WORK = {}


def real_work(function):
    WITH_REAL_WORK[function.__name__] = function
    return function


@real_work
def calls_one_after_the_other(kernel, note):
    async def main():
        for number in range(3):
            await kernel.sleep(10)
            note("got", await kernel.hold(lambda number=number: number, name=REAL_WORK))

    async def ticker():
        for _ in range(5):
            await kernel.sleep(7)
            note("tick", None)

    kernel.start(main())
    kernel.start(ticker())


@real_work
def a_call_that_raises(kernel, note):
    async def main():
        try:
            await kernel.hold(lambda: 1 / 0, name=REAL_WORK)
        except ZeroDivisionError:
            note("raised", None)
        await kernel.sleep(5)

    kernel.start(main())


@real_work
def an_abandoned_call(kernel, note):
    async def holder():
        await kernel.sleep(10)
        await kernel.hold(lambda: None, name=REAL_WORK)
        note("never", None)

    async def boss():
        await kernel.sleep(10)
        target.interrupt("stop")
        await kernel.sleep(10)
        note("after", target.state)

    target = kernel.start(holder(), name="holder")
    kernel.start(boss())


def events_of(build, clock, machine=None):
    log, trace = EventLog(), []
    with Kernel(clock, log=machine.log(log) if machine else log) as kernel:
        build(kernel, lambda *what: trace.append((kernel.now, *what)))
        kernel.run()
    assert trace, "a program that shows nothing promises nothing"
    return log.events, trace


@pytest.mark.parametrize("build", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize(
    "machine",
    [
        {},
        {"overshoot": 7},
        {"overshoot": 1_000_000},
        {"read_cost": 3},
        {"overshoot": 5, "read_cost": 11},
    ],
    ids=["exact", "late", "very late", "costly", "late and costly"],
)
@pytest.mark.parametrize("scale", [1.0, 60.0, 0.25])
def test_both_clocks_give_the_same_events_at_the_same_instants(build, machine, scale):
    fake = FakeMachine(**machine)
    assert events_of(build, fake.clock(scale)) == events_of(build, VirtualClock())


@pytest.mark.parametrize("build", WITH_REAL_WORK.values(), ids=WITH_REAL_WORK)
def test_real_work_that_takes_no_time_comes_in_the_same_order_under_both_clocks(build):
    fake = FakeMachine()
    assert events_of(build, fake.clock(), fake) == events_of(build, VirtualClock())


def without_real_work(steps):
    return [[step for step in own if step[0] not in ("hold", "call")] for own in steps]


@given(programs.program.map(without_real_work), st.integers(0, 9), st.integers(0, 9))
def test_any_program_is_the_same_under_both_clocks(steps, overshoot, read_cost):
    wall = FakeMachine(overshoot=overshoot, read_cost=read_cost).clock()
    one, two = programs.Machine(steps).run(), programs.Machine(steps, wall).run()
    assert one.trace == two.trace
    assert one.log.events == two.log.events


# --- the wall clock itself ---------------------------------------------------------------------


def test_a_wall_clock_waits_for_what_lies_ahead_and_for_nothing_else():
    fake = FakeMachine()
    begin = fake.shown
    kernel = Kernel(fake.clock())

    async def sleeper():
        await kernel.sleep(1_000)
        assert fake.shown == begin + 1_000
        fake.shown += 5_000  # the activity computes for so long
        await kernel.sleep(2_000)
        await kernel.sleep(2_000)
        assert fake.shown == begin + 6_000, "late already: nothing to wait for"
        await kernel.sleep(2_000)
        assert fake.shown == begin + 7_000, "and no lateness is carried on"

    kernel.start(sleeper())
    kernel.run()
    assert (kernel.now, fake.waits) == (7_000, 2)


@pytest.mark.parametrize(("scale", "real"), [(1.0, 600), (60.0, 10), (0.5, 1_200)])
def test_the_scale_is_simulated_time_for_real_time(scale, real):
    fake = FakeMachine()
    begin = fake.shown
    kernel = Kernel(fake.clock(scale))
    kernel.start(kernel.sleep(600))
    kernel.run()
    assert (kernel.now, fake.shown - begin) == (600, real)


def test_running_through_an_instant_waits_for_it_even_with_nothing_to_do():
    fake = FakeMachine()
    begin = fake.shown
    kernel = Kernel(fake.clock())
    kernel.run(until=Instant(500))
    assert fake.shown - begin == 500
    kernel.start(kernel.sleep(500))
    kernel.run(until=Instant(800))
    assert fake.shown - begin == 800


def test_a_wall_clock_shows_the_beginning_until_it_is_started_and_starts_once():
    fake = FakeMachine()
    clock = fake.clock(2.0)
    assert clock.now() == START
    clock.start(Instant(100))
    fake.shown += 50
    clock.start(Instant(0))
    assert clock.now() == 200


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_that_is_not_above_0_and_finite_is_refused(scale):
    with pytest.raises(ValueError, match="scale must be above 0 and finite"):
        WallClock(scale)


def test_a_wait_of_more_than_a_machine_can_wait_is_cut_into_pieces():
    asked = []
    clock = WallClock(1e-6, read=lambda: 0, wait=lambda condition, timeout: asked.append(timeout))
    clock.start(START)
    clock.wait(None, Instant(10**18))
    assert asked[0] < 10**10
