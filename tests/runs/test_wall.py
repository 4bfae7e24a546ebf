"""Wall time: the world keeps its pace, whatever a model does."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.agents.stage import book, play
from tests.core.machine import FakeMachine
from timeful.agents.agile import agile, agile_concurrent, agile_reduced
from timeful.agents.planning import planning
from timeful.agents.reactive import reactive, reactive_forced
from timeful.agents.session import Agent
from timeful.core.source import Chunk, End
from timeful.core.units import milliseconds
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.records.events import ThoughtStarted


class Stalled:
    """A live source of which nothing ever comes, or only its first chunk."""

    def __init__(self, model: "StalledModel") -> None:
        self._model = model
        self.failure = model.failure
        self._first = [Chunk("hm", 1)] if model.begins else []
        self._notify: Callable[[], None] = lambda: None
        self._is_closed = False

    def pull(self) -> Chunk | End:
        return self._first.pop() if self._first else End("closed")

    def when_ready(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        if self._first:
            notify()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._model.in_flight -= 1
            self._notify()


class StalledModel:
    name, live = "stalled", True
    pace: Pace | None = None

    def __init__(self, *, begins: bool, failure: str | None = None) -> None:
        self.begins = begins
        self.failure = failure
        self.in_flight = self.most = 0

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Stalled:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        return Stalled(self)


def agents(model: StalledModel, other: StalledModel) -> list[Agent]:
    span = milliseconds(20)
    two = {"planner": other, "reactor": model, "prompts": book(), "reserve": span}
    return [
        partial(reactive, model=model, prompts=book(), budget=span),
        partial(reactive_forced, model=model, prompts=book(), budget=span, forced=span // 8),
        partial(planning, model=model, prompts=book()),
        *(partial(kind, **two) for kind in (agile, agile_concurrent, agile_reduced)),
    ]


@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("begins", [False, True])
def test_the_world_moves_on_beside_a_model_that_stalls(which: int, begins: bool) -> None:
    machine = FakeMachine()
    began = machine.shown
    model, other = StalledModel(begins=begins), StalledModel(begins=begins)
    played = play(agents(model, other)[which], turns=40, step=50, clock=machine.clock())
    assert played.ok, played.events[-2:]
    assert played.actions == "s" * 40
    assert machine.shown - began == pytest.approx(40 * 50e6, rel=0.001), "the world never waited"
    assert model.most == 1, "one request in flight a thread"
    assert other.most <= 1
    assert model.in_flight == other.in_flight == 0, "and none is left behind"


@pytest.mark.parametrize("which", range(6))
def test_a_model_whose_attempts_all_failed_is_no_result(which: int) -> None:
    models = [StalledModel(begins=False, failure="status 500") for _ in range(2)]
    played = play(agents(*models)[which], turns=40, step=50, clock=FakeMachine().clock())
    assert played.actions == "s" * 40, "the world did not wait"
    assert (played.failure.boundary, "status 500" in played.failure.error) == ("model", True)


@pytest.mark.parametrize("which", [3, 4, 5])
def test_one_dead_model_of_two_is_no_result(which: int) -> None:
    dead, alive = StalledModel(begins=False, failure="status 500"), StalledModel(begins=True)
    alive.name = "alive"
    for reactor, planner in ((dead, alive), (alive, dead)):
        clock = FakeMachine().clock()
        played = play(agents(reactor, planner)[which], turns=40, step=50, clock=clock)
        has_asked = any(
            isinstance(event, ThoughtStarted) and event.model == "stalled"
            for event in played.events
        )
        assert played.ok != has_asked


def test_a_model_that_answered_once_is_a_result() -> None:
    model = StalledModel(begins=True, failure="status 500")
    agent = agents(model, model)[0]
    assert play(agent, turns=4, step=50, clock=FakeMachine().clock()).ok
