"""What a Snake player is shown."""

from dataclasses import dataclass
from string import ascii_letters
from typing import Any, NamedTuple

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
        shown = {
            (x, y): "#" if x in edge or y in edge else "."
            for x in range(self.size)
            for y in range(self.size)
        }
        shown |= dict.fromkeys(self.obstacles, "#")
        shown |= {(food.x, food.y): f"{food.life:+d}" for food in self.foods}
        for place, letter in zip(self.body, ascii_letters, strict=False):
            below = shown[place]
            shown[place] = letter if below == "." else letter + below
        rows = range(self.size - 1, -1, -1)
        return "\n".join("".join(f"{shown[x, y]:<6}" for x in range(self.size)) for y in rows)

    def json_state(self) -> dict[str, Any]:
        """The state as the published benchmark structures it."""
        return {
            "snake": [list(place) for place in self.body],
            "snake_dir": self.heading,
            "internal_obstacles": [list(place) for place in self.obstacles],
            "foods": [list(food) for food in self.foods],
            "size": self.size,
            "game_turn": self.turn,
        }
