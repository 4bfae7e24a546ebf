"""Feed the snake: look some turns ahead for food, and do not die on the way."""

from typing import Any

DEPTH = 2
MOVES = {"L": (-1, 0), "R": (1, 0), "U": (0, 1), "D": (0, -1)}
BACK = {"L": "R", "R": "L", "U": "D", "D": "U"}

Cell = tuple[int, int]


def nearness(head: Cell, foods: dict[Cell, int], turns: int) -> float:
    """Half a food for standing beside one that can be reached in time, less if it is far."""
    ways = [
        abs(x - head[0]) + abs(y - head[1])
        for (x, y), life in foods.items()
        if turns + abs(x - head[0]) + abs(y - head[1]) <= life
    ]
    return 0.5 * (1 - min(ways) / 16) if ways else 0.0


def value(
    body: list[Cell], way: str, foods: dict[Cell, int], solid: set[Cell], turns: int
) -> tuple[float, str]:
    """The most that can be had in the turns that are left to look at, and the move for it."""
    if turns == DEPTH:
        return nearness(body[0], foods, turns), way
    best = (-1.0, way)
    for letter, (dx, dy) in MOVES.items():
        head = (body[0][0] + dx, body[0][1] + dy)
        eats = foods.get(head, 0) > turns
        if letter == BACK[way] or head in solid or head in body[: None if eats else -1]:
            continue
        left = {cell: life for cell, life in foods.items() if cell != head}
        grown = [head, *(body if eats else body[:-1])]
        gained = eats + value(grown, letter, left, solid, turns + 1)[0]
        best = max(best, (gained, letter), key=lambda found: found[0])
    return best


def next_action(json_state: dict[str, Any]) -> str:
    """Choose the move that promises most."""
    size = json_state["size"]
    solid = {(x, y) for x in range(size) for y in range(size) if {x, y} & {0, size - 1}}
    solid |= {(x, y) for x, y in json_state["internal_obstacles"]}
    body = [(x, y) for x, y in json_state["snake"]]
    foods = {(x, y): life for x, y, life, *_ in json_state["foods"]}
    return value(body, json_state["snake_dir"], foods, solid, 0)[1]
