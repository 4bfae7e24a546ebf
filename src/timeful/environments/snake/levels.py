"""Where obstacles stand and food will appear: the published levels, and fresh ones.

The grid is 8 by 8; its border is wall, the interior is 1..6 both ways. A cell is the number
8 * x + y, so a move adds a constant and a cell fits one byte.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from timeful.environments.game import Difficulty
from timeful.errors import WorldError
from timeful.seeding import child

SIZE = 8
START = 8 * 3 + 3
MOVES = {"L": -SIZE, "R": SIZE, "U": 1, "D": -1}
INTERIOR = tuple(SIZE * x + y for x in range(1, SIZE - 1) for y in range(1, SIZE - 1))
BORDER = frozenset(range(SIZE * SIZE)) - frozenset(INTERIOR)

PUBLISHED_SEEDS = range(32)
PUBLISHED_OBSTACLES: dict[Difficulty, int] = {"easy": 1, "medium": 5, "hard": 8}
OBSTACLE_RANGES: dict[Difficulty, range] = {
    "easy": range(1, 2),
    "medium": range(2, 6),
    "hard": range(6, 9),
}
"""The number of obstacles N in paper mode (paper, Table 5)."""

MOST_CANDIDATES = 1_000
"""Levels to try before giving up; most are connected, so this is never reached."""


def position(cell: int) -> tuple[int, int]:
    """The x and y of a cell."""
    return divmod(cell, SIZE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What a seed decides: the obstacles as drawn, and the cells where food will appear.

    Food takes the cells of `cycle` one after the other, over and over.
    """

    obstacles: tuple[int, ...]
    cycle: tuple[int, ...]


def published_level(difficulty: Difficulty, seed: int) -> Level:
    """Make the level of a published game seed, 0 to 31 (spec, section 4, reset).

    The generator's seed is the game seed alone, so difficulties share their draws.
    """
    rng = np.random.RandomState(seed)
    obstacles = _draw_cells(lambda: int(rng.randint(1, 7)), PUBLISHED_OBSTACLES[difficulty])
    cycle = _open_cells(obstacles)
    rng.shuffle(cycle)
    rng.shuffle(cycle)  # the benchmark does it twice
    return Level(obstacles=obstacles, cycle=tuple(cycle))


def fresh_level(difficulty: Difficulty, seed: int) -> Level:
    """Make a level from any seed whose free cells all hang together (paper mode).

    Raises:
        WorldError: If `MOST_CANDIDATES` draws all wall something off.
    """
    rng = child(seed, "snake", difficulty, "level")
    count = int(rng.choice(OBSTACLE_RANGES[difficulty]))
    for _ in range(MOST_CANDIDATES):
        obstacles = _draw_cells(lambda: int(rng.integers(1, SIZE - 1)), count)
        cycle = _open_cells(obstacles)
        if _reached(START, {START, *cycle}) == len(cycle) + 1:
            rng.shuffle(cycle)
            return Level(obstacles=obstacles, cycle=tuple(cycle))
    raise WorldError(
        f"no {difficulty} level found for seed {seed} among {MOST_CANDIDATES} candidates; "
        "take another seed"
    )


def _draw_cells(draw: Callable[[], int], count: int) -> tuple[int, ...]:
    """Draw x, then y, until there are `count` different cells, none of them the start."""
    cells: list[int] = []
    while len(cells) < count:
        x = draw()
        cell = SIZE * x + draw()
        if cell != START and cell not in cells:
            cells.append(cell)
    return tuple(cells)


def _open_cells(obstacles: Collection[int]) -> list[int]:
    return [cell for cell in INTERIOR if cell != START and cell not in obstacles]


def _reached(start: int, free: Collection[int]) -> int:
    """How many of the free cells can be reached from the start, itself included."""
    reached_cells, frontier = {start}, [start]
    while frontier:
        cell = frontier.pop()
        near = {cell + move for move in MOVES.values()} & set(free) - reached_cells
        reached_cells |= near
        frontier.extend(near)
    return len(reached_cells)
