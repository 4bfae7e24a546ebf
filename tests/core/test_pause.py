"""Pauses: a thought loses no token and no time by them."""

from hypothesis import given
from hypothesis import strategies as st

from tests.core.sources import Script, ten_each
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End


class Watch:
    """An observer that adds up how long a thought ran."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.ran = 0
        self.since = kernel.now
        self.offsets = []  # running time at each chunk

    def on_chunk(self, stream, chunk):
        self.offsets.append(self.ran + self.kernel.now - self.since)

    def on_change(self, stream):
        if stream.state == "running":
            self.since = self.kernel.now
        elif stream.state == "paused" or self.since is not None:
            self.ran += self.kernel.now - self.since
            if stream.state != "paused":
                self.since = None


chunks = st.lists(st.integers(0, 4).map(lambda n: Chunk("x" * n, n)), max_size=8)
pauses = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6)


@given(chunks, pauses, st.integers(0, 25), st.none() | st.integers(0, 40))
def test_the_time_that_a_thought_runs_is_its_price_however_it_is_paused(
    pieces, pattern, first, reported
):
    def pacing(tokens):
        return first + 7 * tokens

    kernel = Kernel()
    watch = Watch(kernel)
    thought = kernel.stream(Script(*pieces, End(tokens=reported)), pacing=pacing, observer=watch)

    async def pauser():
        for run, rest in pattern:
            await kernel.sleep(run)
            if thought.pause("again"):
                await kernel.sleep(rest)
                thought.resume()

    kernel.start(pauser())
    kernel.run()
    counted = sum(chunk.tokens for chunk in pieces)
    assert thought.state == "completed"
    assert tuple(thought.chunks) == tuple(pieces)
    assert thought.tokens == max(counted, reported or 0)
    assert watch.ran == pacing(thought.tokens)
    so_far = [sum(chunk.tokens for chunk in pieces[: k + 1]) for k in range(len(pieces))]
    assert watch.offsets == [pacing(tokens) for tokens in so_far]


@given(chunks, st.integers(0, 120), st.integers(0, 50))
def test_prefix_and_drained_rest_are_the_whole_wherever_it_is_paused(pieces, instant, more):
    kernel = Kernel()
    source = Script(*pieces, End())
    thought = kernel.stream(source, pacing=ten_each)
    kernel.run(until=instant)
    if not thought.pause():
        assert thought.state == "completed"
        assert tuple(thought.chunks) == tuple(pieces)
        return
    kernel.run(until=instant + more)
    prefix = tuple(thought.chunks)
    assert 10 * sum(chunk.tokens for chunk in prefix) <= instant
    assert prefix + thought.drain() == tuple(pieces)
    assert source.closes == 1


def test_a_paused_thought_costs_no_time_and_asks_for_nothing():
    kernel = Kernel()
    source = Script(Chunk("a", 1), Chunk("b", 1), End())
    thought = kernel.stream(source, pacing=ten_each)
    kernel.run(until=10)
    thought.pause()
    pulls = source.pulls
    kernel.run()
    assert (kernel.now, source.pulls, thought.state) == (10, pulls, "paused")


def test_paused_and_resumed_at_one_instant_nothing_has_changed():
    kernel = Kernel()
    thought = kernel.stream(Script(Chunk("a", 1), Chunk("b", 1)), pacing=ten_each)
    kernel.run(until=15)
    for _ in range(3):
        assert thought.pause() is True
        thought.resume()
    kernel.run()
    assert (kernel.now, thought.text(), thought.cause) == (20, "ab", None)
