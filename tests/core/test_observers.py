"""Observers of a thought may change it, and others, while they are told."""

import pytest

from tests.core.sources import Script, ten_each, words
from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End


class Does:
    """An observer that does something when it is told, and notes what it is told."""

    def __init__(self, *, chunk=None, change=None):
        self.told = []
        self._chunk = chunk
        self._change = change

    def on_chunk(self, stream, chunk):
        self.told.append(chunk.text)
        if self._chunk:
            self._chunk(stream)

    def on_change(self, stream):
        self.told.append(stream.state)
        if self._change:
            self._change(stream)


def play(text, observer, *, then=None):
    log = EventLog()
    source = Script(*words(text), End())
    with Kernel(log=log) as kernel:
        thought = kernel.stream(source, pacing=ten_each, name="thought", observer=observer)
        if then:
            kernel.start(then(kernel, thought))
        kernel.run()
        assert thought.done or thought.state == "paused"
        now = kernel.now
    ends = [what for _, what, name in log.events if name == "thought"][-1:]
    return thought, now, ends, source


def test_it_may_cut_the_thought_at_a_token():
    watch = Does(chunk=lambda thought: thought.text() == "ab" and thought.cancel("stop word"))
    thought, now, ends, source = play("a b c", watch)
    assert (thought.text(), thought.cause, now) == ("ab", "stop word", 20)
    assert (watch.told, ends, source.pulls) == (["a", "b", "cancelled"], ["cancelled"], 2)


def test_it_may_pause_at_a_token_and_somebody_else_resumes():
    async def resume(kernel, thought):
        await kernel.sleep(100)
        thought.resume()

    watch = Does(chunk=lambda thought: len(thought.chunks) == 1 and thought.pause())
    thought, now, _, _ = play("a b", watch, then=resume)
    assert (thought.text(), now) == ("ab", 110)
    assert watch.told == ["a", "paused", "running", "b", "completed"]


def test_it_may_pause_and_resume_at_one_token():
    def blink(thought):
        assert thought.pause()
        thought.resume()

    watch = Does(chunk=blink)
    thought, now, _, source = play("a b", watch)
    assert (thought.text(), now, source.pulls) == ("ab", 20, 3)
    assert watch.told == ["a", "paused", "running", "b", "paused", "running", "completed"]


@pytest.mark.parametrize("verb", ["cancel", "orphan", "pause"])
def test_what_has_ended_cannot_be_ended_again_by_who_is_told_of_it(verb):
    said = []
    watch = Does(change=lambda thought: said.append(getattr(thought, verb)("again")))
    thought, now, ends, source = play("a b", watch)
    assert (thought.state, now, said, ends) == ("completed", 20, [False], ["completed"])
    assert source.closes == 1


def test_a_cut_told_to_who_cuts_again_is_one_cut():
    async def cut(kernel, thought):
        await kernel.sleep(15)
        assert thought.cancel("first")

    watch = Does(change=lambda thought: thought.cancel("second"))
    thought, _, ends, source = play("a b", watch, then=cut)
    assert (thought.cause, watch.told, ends) == ("first", ["a", "cancelled"], ["cancelled"])
    assert source.closes == 1


def test_a_thought_cut_while_it_is_resumed_moves_no_time():
    async def pause_and_resume(kernel, thought):
        await kernel.sleep(15)
        thought.pause()
        thought.resume()
        assert thought.state == "cancelled"

    watch = Does(change=lambda thought: thought.state == "running" and thought.cancel("no"))
    thought, now, _, _ = play("a b c", watch, then=pause_and_resume)
    assert (thought.text(), now) == ("a", 15)


def test_a_pause_may_be_undone_by_who_is_told_of_it():
    async def pause(kernel, thought):
        await kernel.sleep(15)
        assert thought.pause() is True

    watch = Does(change=lambda thought: thought.state == "paused" and thought.resume())
    thought, now, _, _ = play("a b", watch, then=pause)
    assert (thought.text(), now) == ("ab", 20)


def test_a_limit_set_when_the_end_is_told_moves_no_time():
    watch = Does(change=lambda thought: thought.limit(1_000))
    _, now, _, _ = play("a", watch)
    assert now == 10


def test_it_may_start_interrupt_and_set_whatever_it_likes():
    with Kernel() as kernel:
        event = kernel.event()
        started = []

        def everything(thought):
            event.set("from within")
            started.append(kernel.start(kernel.sleep(5), name="child"))
            started.append(kernel.stream(Script(Chunk("x", 1)), pacing=ten_each, name="other"))
            target.interrupt("from within")

        async def waiter():
            return await event, kernel.now

        async def sleeper():
            await kernel.sleep(100)

        target = kernel.start(sleeper())
        waiting = kernel.start(waiter())
        kernel.stream(Script(Chunk("a", 1)), pacing=ten_each, observer=Does(chunk=everything))
        assert kernel.run_until(waiting) == ("from within", 10)
        kernel.run()
        assert [one.state for one in started] == ["completed", "completed"]
        assert (target.state, kernel.now) == ("cancelled", 20)


def test_what_it_starts_when_the_timeline_is_closed_is_closed_as_well():
    begun = []

    async def child():
        begun.append(True)

    with Kernel() as kernel:
        watch = Does(change=lambda thought: kernel.start(child()))
        kernel.stream(Script(*words("a b")), pacing=ten_each, observer=watch)
        kernel.run(until=15)
    assert (watch.told, begun) == (["a", "orphaned"], [])
    assert not kernel._living


def test_an_error_of_an_observer_is_loud():
    def broken(thought):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        play("a", Does(chunk=broken))
