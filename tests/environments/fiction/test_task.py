"""A game as a task: five tools, the game's own points, and what goes into the record."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.environments.fiction.walkthrough import walk
from timeful.core.units import seconds
from timeful.environments.conformance import World, check_environment
from timeful.environments.fiction.engine import StoryGame
from timeful.environments.fiction.skerry import skerry
from timeful.environments.fiction.task import LONGEST, FictionTask
from timeful.environments.fiction.text_game import TextGame
from timeful.environments.timed.latency import Constant
from timeful.environments.timed.view import TimedView
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.tools import ToolCall, names

HOUR = seconds(3600)


def task(seed: int = 1) -> FictionTask:
    return FictionTask(StoryGame(skerry(seed)))


def use(one: FictionTask, tool: str, **arguments: Any) -> str:
    call = ToolCall(name=tool, arguments=arguments)
    work = one.begin(call, HOUR)
    return one.finish(call, work.run().result if work else None)


def test_the_tools_are_those_of_the_paper() -> None:
    assert names(task().tools) == (
        "step",
        "get_available_actions",
        "get_score",
        "get_max_score",
        "end_game",
    )


def test_they_do_what_they_say() -> None:
    one = task()
    assert "jetty" in one.opening.lower()
    assert use(one, "get_score") == "You have 0 points."
    assert use(one, "get_max_score") == "There are 100 points."
    assert use(one, "get_available_actions") == "You could try: north"
    assert use(one, "step", action=" north  ").startswith("Shingle Beach")
    assert not one.over
    assert use(one, "end_game") == "The game was ended with 0 points."
    assert one.over


@pytest.mark.parametrize("action", ["", "   ", "x" * (LONGEST + 1)])
def test_what_is_no_command_never_reaches_the_game(action: str) -> None:
    one = task()
    assert use(one, "step", action=action)
    assert one.facts()["moves"] == 0


def test_the_facts_are_plain_and_the_score_is_the_games() -> None:
    game = StoryGame(skerry(1))
    one = FictionTask(game)
    walk(game)
    assert one.over
    assert one.score == 100.0
    assert one.facts() == {
        "start_score": 0,
        "final_score": 100,
        "max_score": 100,
        "moves": game.moves,
        "won": True,
    }


@dataclass
class Silent:
    """A game that says nothing of its points."""

    opening: str = "."
    score: int = 0
    start_score: int = 0
    max_score: int | None = None
    moves: int = 0
    over: bool = False
    won: bool = False
    typed: list[str] = field(default_factory=list)

    def reset(self) -> None:
        self.typed = []

    def step(self, action: str) -> str:
        self.typed.append(action)
        return "Nothing."

    def available_actions(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self.over = True


def test_a_game_may_know_neither_its_points_nor_what_can_be_done() -> None:
    game: TextGame = Silent()
    one = FictionTask(game)
    assert use(one, "get_max_score") == "The game does not say."
    assert use(one, "get_available_actions") == "Nothing comes to mind."
    assert one.facts()["max_score"] is None


def timed(one: FictionTask, budget_s: float = 100.0) -> TimedTask:
    time = TimeSettings(budget=seconds(budget_s), latency=Constant(seconds(2)))
    return TimedTask(one, time, seed=1)


def step(action: str) -> str:
    return str(ToolCall(name="step", arguments={"action": action}))


def _choose(view: TimedView, rng: np.random.Generator) -> list[str]:
    """Nothing while a tool runs, as this world refuses it then, else a call at random."""
    if view.running or view.over:
        return []
    listing = str(ToolCall(name="get_available_actions"))
    calls = [step("north"), step("take lantern"), step("east"), listing, step("xyzzy")]
    return [calls[int(rng.integers(len(calls)))]]


def test_it_keeps_the_promises_of_a_world_of_events() -> None:
    check_environment(World(make=lambda: timed(task()), actions=_choose))
