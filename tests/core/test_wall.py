"""Live thoughts and real work under a wall clock: they come when they come, and nobody waits."""

import threading

import pytest

from tests.core.machine import FakeMachine
from tests.core.sources import Fed, Script, ten_each, words
from timeful.core.clock import WallClock
from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End
from timeful.core.units import seconds


@pytest.fixture
def fake():
    return FakeMachine()


@pytest.fixture
def kernel(fake):
    with Kernel(fake.clock(), log=EventLog()) as kernel:
        yield kernel


class Arrivals:
    def __init__(self, kernel):
        self.kernel = kernel
        self.seen = []

    def on_chunk(self, stream, chunk):
        self.seen.append((self.kernel.now, chunk.text))

    def on_change(self, stream):
        self.seen.append((self.kernel.now, stream.state))


def test_chunks_happen_when_they_arrive(fake, kernel):
    source, watch = Fed(), Arrivals(kernel)
    pieces = (Chunk("a", 1), Chunk("b", 1), Chunk("c", 1), End())
    for instant, piece in zip((30, 30, 55, 60), pieces, strict=True):
        fake.at(instant, lambda piece=piece: source.put(piece))
    thought = kernel.stream(source, pacing=None, observer=watch)
    assert kernel.run_until(thought).text() == "abc"
    assert watch.seen == [(30, "a"), (30, "b"), (55, "c"), (60, "completed")]
    assert source.closes == 1


def test_a_source_that_stalls_does_not_stop_the_world(fake, kernel):
    thought = kernel.stream(Fed(), pacing=None)
    turns = []

    async def world():
        while True:
            await kernel.world_turn(10 * (len(turns) + 1))
            turns.append(kernel.now)

    kernel.start(world())
    kernel.run(until=1_005)
    assert turns == [10 * turn for turn in range(1, 101)]
    assert thought.state == "running"


def test_a_run_does_not_end_before_a_thought_that_is_still_to_come(fake, kernel):
    source = Fed()
    fake.at(1_000, lambda: source.put(End()))
    thought = kernel.stream(source, pacing=None)
    kernel.run()
    assert (thought.state, kernel.now) == ("completed", 1_000)


def test_a_run_does_not_wait_for_a_thought_that_was_cut(fake, kernel):
    thought = kernel.stream(Fed(), pacing=None)
    thought.limit(50)
    kernel.run()
    assert (thought.state, kernel.now) == ("cancelled", 50)


def test_what_arrives_for_a_thought_that_has_ended_is_dropped(fake, kernel):
    source = Fed()
    thought = kernel.stream(source, pacing=None)
    fake.at(10, lambda: source.put(Chunk("too late", 2)))
    thought.cancel("enough")
    kernel.start(kernel.sleep(20))
    kernel.run()
    assert (thought.text(), kernel.now) == ("", 20)
    kernel.close()
    source.put(Chunk("much too late", 3))


def test_a_source_that_notifies_twice_does_no_harm(fake, kernel):
    class Eager(Fed):
        def when_ready(self, notify):
            super().when_ready(lambda: (notify(), notify()))

    source = Eager()
    source.put(Chunk("a", 1))
    fake.at(10, lambda: source.put(End()))
    thought = kernel.stream(source, pacing=None)
    kernel.run()
    assert (thought.text(), thought.state, kernel.now) == ("a", "completed", 10)


def test_a_source_is_asked_once_for_one_piece_however_often_its_thought_is_paused(fake, kernel):
    class Counts(Fed):
        asked = 0

        def when_ready(self, notify):
            self.asked += 1
            super().when_ready(notify)

    source = Counts()
    fake.at(10, lambda: source.put(End()))
    thought = kernel.stream(source, pacing=None)
    for _ in range(5):
        thought.pause()
        thought.resume()
    kernel.run()
    assert (thought.state, source.asked) == ("completed", 1)


def test_what_has_arrived_is_not_lost_by_a_pause_that_was_due_before_it(fake, kernel):
    """The kernel is late: a pause due at 10 comes to its turn at 13, as does what came by then."""
    source, watch = Fed(), Arrivals(kernel)
    thought = kernel.stream(source, pacing=None, observer=watch)
    fake.at(40, lambda: source.put(End()))

    async def slow():
        await kernel.sleep(9)
        fake.shown += 4
        source.put(Chunk("a", 1))

    async def pauser():
        await kernel.sleep(10)
        thought.pause()
        thought.resume()

    kernel.start(slow())
    kernel.start(pauser())
    kernel.run()
    assert watch.seen == [(10, "paused"), (10, "running"), (13, "a"), (40, "completed")]


