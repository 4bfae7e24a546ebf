"""Time stands still for live thoughts: no result depends on how fast or in which order they come.

The sources here are fed by real threads in adversarial orders, held by gates and never by sleeps.
"""

import threading
from itertools import combinations

import pytest

from tests.core.sources import Fed, Script, ten_each, words
from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End
from timeful.errors import KernelError

LEFT = (*words("look both ways"), End(tokens=5))
RIGHT = (*words("plan the whole long crossing", tokens=2), End())


class SlowestNetwork:
    """Feeds two sources in one order, each piece only when the kernel can do nothing without."""

    def __init__(self, order):
        self._order = list(order)  # of (source, piece)
        self._condition = threading.Condition()
        self._awaited = None
        self._is_over = False
        self._thread = threading.Thread(target=self._feed)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        with self._condition:
            self._is_over = True
            self._condition.notify_all()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def wanted(self, source):
        with self._condition:
            self._awaited = source
            self._condition.notify_all()

    def _feed(self):
        for source, piece in self._order:
            with self._condition:
                self._condition.wait_for(lambda: self._awaited is not None or self._is_over)
                if self._is_over:
                    return
                if source is self._awaited:
                    self._awaited = None
            source.put(piece)


class Watched(Fed):
    """A fed source that tells the network when it has to be waited for."""

    network: SlowestNetwork

    def pull(self):
        if not self._pieces:
            self.network.wanted(self)
        return super().pull()


def episode(left, right):
    """Two live thoughts and a ticking world; all that anybody could tell of it."""
    log, seen = EventLog(), []
    with Kernel(log=log) as kernel:
        one = kernel.stream(left, pacing=ten_each, name="left")
        two = kernel.stream(right, pacing=lambda tokens: 3 + 9 * tokens, name="right")

        async def world():
            for turn in range(1, 9):
                await kernel.world_turn(15 * turn)
                seen.append((kernel.now, one.text(), two.text()))
                if turn == 4:
                    two.cancel("the light is green")

        async def agent():
            await one
            seen.append((kernel.now, "left is done", two.text()))
            await two
            seen.append((kernel.now, two.state, two.text()))

        kernel.start(world(), name="world")
        kernel.start(agent(), name="agent")
        kernel.run()
    return log.events, seen, (left.closes, right.closes)


def interleavings():
    whole = len(LEFT) + len(RIGHT)
    for places in combinations(range(whole), len(LEFT)):
        yield ["left" if k in places else "right" for k in range(whole)]


def test_every_order_of_arrival_gives_the_same_episode():
    expected = episode(Script(*LEFT), Script(*RIGHT))
    assert any("the light is green" for _ in expected[1])
    count = 0
    for order in interleavings():
        sources = {"left": Watched(), "right": Watched()}
        pieces = {"left": iter(LEFT), "right": iter(RIGHT)}
        network = SlowestNetwork((sources[name], next(pieces[name])) for name in order)
        for source in sources.values():
            source.network = network
        with network:
            assert episode(sources["left"], sources["right"]) == expected, order
        count += 1
    assert count == 210


def test_a_network_that_is_always_ahead_gives_the_same_episode_as_one_that_never_is():
    sources = Fed(), Fed()
    for source, pieces in zip(sources, (LEFT, RIGHT), strict=True):
        for piece in pieces:
            source.put(piece)
    assert episode(*sources) == episode(Script(*LEFT), Script(*RIGHT))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_calls_are_taken_in_the_order_of_their_start_however_they_come_back(order):
    gates = [threading.Event() for _ in range(3)]
    done = [threading.Event() for _ in range(3)]
    taken = []

    def work(number):
        assert gates[number].wait(30)
        done[number].set()
        return number

    def release():
        for number in order:
            gates[number].set()
            assert done[number].wait(30)

    with Kernel() as kernel:

        async def caller(number):
            taken.append(await kernel.hold(lambda: work(number)))

        for number in range(3):
            kernel.start(caller(number))
        releaser = threading.Thread(target=release)
        releaser.start()
        kernel.run()
        releaser.join(30)
    assert taken == [0, 1, 2]


# --- instants of tokens ------------------------------------------------------------------------

T_E = 80  # a turn of the world: eight tokens


