"""One total order: by instant, then by rank, then by the order of asking."""

from collections import Counter
from unittest.mock import patch

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

import timeful.core.kernel
from tests.core.programs import Machine, program
from tests.core.sources import Script, ten_each
from timeful.core.activity import Interrupted
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk

# --- properties of any program -----------------------------------------------------------------


@given(program)
def test_time_never_goes_back(steps):
    machine = Machine(steps).run()
    instants = [at for at, *_ in machine.trace]
    assert instants == sorted(instants)
    logged = [at for at, *_ in machine.log.events]
    assert logged == sorted(logged)


@given(program)
def test_the_same_program_twice_is_the_same_to_the_last_event(steps):
    one, two = Machine(steps).run(), Machine(steps).run()
    assert one.trace == two.trace
    assert one.log.events == two.log.events


@given(program)
def test_every_wait_ends_at_most_once_and_everything_that_starts_ends_exactly_once(steps):
    machine = Machine(steps).run()
    ends = Counter((k, number) for _, k, number, what in machine.trace if "begin" not in what)
    begins = Counter((k, number) for _, k, number, what in machine.trace if "begin" in what)
    assert set(begins.values()) <= {1}
    assert all(count == 1 for count in ends.values())
    assert ends.keys() <= begins.keys()
    for k, target in enumerate(machine.activities):
        assert target.done
        if target.state == "completed" and target.cause is None:
            assert sum(1 for who, _ in ends if who == k) == len(steps[k])
    whats = Counter(what for _, what, _ in machine.log.events)
    assert whats["start"] == sum(
        whats[end] for end in ("completed", "cancelled", "failed", "orphaned")
    )


@given(program, st.lists(st.integers(0, 30), max_size=4).map(sorted))
def test_running_in_pieces_is_the_same_as_running_through(steps, stops):
    whole, pieces = Machine(steps).run(), Machine(steps)
    for stop in stops:
        pieces.kernel.run(until=stop)
        assert pieces.kernel.now == stop
    pieces.run()
    assert pieces.trace == whole.trace


@given(program)
def test_sweeping_out_what_was_called_off_changes_nothing(steps):
    usual = Machine(steps).run()
    with patch.object(timeful.core.kernel, "_SWEEP", 0):
        swept = Machine(steps).run()
    assert swept.trace == usual.trace
    assert swept.log.events == usual.log.events


spans = st.lists(st.integers(0, 5), max_size=8)


@given(st.lists(spans, min_size=1, max_size=5))
def test_wake_ups_come_by_instant_and_at_one_instant_in_the_order_of_asking(ladders):
    kernel = Kernel()
    asked, woken = [], []

    async def climber(k, ladder):
        for rung, span in enumerate(ladder):
            asked.append((kernel.now + span, len(asked), k, rung))
            await kernel.sleep(span)
            woken.append((k, rung))

    for k, ladder in enumerate(ladders):
        kernel.start(climber(k, ladder))
    kernel.run()
    assert woken == [(k, rung) for _, _, k, rung in sorted(asked)]


sleeps_and_interrupts = st.lists(
    st.lists(
        st.tuples(st.just("sleep"), st.integers(0, 5))
        | st.tuples(st.just("interrupt"), st.integers(0, 3)),
        max_size=8,
    ),
    min_size=2,
    max_size=4,
)


@settings(max_examples=200)
@given(sleeps_and_interrupts)
def test_sleeps_and_interruptions_come_in_the_order_of_simpy(steps):
    assert _on_the_timeline(steps) == _in_simpy(steps)


def _on_the_timeline(steps):
    kernel, trace, activities = Kernel(), [], []

    async def live(k, own):
        for number, (name, value) in enumerate(own):
            if name == "interrupt":
                if value < len(steps) and value != k:
                    activities[value].interrupt(k)
            else:
                try:
                    await kernel.sleep(value)
                    trace.append((kernel.now, k, number, "woken"))
                except Interrupted as signal:
                    trace.append((kernel.now, k, number, signal.cause))

    async def guarded(k, own):
        await kernel.sleep(1)  # SimPy starts processes before interruptions, the timeline after
        await live(k, own)

    activities.extend(kernel.start(guarded(k, own)) for k, own in enumerate(steps))
    try:
        kernel.run()
    finally:
        kernel.close()
    states = [activity.state for activity in activities]
    return trace, states


def _in_simpy(steps):
    env, trace, processes, states = simpy.Environment(), [], [], ["cancelled"] * len(steps)

    def live(k, own):
        for number, (name, value) in enumerate(own):
            if name == "interrupt":
                if value < len(steps) and value != k and processes[value].is_alive:
                    processes[value].interrupt(k)
            else:
                try:
                    yield env.timeout(value)
                    trace.append((env.now, k, number, "woken"))
                except simpy.Interrupt as signal:
                    trace.append((env.now, k, number, signal.cause))

    def guarded(k, own):
        try:
            yield env.timeout(1)
            yield from live(k, own)
            states[k] = "completed"
        except simpy.Interrupt:
            pass

    processes.extend(env.process(guarded(k, own)) for k, own in enumerate(steps))
    env.run()
    return trace, states


# --- ranks at one instant ----------------------------------------------------------------------


class Teller:
    def __init__(self, seen, *, chunk="stream", change="stream completed"):
        self.seen, self.chunk, self.change = seen, chunk, change

    def on_chunk(self, stream, chunk):
        if self.chunk:
            self.seen.append(self.chunk)

    def on_change(self, stream):
        if self.change:
            self.seen.append(self.change)


