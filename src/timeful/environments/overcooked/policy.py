"""Cook: look some errands ahead, and begin the one that makes most of its time."""

from collections import deque
from typing import Any

DEPTH = 2
MOVES = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}

Cell = tuple[int, int]
Pots = dict[Cell, tuple[int, int]]
"""Onions in each pot, and turns until its soup is ready (99 while it does not cook)."""


def walks(floor: set[Cell], start: Cell, facing: str) -> dict[Cell, tuple[str, Cell, str]]:
    """The shortest walk to each cell that can be faced: actions, last cell, facing."""
    found: dict[Cell, tuple[str, Cell, str]] = {}
    seen, queue = {(start, facing)}, deque([(start, facing, "")])
    while queue:
        (x, y), way, letters = queue.popleft()
        faced = (x + MOVES[way][0], y + MOVES[way][1])
        if faced not in floor:
            found.setdefault(faced, (letters, (x, y), way))
        for letter, (dx, dy) in MOVES.items():
            to = (x + dx, y + dy) if (x + dx, y + dy) in floor else (x, y)
            if (to, letter) not in seen:
                seen.add((to, letter))
                queue.append((to, letter, letters + letter))
    return found


def use(kind: str, cell: Cell, held: str, pots: Pots) -> tuple[str, Pots, float, int] | None:
    """What comes of using a cell: hands, pots, worth, and turns to wait; None if nothing does."""
    onions, ready = pots.get(cell, (0, 99))
    if kind == "Onion Dispenser" and not held:
        return "onion", pots, 1.0, 0
    if kind == "Dish Dispenser" and not held:
        return "dish", pots, 5.0 if any(ready < 99 for _, ready in pots.values()) else 0.0, 0
    if kind == "Pot" and held == "onion" and onions < 3:
        return "", pots | {cell: (onions + 1, 5 if onions == 2 else 99)}, 2.0, 0
    if kind == "Pot" and held == "dish" and ready < 99:
        return "soup", {pot: has for pot, has in pots.items() if pot != cell}, 9.0, ready
    if kind == "Serving Counter" and held == "soup":
        return "", pots, 20.0, 0
    return None


def best(
    state: tuple[Cell, str, str, Pots], places: dict[Cell, str], floor: set[Cell], depth: int
) -> tuple[float, str]:
    """The most that the errands ahead are worth, a point less a turn, and their actions."""
    at, facing, held, pots = state
    found = (0.0, "")
    for cell, (letters, to, way) in walks(floor, at, facing).items():
        used = use(places.get(cell, ""), cell, held, pots) if depth else None
        if used is None:
            continue
        now_held, now_pots, worth, wait = used
        letters += "S" * (wait - len(letters)) + "I"
        later: Pots = {
            pot: (onions, ready if ready == 99 else max(0, ready - len(letters)))
            for pot, (onions, ready) in now_pots.items()
        }
        rest = best((to, way, now_held, later), places, floor, depth - 1)[0]
        found = max(found, (worth - 0.1 * len(letters) + rest, letters))
    return found


def next_action(json_state: dict[str, Any]) -> str:
    """Choose the first action of the best errand; put down what is of no use."""
    me = json_state["state"]["players"][0]
    layout = json_state["layout"]
    floor = {(x, y) for x, y in layout["Floor"]}
    places = {(x, y): kind for kind, cells in layout.items() for x, y in cells}
    pots: Pots = {}
    for thing in json_state["state"]["objects"]:
        if thing["name"] == "soup" and thing["on"] == "Pot":
            ready = 0 if thing["is_ready"] else thing["remaining_cooking_tick"]
            pots[tuple(thing["position"])] = (
                len(thing["ingredients"]),
                99 if ready is None else ready,
            )
    held = me["held_object"]["name"] if me["held_object"] else ""
    here = (me["position"][0], me["position"][1])
    letters = best((here, me["facing"], held, pots), places, floor, DEPTH)[1]
    if letters or not held:
        return letters[:1] or "S"
    full = {tuple(thing["position"]) for thing in json_state["state"]["objects"]}
    free = [
        walk
        for cell, (walk, _, _) in walks(floor, here, me["facing"]).items()
        if places.get(cell) == "Counter" and cell not in full
    ]
    return (free[0] + "I")[0] if free else "S"
