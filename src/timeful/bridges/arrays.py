"""Views of the built-in worlds as arrays of whole numbers, for policies of numbers."""

from typing import Any

import numpy as np
from gymnasium import spaces

from timeful.core.units import milliseconds
from timeful.environments.freeway.cars import FIRST_COLUMN, GOAL, LAST_COLUMN, PLAYER_COLUMN
from timeful.environments.freeway.view import CarView, FreewayView
from timeful.environments.game import View
from timeful.environments.inbox.settings import URGENCIES
from timeful.environments.inbox.view import InboxView
from timeful.environments.kitchen.settings import TICK
from timeful.environments.kitchen.view import KitchenView
from timeful.environments.overcooked.kitchen import STEPS
from timeful.environments.overcooked.view import TERRAIN_NAMES, OvercookedView
from timeful.environments.snake.levels import BORDER, SIZE
from timeful.environments.snake.view import SnakeView

LETTERS = 8
"""The open emails of an inbox that its arrays show, the most urgent first."""

HEADINGS = {"L": 1, "R": 2, "U": 3, "D": 4}
_DEFAULTS = {"U": 1, "D": 2, "S": 3}
_ITEMS = {None: 0, "onion": 1, "dish": 2, "soup": 3}
_TERRAIN = {kind: number for number, kind in enumerate(TERRAIN_NAMES)}
_STAGES = ("raw", "prepared", "staged", "signalled", "finished")
_ASIDE = ("", "remind", "ignore")

WALLS = np.isin(np.arange(SIZE * SIZE), list(BORDER)).reshape(SIZE, SIZE).astype(np.int8)


def snake_array(view: SnakeView) -> Any:
    """Planes over x and y: solid; body, 1 at the tail; turns that food lasts; heading, 1 to 4."""
    planes = np.zeros((4, SIZE, SIZE), np.int8)
    planes[0] = WALLS
    for x, y in view.obstacles:
        planes[0, x, y] = 1
    length = len(view.body)
    for index, (x, y) in enumerate(view.body):
        planes[1, x, y] = length - index
    for food in view.foods:
        planes[2, food.x, food.y] = food.life
    planes[3][view.body[0]] = HEADINGS[view.heading]
    return planes


def cars_array(cars: tuple[CarView, ...]) -> Any:
    """Planes over lane and column: direction of cars; speed and progress of heads, in twelfths."""
    planes = np.zeros((3, GOAL + 1, LAST_COLUMN + 1), np.int8)
    for car in cars:
        for behind in range(car.length):
            column = car.column - car.sign * behind
            if FIRST_COLUMN <= column <= LAST_COLUMN:
                planes[0, car.lane, column] = car.sign
                if not behind:
                    planes[1:, car.lane, column] = car.speed, car.progress
    return planes


def freeway_array(view: FreewayView) -> Any:
    """The planes of the cars, and the player: 1, 2 or 3 as no action means up, down or stay."""
    planes = np.zeros((4, GOAL + 1, LAST_COLUMN + 1), np.int8)
    planes[:3] = cars_array(view.cars)
    planes[3, view.y, PLAYER_COLUMN] = _DEFAULTS[view.default]
    return planes


def overcooked_array(view: OvercookedView) -> Any:
    """Planes over y and x: terrain, facing of each cook, items, onions in pots, their tick + 1."""
    planes = np.zeros((6, len(view.rows), len(view.rows[0])), np.int8)
    planes[0] = [[_TERRAIN[kind] for kind in row] for row in view.rows]
    for number, cook in enumerate(view.players, 1):
        planes[number, cook.y, cook.x] = 1 + tuple(STEPS).index(cook.facing)
        planes[3, cook.y, cook.x] = _ITEMS[cook.held]
    for counter in view.counters:
        planes[3, counter.y, counter.x] = _ITEMS[counter.item]
    for pot in view.pots:
        planes[4:, pot.y, pot.x] = pot.onions, pot.tick + 1
    return planes


def kitchen_array(view: KitchenView) -> Any:
    """The cook, and a row for each dish and problem; times in ticks."""
    dishes = [
        (
            _STAGES.index(dish.stage),
            dish.is_critical,
            dish.prep // TICK,
            dish.finish // TICK,
            0 if dish.signal is None else max(0, dish.deadline - view.at) // TICK,
        )
        for dish in view.dishes
    ]
    problems = [(row.length, row.written, row.is_complete) for row in view.problems]
    cook = (view.at // TICK, view.mode == "tutor", view.doing is not None, view.free_slots)
    return {
        "cook": np.array(cook, np.int64),
        "dishes": np.array(dishes, np.int64),
        "problems": np.array(problems, np.int64),
    }


def inbox_array(view: InboxView) -> Any:
    """The main task, and a row for each of the most urgent open emails; times in milliseconds."""
    unit = milliseconds(1)
    letters = np.zeros((LETTERS, 4), np.int64)
    for row, letter in zip(letters, view.waiting(), strict=False):
        row[:] = (
            1 + URGENCIES.index(letter.urgency),
            max(0, view.left(letter)) // unit,
            letter.opened,
            _ASIDE.index(letter.set_aside),
        )
    clock = (view.horizon - view.at) // unit
    task = (view.focus == "inbox", view.written, len(view.units), clock)
    return {"task": np.array(task, np.int64), "letters": letters}


def space_of(encode: Any, view: View) -> spaces.Space[Any]:
    """The space of what an encoder of this module gives for such a view."""
    example = encode(view)
    if isinstance(example, dict):
        return spaces.Dict(
            {name: spaces.Box(0, 2**31, rows.shape, np.int64) for name, rows in example.items()}
        )
    low = -1 if encode is freeway_array else 0
    return spaces.Box(low, SIZE * SIZE, example.shape, np.int8)