def test_at_one_instant_all_ranks_come_in_their_order():
    kernel = Kernel()
    seen = []

    async def world():
        await kernel.world_turn(10)
        seen.append("world")

    async def deadline():
        with kernel.deadline(10):
            await kernel.sleep(100)
        seen.append("deadline")

    async def timer():
        await kernel.timer(10)
        seen.append("timer")

    async def worker():
        await kernel.sleep(10)
        seen.append("activity")
        victim.interrupt()
        await kernel.hold(lambda: None)
        seen.append("work")

    async def late():
        await kernel.sleep(10)
        seen.append("later activity")

    async def target():
        try:
            await kernel.sleep(10)
        except Interrupted:
            seen.append("interrupt")

    # Asked for in the reverse of the order in which they have to come.
    for work in (world, deadline, timer, worker, late):
        kernel.start(work())
    victim = kernel.start(target())
    kernel.stream(Script(Chunk("a", 1)), pacing=ten_each, observer=Teller(seen))
    kernel.run()
    assert seen == [
        "stream",
        "activity",
        "interrupt",  # before everything else that is due, once it is asked for
        "later activity",
        "stream completed",  # its end is pulled: real work, by its earlier serial
        "work",
        "deadline",
        "timer",
        "world",
    ]


def _pair(first, second):
    """Run two things at instant 10, asked for in both orders; return who came first."""
    outcomes = set()
    for order in ((first, second), (second, first)):
        kernel = Kernel()
        seen = []
        for ask in order:
            ask(kernel, seen)
        kernel.run()
        outcomes.add(tuple(seen))
    return outcomes


def interrupt(kernel, seen):
    async def target():
        try:
            await kernel.sleep(100)
        except Interrupted:
            seen.append("interrupt")

    class Trigger:  # told of a token at 10, before anything else can happen there
        def on_chunk(self, stream, chunk):
            victim.interrupt()

        def on_change(self, stream): ...

    victim = kernel.start(target())
    kernel.stream(Script(Chunk("a", 1)), pacing=ten_each, observer=Trigger())


def thought(kernel, seen):
    kernel.stream(Script(Chunk("a", 1)), pacing=ten_each, observer=Teller(seen, change=None))


def activity(kernel, seen):
    async def wake():
        await kernel.sleep(10)
        seen.append("activity")

    kernel.start(wake())


def work(kernel, seen):
    # The end is pulled at the instant of the last token: real work.
    watch = Teller(seen, chunk=None, change="work")
    kernel.stream(Script(Chunk("a", 1)), pacing=ten_each, observer=watch)


def deadline(kernel, seen):
    async def wait():
        await kernel.wait_any(deadline=10)
        seen.append("deadline")

    kernel.start(wait())


def world(kernel, seen):
    async def turn():
        await kernel.world_turn(10)
        seen.append("world")

    kernel.start(turn())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (interrupt, activity),
        (thought, activity),
        (activity, work),
        (work, deadline),
        (deadline, world),
        (activity, deadline),
        (work, world),
        (thought, world),
    ],
    ids=lambda ask: ask.__name__,
)
def test_the_earlier_rank_comes_first_whoever_asked_first(first, second):
    assert len(_pair(first, second)) == 1
    names = {"thought": "stream"}
    expected = tuple(names.get(ask.__name__, ask.__name__) for ask in (first, second))
    assert _pair(first, second) == {expected}


def test_an_interruption_comes_before_the_tokens_that_are_still_due_at_its_instant():
    kernel = Kernel()
    seen = []
    interrupt(kernel, seen)
    thought(kernel, seen)
    kernel.run()
    assert seen == ["interrupt", "stream"]


def test_waiting_until_what_has_passed_means_after_those_who_are_due_already():
    kernel = Kernel()
    seen = []

    async def late():
        await kernel.sleep(10)
        await kernel.sleep_until(3)
        seen.append("late")

    kernel.start(late())
    for _ in range(2):
        activity(kernel, seen)
    kernel.run()
    assert seen == ["activity", "activity", "late"]


def test_a_world_turn_waits_for_all_that_follows_from_its_instant():
    kernel = Kernel()
    seen = []

    async def world():
        for turn in (10, 20):
            await kernel.world_turn(turn)
            seen.append((kernel.now, "world"))

    async def chain():
        await kernel.sleep(10)
        for link in range(3):
            await kernel.sleep(0)
            await kernel.hold(lambda: None)
            seen.append((kernel.now, link))

    kernel.start(world())
    kernel.start(chain())
    kernel.run()
    assert seen == [(10, 0), (10, 1), (10, 2), (10, "world"), (20, "world")]


def test_who_waits_for_one_event_is_woken_in_the_order_of_waiting():
    kernel = Kernel()
    event = kernel.event()
    woken = []

    async def waiter(k):
        await kernel.wait_any(event) if k % 2 else await event
        woken.append(k)

    async def setter():
        await kernel.sleep(5)
        event.set(None)

    kernel.start(setter())
    for k in range(6):
        kernel.start(waiter(k))
    kernel.run()
    assert woken == list(range(6))


def test_ten_sleeps_of_a_tenth_of_a_second_end_at_exactly_one_second():
    from timeful.core.units import seconds

    kernel = Kernel()

    async def sleeper():
        for _ in range(10):
            await kernel.sleep(seconds(0.1))

    kernel.start(sleeper())
    kernel.run()
    assert kernel.now == 1_000_000_000
