"""The interruption contract where there is real work: every started call ends exactly once."""

import threading

import pytest

from tests.core.driving import at
from tests.core.sources import Script, ten_each
from timeful.core.instruments import EventLog
from timeful.core.kernel import Kernel


class Tool:
    """Real work that runs until it is let go, and leaves a mark when it is through."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.marks: list[str] = []

    def __call__(self) -> str:
        assert self.may_end.wait(30)
        self.marks.append("done")
        return "result"


def holder(kernel, tool, *, stop=None):
    async def hold():
        return await kernel.hold(tool, stop=stop, name="tool")

    return kernel.start(hold(), name="holder")


def ends(kernel):
    ending = ("completed", "cancelled", "orphaned")
    return [what for _, what, name in kernel._log.events if name == "tool" and what in ending]


def test_a_call_that_comes_back_is_completed_and_took_no_simulated_time(kernel):
    tool = Tool()
    tool.may_end.set()
    target = holder(kernel, tool)
    assert kernel.run_until(target) == "result"
    assert (kernel.now, ends(kernel)) == (0, ["completed"])


def test_interrupted_while_it_holds_for_real_work_the_call_is_stopped_and_cancelled(kernel):
    tool = Tool()
    target = holder(kernel, tool, stop=tool.may_end.set)

    async def interrupter():
        target.interrupt("changed my mind")

    kernel.start(interrupter())
    kernel.run()
    assert (target.state, target.cause) == ("cancelled", "changed my mind")
    assert (ends(kernel), tool.marks) == (["cancelled"], ["done"])


def test_work_that_cannot_be_stopped_is_orphaned_and_its_side_effects_stay(kernel):
    tool = Tool()
    target = holder(kernel, tool)

    async def interrupter():
        target.interrupt()
        tool.may_end.set()

    kernel.start(interrupter())
    kernel.run()
    assert (target.state, ends(kernel), tool.marks) == ("cancelled", ["orphaned"], ["done"])


def test_time_does_not_pass_an_abandoned_call_that_still_runs(kernel):
    class LetsGo(Script):
        def pull(self):
            tool.may_end.set()  # real work is being waited for: all else at this instant is done
            return super().pull()

    tool = Tool()
    kernel.stream(LetsGo(), pacing=ten_each)
    target = holder(kernel, tool)
    at(kernel, 0, target.interrupt)
    at(kernel, 1, lambda: tool.marks.append("a nanosecond later"))
    kernel.run()
    assert tool.marks == ["done", "a nanosecond later"]


def test_abandoning_what_has_come_back_does_nothing_and_says_so(kernel):
    call = kernel.call(lambda: 3)
    assert kernel.run_until(call) == 3
    assert call.abandon("late") is False
    assert (call.state, call.cause) == ("completed", None)


def test_what_an_abandoned_call_returns_can_still_be_looked_at(kernel):
    call = kernel.call(lambda: 3)
    assert call.abandon("not needed") is True
    assert call.abandon("again") is False
    assert kernel.run_until(call) == 3
    assert (call.state, call.cause) == ("orphaned", "not needed")


def test_an_error_of_abandoned_work_does_not_end_the_run(kernel):
    call = kernel.call(lambda: 1 / 0)
    call.abandon()
    kernel.run()
    assert call.state == "orphaned"
    with pytest.raises(ZeroDivisionError):
        call.result()


def test_every_started_call_ends_exactly_once_however_the_timeline_ends():
    log = EventLog()
    tools = [Tool() for _ in range(3)]
    with Kernel(log=log) as kernel:
        tools[0].may_end.set()
        kernel.run_until(kernel.call(tools[0], name="back"))
        kernel.call(tools[1], name="stopped", stop=tools[1].may_end.set)
        kernel.call(tools[2], name="left")
    tools[2].may_end.set()
    kernel.close()
    assert [(what, name) for _, what, name in log.events if what != "start"] == [
        ("completed", "back"),
        ("orphaned", "left"),
        ("cancelled", "stopped"),
    ]