@pytest.mark.parametrize(("tokens", "turn"), [(1, 1), (7, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_a_thought_as_long_as_the_turn_still_makes_that_turn(tokens, turn):
    kernel = Kernel()
    thought = kernel.stream(Script(*[Chunk("x", 1)] * tokens), pacing=ten_each)
    acted, turns = [], []

    async def agent():
        await thought
        assert kernel.now == 10 * tokens
        acted.append(kernel.now)

    async def world():
        while not turns or not turns[-1]:
            await kernel.world_turn(T_E * (len(turns) + 1))
            turns.append(bool(acted))

    kernel.start(world())
    kernel.start(agent())
    kernel.run()
    assert len(turns) == turn


def test_a_chunk_is_known_at_the_instant_of_its_last_token_and_not_before():
    kernel = Kernel()
    thought = kernel.stream(Script(Chunk("long", 4), Chunk("", 0), Chunk("s", 1)), pacing=ten_each)
    known = []
    for instant in (39, 40, 49, 50):
        kernel.run(until=instant)
        known.append((thought.text(), thought.tokens, len(thought.chunks), thought.done))
    assert known == [
        ("", 0, 0, False),
        ("long", 4, 2, False),
        ("long", 4, 2, False),
        ("longs", 5, 3, True),
    ]


def test_a_thought_ends_at_the_greater_of_the_counts_of_its_chunks_and_of_the_server():
    for reported, end in ((None, 20), (1, 20), (2, 20), (7, 70)):
        kernel = Kernel()
        thought = kernel.stream(Script(*words("a b"), End(tokens=reported)), pacing=ten_each)
        kernel.run_until(thought)
        assert (kernel.now, thought.tokens) == (end, end // 10)


def test_an_empty_thought_ends_when_its_first_token_would_have_come():
    kernel = Kernel()
    thought = kernel.stream(Script(End()), pacing=lambda tokens: 25 + 10 * tokens)
    kernel.run()
    assert (kernel.now, thought.state, thought.text()) == (25, "completed", "")


def test_channels_are_kept_apart_and_in_order():
    kernel = Kernel()
    pieces = Chunk("hm ", 1, "reasoning"), Chunk("go", 1), Chunk("wait ", 1, "reasoning")
    thought = kernel.stream(Script(*pieces), pacing=ten_each)
    kernel.run()
    assert thought.text() == "hm gowait "
    assert (thought.text("reasoning"), thought.text("answer")) == ("hm wait ", "go")


# --- ends --------------------------------------------------------------------------------------


def test_a_source_is_closed_once_however_its_thought_ends():
    sources = {name: Script(*words("a b c")) for name in ("completed", "cancelled", "orphaned")}
    failing = Script(Chunk("a", 1), OSError("broken"))
    with Kernel() as kernel:
        thoughts = {
            name: kernel.stream(source, pacing=ten_each, name=name)
            for name, source in sources.items()
        }
        failed = kernel.stream(failing, pacing=ten_each)
        thoughts["orphaned"].pause()

        async def main():
            thoughts["cancelled"].cancel()
            with pytest.raises(OSError, match="broken"):
                await failed

        kernel.start(main())
        kernel.run()
        assert failing.closes == 1
        assert sources["orphaned"].closes == 0
    for name, source in sources.items():
        assert (thoughts[name].state, source.closes) == (name, 1)


def test_an_orphaned_thought_says_why_and_can_still_be_read():
    with Kernel() as kernel:
        thought = kernel.stream(Script(*words("a b c")), pacing=ten_each)
        kernel.run(until=15)
    assert (thought.state, thought.cause) == ("orphaned", "the timeline was closed")
    assert thought.result() is thought
    assert (thought.text(), thought.undelivered) == ("a", (Chunk("b", 1),))


def test_a_failing_source_raises_where_it_is_awaited_at_the_instant_of_its_last_token():
    with Kernel() as kernel:
        thought = kernel.stream(Script(*words("a b"), OSError("broken")), pacing=ten_each)

        async def main():
            with pytest.raises(OSError, match="broken"):
                await thought
            return kernel.now, thought.text(), thought.state, str(thought.cause)

        waiting = kernel.start(main())
        assert kernel.run_until(waiting) == (20, "ab", "failed", "broken")


def test_a_failing_source_fails_the_run_if_nobody_waits_and_the_rest_can_go_on():
    with Kernel() as kernel:
        kernel.stream(Script(*words("a b"), OSError("broken")), pacing=ten_each)
        other = kernel.stream(Script(*words("a b c")), pacing=ten_each)
        with pytest.raises(OSError, match="broken"):
            kernel.run()
        assert kernel.now == 20
        kernel.run()
        assert (other.state, kernel.now) == ("completed", 30)


def test_under_virtual_time_a_thought_needs_a_pace():
    with pytest.raises(KernelError, match="needs a pace; calibrate the model"):
        Kernel().stream(Script(), pacing=None)


# --- running -----------------------------------------------------------------------------------


def test_running_through_an_instant_includes_it_and_stops_there():
    kernel = Kernel()
    woken = []

    async def sleeper():
        while True:
            await kernel.sleep(5)
            woken.append(kernel.now)

    kernel.start(sleeper())
    kernel.run(until=10)
    assert (woken, kernel.now) == ([5, 10], 10)
    kernel.run(until=12)
    assert (woken, kernel.now) == ([5, 10], 12)
    kernel.run(until=15)
    assert woken == [5, 10, 15]
    kernel.close()


def test_running_until_an_event_stops_at_its_instant_and_gives_its_value():
    with Kernel() as kernel:
        kernel.start(kernel.sleep(100))
        thought = kernel.stream(Script(*words("a b")), pacing=ten_each)
        assert kernel.run_until(thought).text() == "ab"
        assert kernel.now == 20
        assert kernel.run_until(thought) is thought


def test_coming_to_rest_before_an_event_is_an_error_that_says_so():
    with Kernel() as kernel, pytest.raises(KernelError, match="came to rest before <event ahead>"):
        kernel.run_until(kernel.event())


def test_the_present_cannot_be_run_until_the_past():
    kernel = Kernel()
    kernel.run(until=10)
    with pytest.raises(ValueError, match="cannot run until 9 ns: it is 10 ns already"):
        kernel.run(until=9)


def test_closing_twice_is_closing_once():
    log = EventLog()
    kernel = Kernel(log=log)
    source = Script(*words("a"))
    kernel.stream(source, pacing=ten_each)
    kernel.start(kernel.sleep(10), name="sleeper")
    kernel.run(until=5)
    kernel.close()
    once = list(log.events)
    kernel.close()
    assert log.events == once
    assert source.closes == 1
    assert [what for _, what, _ in once[-2:]] == ["cancelled", "orphaned"]


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_a_signal_to_the_program_passes_through_the_timeline(signal):
    cleaned = []

    async def stopped():
        await kernel.sleep(5)
        raise signal

    async def other():
        try:
            await kernel.sleep(100)
        finally:
            cleaned.append(kernel.now)

    with pytest.raises(signal), Kernel() as kernel:  # noqa: PT012 - both are what is promised
        kernel.start(stopped())
        kernel.start(other())
        kernel.run()
    assert cleaned == [5]
