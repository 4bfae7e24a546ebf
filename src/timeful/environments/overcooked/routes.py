"""Shortest paths of one cook around the other: the first move to every cell, found once."""

from collections import deque
from functools import lru_cache

from timeful.environments.overcooked.kitchen import FLOOR, Layout

ORDER = ("D", "U", "R", "L")
"""The order in which neighbours are tried; it decides between paths of equal length."""

HERE = ""
"""The first move to one's own cell."""

FirstMoves = tuple[str | None, ...]
"""For each cell: the first letter of a shortest path, `HERE`, or None if out of reach."""


class Routes:
    """First moves in one layout, remembered for each pair of start and blocked cell."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: dict[tuple[int, int], FirstMoves] = {}

    def first_moves(self, start: int, blocked: int) -> FirstMoves:
        """The first move from `start` to every cell while somebody stands on `blocked`."""
        moves = self._known.get((start, blocked))
        if moves is None:
            moves = self._known[start, blocked] = _search(self._layout, start, blocked)
        return moves

    def is_cell(self, *numbers: int) -> bool:
        """Whether each number is a cell's, or -1 for none."""
        return all(-1 <= number < len(self._layout.terrain) for number in numbers)


def _search(layout: Layout, start: int, blocked: int) -> FirstMoves:
    """Search breadth first; only floor is walked on, other cells can be reached."""
    first: list[str | None] = [None] * len(layout.terrain)
    first[start] = HERE
    queue = deque([start])
    while queue:
        cell = queue.popleft()
        for letter in ORDER:
            neighbour = layout.ahead[letter][cell]
            if neighbour == blocked or first[neighbour] is not None:
                continue
            first[neighbour] = first[cell] or letter
            if layout.terrain[neighbour] == FLOOR:
                queue.append(neighbour)
    return tuple(first)


@lru_cache(maxsize=64)
def routes_of(layout: Layout) -> Routes:
    """The routes of a layout, one object each, so that every episode adds to the same memory."""
    return Routes(layout)
