"""Random programs for the kernel: each activity a list of steps, all that happens in a trace."""

from hypothesis import strategies as st

from tests.core.sources import Script
from timeful.core.activity import CancelledActivityError, Interrupted
from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End

SIZE = 4  # activities, events and streams of each program
some = st.integers(0, SIZE - 1)
span = st.integers(0, 6)
step = st.one_of(
    st.tuples(st.just("sleep"), span),
    st.tuples(st.just("sleep_until"), st.integers(0, 20)),
    st.tuples(st.just("world_turn"), st.integers(0, 20)),
    st.tuples(st.just("set"), some),
    st.tuples(st.just("wait"), some),
    st.tuples(st.just("wait_any"), some, span),
    st.tuples(st.just("wait_all"), some),
    st.tuples(st.just("timer"), span),
    st.tuples(st.just("deadline"), span, span),
    st.tuples(st.just("interrupt"), some),
    st.tuples(st.just("join"), some),
    st.tuples(st.just("hold"), span),
    st.tuples(st.just("call"), span),
    st.tuples(st.just("pause"), some),
    st.tuples(st.just("resume"), some),
    st.tuples(st.just("cancel"), some),
    st.tuples(st.just("read"), some),
)
program = st.lists(st.lists(step, max_size=7), min_size=1, max_size=SIZE)


class Machine:
    """Runs one program and keeps its trace: (instant, activity, number of step, what)."""

    def __init__(self, steps, clock=None):
        self.log = EventLog()
        self.kernel = Kernel(clock, log=self.log)
        self.trace = []
        self.events = [self.kernel.event() for _ in range(SIZE)]
        self.streams = [
            self.kernel.stream(
                Script(*(Chunk("x", tokens) for tokens in range(k + 1)), End()),
                pacing=lambda tokens: 3 * tokens,
                name=f"s{k}",
            )
            for k in range(SIZE)
        ]
        self.activities = []
        for k, own in enumerate(steps):
            self.activities.append(self.kernel.start(self.live(k, own), name=f"a{k}"))

    def run(self):
        self.kernel.run()
        self.kernel.close()
        return self

    def note(self, k, number, what):
        self.trace.append((self.kernel.now, k, number, what))

    async def live(self, k, steps):
        for number, (name, *args) in enumerate(steps):
            self.note(k, number, f"begin {name}")
            try:
                said = await getattr(self, f"do_{name}")(k, *args)
            except Interrupted as signal:
                self.note(k, number, f"interrupted by {signal.cause} at {signal.at}")
            except CancelledActivityError:
                self.note(k, number, "cancelled child")
            else:
                self.note(k, number, f"end {said}")

    async def do_sleep(self, k, span):
        due = self.kernel.now + span
        await self.kernel.sleep(span)
        assert self.kernel.now == due
        return "slept"

    async def do_sleep_until(self, k, at):
        due = max(at, self.kernel.now)
        await self.kernel.sleep_until(at)
        assert self.kernel.now == due

    async def do_world_turn(self, k, at):
        due = max(at, self.kernel.now)
        await self.kernel.world_turn(at)
        assert self.kernel.now == due

    async def do_set(self, k, which):
        if not self.events[which].done:
            self.events[which].set(self.kernel.now)

    async def do_wait(self, k, which):
        begun, set_at = self.kernel.now, await self.events[which]
        assert self.kernel.now == max(begun, set_at)

    async def do_wait_any(self, k, which, span):
        due = self.kernel.now + span
        events = (self.events[which], self.streams[which])
        happened = await self.kernel.wait_any(*events, deadline=due)
        assert happened == tuple(event for event in events if event.done)
        assert happened or self.kernel.now == due
        return len(happened)

    async def do_wait_all(self, k, which):
        await self.kernel.wait_all(self.streams[which], self.streams[0])

    async def do_timer(self, k, span):
        due = self.kernel.now + span
        await self.kernel.timer(due)
        assert self.kernel.now == due

    async def do_deadline(self, k, span, sleep):
        begun = self.kernel.now
        with self.kernel.deadline(begun + span) as deadline:
            await self.kernel.sleep(sleep)
        assert deadline.passed == (sleep > span)
        assert self.kernel.now == begun + min(span, sleep)
        return deadline.passed

    async def do_interrupt(self, k, which):
        if which < len(self.activities) and which != k:
            target = self.activities[which]
            assert target.interrupt(f"a{k}") is not target.done

    async def do_join(self, k, which):
        if which < len(self.activities) and which != k:
            await self.activities[which]

    async def do_hold(self, k, value):
        before = self.kernel.now
        assert await self.kernel.hold(lambda: value, name="hold") == value
        assert self.kernel.now == before or self.kernel.clock.is_wall

    async def do_call(self, k, value):
        self.kernel.call(lambda: value, name="call")

    async def do_pause(self, k, which):
        return self.streams[which].pause()

    async def do_resume(self, k, which):
        if self.streams[which].state == "paused":
            self.streams[which].resume()

    async def do_cancel(self, k, which):
        return self.streams[which].cancel()

    async def do_read(self, k, which):
        return len(self.streams[which].chunks)