def test_what_arrives_during_a_pause_waits_for_the_resumption(fake, kernel):
    source, watch = Fed(), Arrivals(kernel)
    thought = kernel.stream(source, pacing=None, observer=watch)
    fake.at(20, lambda: source.put(Chunk("a", 1)))
    fake.at(25, lambda: source.put(Chunk("b", 1)))
    fake.at(60, lambda: source.put(End()))

    async def pauser():
        await kernel.sleep(10)
        thought.pause()
        await kernel.sleep(30)
        thought.resume()

    kernel.start(pauser())
    kernel.run()
    assert watch.seen == [
        (10, "paused"), (40, "running"), (40, "a"), (40, "b"), (60, "completed"),
    ]  # fmt: skip


@pytest.mark.parametrize("arrives", [False, True])
def test_a_run_does_not_wait_for_a_thought_that_is_paused(fake, kernel, arrives):
    source = Fed()
    thought = kernel.stream(source, pacing=None)

    async def pauser():
        await kernel.sleep(10)
        thought.pause()
        if arrives:
            source.put(Chunk("a", 1))
        await kernel.sleep(10)

    kernel.start(pauser())
    kernel.run()
    assert (thought.state, kernel.now) == ("paused", 20)
    fake.at(25, lambda: source.put(End() if arrives else Chunk("a", 1)))
    if not arrives:
        fake.at(25, lambda: source.put(End()))
    thought.resume()
    kernel.run()
    assert (thought.state, thought.text(), kernel.now) == ("completed", "a", 45)


def test_what_arrived_while_the_kernel_was_busy_keeps_its_instant(fake, kernel):
    source, watch = Fed(), Arrivals(kernel)
    thought = kernel.stream(source, pacing=None, observer=watch)

    async def busy():
        await kernel.sleep(5)
        fake.shown += 15
        source.put(Chunk("at 20", 1))
        fake.shown += 80

    async def ticker():
        for _ in range(3):
            await kernel.sleep(10)
            watch.seen.append((kernel.now, "tick"))
        thought.cancel()

    kernel.start(busy())
    kernel.start(ticker())
    kernel.run()
    # The token at 20 shares its instant with a tick: thoughts rank before activities.
    assert watch.seen == [
        (10, "tick"), (20, "at 20"), (20, "tick"), (30, "tick"), (30, "cancelled"),
    ]  # fmt: skip


def test_a_thought_with_a_pace_keeps_its_pace(fake, kernel):
    watch = Arrivals(kernel)
    kernel.stream(Script(*words("a b"), End()), pacing=ten_each, observer=watch)
    begin = fake.shown
    kernel.run()
    assert watch.seen == [(10, "a"), (20, "b"), (20, "completed")]
    assert fake.shown - begin == 20


def test_a_call_takes_as_long_as_it_takes_and_the_world_moves_meanwhile(fake, kernel):
    gate, turns = threading.Event(), []
    fake.at(35, gate.set, until_notified=True)

    async def world():
        for turn in range(1, 6):
            await kernel.world_turn(10 * turn)
            turns.append(kernel.now)

    async def agent():
        assert await kernel.hold(lambda: gate.wait(30)) is True
        return kernel.now, list(turns)

    kernel.start(world())
    assert kernel.run_until(kernel.start(agent())) == (35, [10, 20, 30])


def test_the_clock_of_the_machine_itself_serves_as_well():
    """A million times as fast as real time: 20 simulated seconds take 20 microseconds."""
    source, ticks = Fed(), []
    with Kernel(WallClock(scale=1e6)) as kernel:
        thought = kernel.stream(source, pacing=None)

        async def ticker():
            for _ in range(20):
                await kernel.sleep(seconds(1))
                ticks.append(kernel.now)

        kernel.run_until(kernel.start(ticker()))
        assert ticks == [seconds(second) for second in range(1, 21)]
        feeder = threading.Thread(target=lambda: (source.put(Chunk("a", 1)), source.put(End())))
        feeder.start()
        assert kernel.run_until(thought).text() == "a"
        assert kernel.now >= seconds(20)
        feeder.join(30)


def test_a_timeline_can_be_closed_around_work_that_hangs(fake, kernel):
    gate = threading.Event()
    call = kernel.call(lambda: gate.wait(60))
    kernel.run(until=10)
    kernel.close()
    assert call.state == "orphaned"
    kernel.run()  # nothing is left to wait for
    gate.set()
    assert kernel.now == 10
