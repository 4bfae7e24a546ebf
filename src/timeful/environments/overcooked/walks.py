"""The walks of one cook: the actions that lead to a place from which a cell can be used."""

from collections import deque
from functools import lru_cache
from typing import NamedTuple

from timeful.environments.overcooked.kitchen import FLOOR, STEPS, Layout


class Walk(NamedTuple):
    """Actions one after the other, and the cell and facing after each."""

    letters: str
    cells: tuple[int, ...]
    facing: str


Walks = dict[int, Walk]
"""The shortest walk to each cell that can be faced, nearest first."""


@lru_cache(maxsize=8192)
def walks_from(layout: Layout, start: int, facing: str) -> Walks:
    """Find the shortest walks after which each cell beside the floor is faced.

    Args:
        layout: The kitchen.
        start: The cell where the cook stands.
        facing: Which way the cook faces.
    """
    walks: Walks = {}
    poses = {(start, facing)}
    queue = deque([(start, Walk("", (), facing))])
    while queue:
        cell, walk = queue.popleft()
        faced = layout.ahead[walk.facing][cell]
        if layout.terrain[faced] != FLOOR:
            walks.setdefault(faced, walk)
        for letter in STEPS:
            to = layout.after[letter][cell]
            if (to, letter) not in poses:
                poses.add((to, letter))
                queue.append((to, Walk(walk.letters + letter, (*walk.cells, to), letter)))
    return walks
