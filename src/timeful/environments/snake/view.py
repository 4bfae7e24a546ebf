"""What a Snake player is shown."""

from dataclasses import dataclass
from string import ascii_letters
from typing import Any, NamedTuple, TypeVar

from timeful.environments.snake.crawl import HORIZON, Crawl
from timeful.environments.snake.levels import MOVES, SIZE, position
from timeful.environments.snake.problem import SnakeProblem

SomeCrawl = TypeVar("SomeCrawl", bound=Crawl)

_LETTERS = {move: letter for letter, move in MOVES.items()}

Place = tuple[int, int]
"""A cell as x and y; x grows to the right, y upwards."""


class Food(NamedTuple):
    """Food at a cell: it is gone when `life` more turns have passed; eating it gives `value`."""

    x: int
    y: int
    life: int
    value: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SnakeView:
    """The state of the snake's world; what food will come next is not part of it.

    `body` is head first, `heading` one of L, R, U and D, and `foods` are in the order in which
    they appeared. The border of the `size` by `size` grid is wall.
    """

    turn: int
    body: tuple[Place, ...]
    heading: str
    obstacles: tuple[Place, ...]
    foods: tuple[Food, ...]
    size: int = 8

    def text(self) -> str:
        """The grid, top row first, each cell 6 wide (spec, section 4, text).

        A body cell under which food lies shows both.
        """
        edge = (0, self.size - 1)
        symbols = {
            (x, y): "#" if x in edge or y in edge else "."
            for x in range(self.size)
            for y in range(self.size)
        }
        symbols |= dict.fromkeys(self.obstacles, "#")
        symbols |= {(food.x, food.y): f"{food.life:+d}" for food in self.foods}
        for spot, letter in zip(self.body, ascii_letters, strict=False):
            below = symbols[spot]
            symbols[spot] = letter if below == "." else letter + below
        rows = range(self.size - 1, -1, -1)
        return "\n".join("".join(f"{symbols[x, y]:<6}" for x in range(self.size)) for y in rows)

    def json_state(self) -> dict[str, Any]:
        """The state as the published benchmark structures it."""
        return {
            "snake": [list(position) for position in self.body],
            "snake_dir": self.heading,
            "internal_obstacles": [list(position) for position in self.obstacles],
            "foods": [list(food) for food in self.foods],
            "size": self.size,
            "game_turn": self.turn,
        }

    def problem(self) -> SnakeProblem:
        """What a search needs in order to plan from here, with nothing that is not shown."""
        return SnakeProblem(crawl_of(self, Crawl))


def crawl_of(view: SnakeView, kind: type[SomeCrawl]) -> SomeCrawl:
    """The world that is shown so, as far as it is shown: the inverse of `show`."""
    crawl = kind(tuple(SIZE * x + y for x, y in view.obstacles))
    crawl.turn = view.turn
    crawl.body = [SIZE * x + y for x, y in view.body]
    crawl.heading = MOVES[view.heading]
    crawl.foods = [SIZE * food.x + food.y for food in view.foods]
    crawl.ends = [view.turn + food.life for food in view.foods]
    crawl.done = view.turn >= HORIZON
    return crawl


def show(crawl: Crawl) -> SnakeView:
    """What a player is shown of a snake's world."""
    foods = zip(crawl.foods, crawl.ends, strict=True)
    return SnakeView(
        turn=crawl.turn,
        body=tuple(position(cell) for cell in crawl.body),
        heading=_LETTERS[crawl.heading],
        obstacles=tuple(position(cell) for cell in crawl.obstacles),
        foods=tuple(Food(*position(cell), life=end - crawl.turn) for cell, end in foods),
        size=SIZE,
    )
