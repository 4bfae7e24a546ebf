"""What the two cooks show of themselves: the view that agents are given."""

from dataclasses import dataclass
from typing import Any, Final

from timeful.environments.overcooked.kitchen import (
    COOK_TIME,
    COUNTER,
    DISHES,
    FLOOR,
    ONIONS,
    POT,
    RECIPE,
    SERVING,
    SOUP_VALUE,
    STEPS,
    Item,
    Kitchen,
    layout_of,
)
from timeful.environments.overcooked.problem import OvercookedProblem

SHOWN_HISTORY: Final = 5
"""How many of each cook's last actions are shown."""

TERRAIN_NAMES: Final = {
    FLOOR: "Floor",
    COUNTER: "Counter",
    POT: "Pot",
    ONIONS: "Onion Dispenser",
    DISHES: "Dish Dispenser",
    SERVING: "Serving Counter",
}

_ARROWS: Final = {"U": "↑", "D": "↓", "L": "←", "R": "→"}
_CELL_WIDTH: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class CookView:
    """A cook: where, facing which way (U, D, L or R), holding what."""

    name: str
    x: int
    y: int
    facing: str
    held: Item | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterView:
    """A counter with an item on it."""

    x: int
    y: int
    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class PotView:
    """A pot with 1 to 3 onions; `tick` counts cooked turns, -1 while it does not cook."""

    x: int
    y: int
    onions: int
    tick: int

    @property
    def is_ready(self) -> bool:
        """Whether the soup is done."""
        return self.tick >= COOK_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class OvercookedView:
    """A state as players see it; nothing of what the partner intends.

    `rows` is the empty kitchen, bottom row (y = 0) first. `players` are Alice, then Bob;
    `history` holds up to five last letters of each, the latest last. `counters` and `pots` list
    those that are not empty, in order of (x, y).
    """

    turn: int
    rows: tuple[str, ...]
    players: tuple[CookView, CookView]
    counters: tuple[CounterView, ...]
    pots: tuple[PotView, ...]
    history: tuple[str, str]

    @property
    def orders(self) -> tuple[tuple[str, ...], ...]:
        """The soups that are asked for, always; each is a list of ingredients."""
        return (RECIPE,)

    def text(self) -> str:
        """The kitchen as a grid, the highest y on top.

        A cook is an arrow, a number (0 is Alice, 1 is Bob) and the first letter of what is held;
        a pot with something in it is `P{`, one `ø` an onion, then the tick or a check mark.
        """
        grid = [list(row) for row in self.rows]
        for counter in self.counters:
            grid[counter.y][counter.x] = COUNTER + counter.item[0]
        for pot in self.pots:
            progress = "✓" if pot.is_ready else str(pot.tick) if pot.tick >= 0 else ""
            grid[pot.y][pot.x] = f"{POT}{{{'ø' * pot.onions}{progress}"
        for index, cook in enumerate(self.players):
            item = cook.held[0] if cook.held else ""
            grid[cook.y][cook.x] = f"{_ARROWS[cook.facing]}{index}{item}"
        lines = ["".join(f"{cell:<{_CELL_WIDTH}} " for cell in row) for row in reversed(grid)]
        return "\n".join(lines)

    def json_state(self) -> dict[str, Any]:
        """The state as plain JSON values, shaped like the published structured state."""
        orders = [{"ingredients": list(order), "value": SOUP_VALUE} for order in self.orders]
        return {
            "game_turn": self.turn,
            "history": [list(letters) for letters in self.history],
            "state": {
                "players": [_cook_json(cook) for cook in self.players],
                "objects": [_counter_json(counter) for counter in self.counters]
                + [_pot_json(pot) for pot in self.pots],
                "all_orders": orders,
                "timestep": self.turn,
            },
            "all_orders": orders,
            "layout": {
                name: [
                    [x, y]
                    for y, row in enumerate(self.rows)
                    for x, cell in enumerate(row)
                    if cell == kind
                ]
                for kind, name in TERRAIN_NAMES.items()
            },
        }

    def problem(self) -> OvercookedProblem:
        """What a search needs in order to plan from here, with nothing that is not shown."""
        return OvercookedProblem(kitchen_of(self), turn=self.turn)


def _cook_json(cook: CookView) -> dict[str, Any]:
    return {
        "name": cook.name,
        "position": [cook.x, cook.y],
        "facing": cook.facing,
        "orientation": list(STEPS[cook.facing]),
        "held_object": {"name": cook.held} if cook.held else None,
    }


def _counter_json(counter: CounterView) -> dict[str, Any]:
    return {"name": counter.item, "position": [counter.x, counter.y], "on": "Counter"}


def _pot_json(pot: PotView) -> dict[str, Any]:
    is_cooking = 0 <= pot.tick < COOK_TIME
    return {
        "name": "soup",
        "position": [pot.x, pot.y],
        "on": "Pot",
        "ingredients": ["onion"] * pot.onions,
        "cooking_tick": pot.tick,
        "cook_time": COOK_TIME,
        "is_cooking": is_cooking,
        "remaining_cooking_tick": COOK_TIME - pot.tick if is_cooking else None,
        "is_ready": pot.is_ready,
    }


def kitchen_of(view: OvercookedView) -> Kitchen:
    """The kitchen that is shown so: the inverse of `show`."""
    layout = layout_of(view.rows)
    return Kitchen(
        layout,
        at=[layout.cell(cook.x, cook.y) for cook in view.players],
        facing=[cook.facing for cook in view.players],
        held=[cook.held for cook in view.players],
        counters={layout.cell(spot.x, spot.y): spot.item for spot in view.counters},
        pots={layout.cell(pot.x, pot.y): (pot.onions, pot.tick) for pot in view.pots},
    )


def show(kitchen: Kitchen, *, turn: int, history: tuple[str, str]) -> OvercookedView:
    """What a player is shown of a kitchen.

    Args:
        kitchen: The state; it is read, not kept.
        turn: The number of turns that have passed.
        history: The letters of Alice and of Bob so far, latest last; five of each are shown.
    """
    cells = kitchen.layout.cells
    alice, bob = (
        CookView(
            name=name,
            x=cells[kitchen.at[number]][0],
            y=cells[kitchen.at[number]][1],
            facing=kitchen.facing[number],
            held=kitchen.held[number],
        )
        for number, name in enumerate(("Alice", "Bob"))
    )
    return OvercookedView(
        turn=turn,
        rows=kitchen.layout.rows,
        players=(alice, bob),
        counters=tuple(
            CounterView(x=x, y=y, item=item)
            for (x, y), item in sorted((cells[cell], i) for cell, i in kitchen.counters.items())
        ),
        pots=tuple(
            PotView(x=x, y=y, onions=onions, tick=tick)
            for (x, y), (onions, tick) in sorted((cells[c], p) for c, p in kitchen.pots.items())
        ),
        history=(history[0][-SHOWN_HISTORY:], history[1][-SHOWN_HISTORY:]),
    )
