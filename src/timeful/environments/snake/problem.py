"""Snake as a search problem: which way to turn, with the food that is shown.

Food that is yet to appear is not part of it, so plans grow stale when some does.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from timeful.environments.policy_source import read_policy_source
from timeful.environments.snake.crawl import ACTIONS, HORIZON, Crawl
from timeful.environments.snake.levels import MOVES, SIZE
from timeful.environments.temporal_option import TemporalOption

SPAN = 14
"""Turns ahead that a plan may reach: the food that is shown now is gone after ten."""

BREADTH = 10
"""States worth comparing at one turn."""

_LABELS = tuple(f"({cell // SIZE},{cell % SIZE})" for cell in range(SIZE * SIZE))

NEARNESS = 0.5
"""What it is worth, in foods, to stand right at a food that can be reached in time."""


class SnakeProblem:
    """A snake's way to be planned. Its value counts food eaten and nearness to the next."""

    actions: ClassVar[tuple[str, ...]] = ACTIONS

    def __init__(self, crawl: Crawl) -> None:
        self.turn = crawl.turn
        self.breadth = BREADTH
        self.span = min(SPAN, HORIZON - crawl.turn)
        self.start = crawl
        self.where = _label(crawl.body[0])

    def options(self, state: Crawl) -> tuple[TemporalOption[Crawl], ...]:
        """The three ways that are no reversal."""
        back = -state.heading
        return tuple([self.step(state, letter) for letter in ACTIONS if MOVES[letter] != back])

    def step(self, state: Crawl, letter: str) -> TemporalOption[Crawl]:
        """Imagine one turn."""
        after = state.copy()
        reward = after.step(letter)
        if reward < 0:
            cell = state.body[0] + after.heading
            return TemporalOption(letter, (_label(cell),), "die", None, None, -1.0)
        body, foods = after.body, after.foods
        aim = "eat" if reward else "move on"
        key = (bytes(body), bytes(foods), after.heading)
        return TemporalOption(
            letter, (_label(body[0]),), aim, after, key, after.score + _nearness(after)
        )

    def tell(self, state: Crawl, options: Iterable[TemporalOption[Crawl]]) -> str:
        """Say at length what comes of each option."""
        return " ".join([_tell(state, option) for option in options])

    def program(self, depth: int) -> str:
        """A program that plays by looking `depth` decisions ahead: `next_action(json_state)`."""
        return read_policy_source(Path(__file__).parent, depth)


def _label(cell: int) -> str:
    return _LABELS[cell]


def _nearest(crawl: Crawl) -> tuple[int, int, int] | None:
    """Distance, cell and end of the nearest food that a snake in open space reaches in time."""
    x, y = divmod(crawl.body[0], SIZE)
    best = None
    for cell, end in zip(crawl.foods, crawl.ends, strict=True):
        far = abs(cell // SIZE - x) + abs(cell % SIZE - y)
        if crawl.turn + far <= end and (best is None or far < best[0]):
            best = (far, cell, end)
    return best


def _nearness(crawl: Crawl) -> float:
    near = _nearest(crawl)
    return 0.0 if near is None else NEARNESS * (1.0 - near[0] / (2 * SIZE))


def _tell(state: Crawl, option: TemporalOption[Crawl]) -> str:
    after = option.state
    if after is None:
        return (
            f"{option.letters} would take my head to {option.labels[0]} at turn {state.turn + 1}, "
            f"but {_obstacle(state, option.labels[0])} is in the way there, so I would die: this "
            "is closed."
        )
    near = _nearest(after)
    if near is None:
        food = "From there no food that I see can be reached before it is gone."
    else:
        far, cell, end = near
        food = (
            f"From there the nearest food that I can reach in time is the one at {_label(cell)}, "
            f"{far} steps away, with {end - after.turn} turns left."
        )
    eaten = "where I eat and grow" if option.aim == "eat" else "which is free then"
    return (
        f"{option.letters} takes my head to {option.labels[0]} at turn {after.turn}, {eaten}. "
        f"{food} I would be {len(after.body)} long and have eaten {after.score:.0f} since now."
    )


def _obstacle(state: Crawl, label: str) -> str:
    for cell in state.body:
        if _label(cell) == label:
            return "my own body"
    return "an obstacle" if label in map(_label, state.obstacles) else "the wall"
