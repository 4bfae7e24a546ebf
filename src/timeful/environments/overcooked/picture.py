"""The kitchen of the two cooks as a picture."""

from collections.abc import Mapping
from typing import Any

from timeful.environments.picture import SIZE, Operation, Picture, Role, circle, label, line, rect

_NAMES = {"Pot": "pot", "Onion Dispenser": "onions", "Dish Dispenser": "dishes"}
_NAMES |= {"Serving Counter": "serve"}


def picture(state: Mapping[str, Any]) -> Picture:
    """Draw a state as `OvercookedView.json_state` gives it; the highest y is at the top."""
    layout, scene = state["layout"], state["state"]
    cells = [(x, y, kind) for kind, places in layout.items() for x, y in places]
    columns, rows = max(x for x, _, _ in cells) + 1, max(y for _, y, _ in cells) + 1
    cell = SIZE / max(columns, rows)

    def corner(place: list[int]) -> tuple[float, float]:
        return place[0] * cell, (rows - 1 - place[1]) * cell

    operations: list[Operation] = []
    for x, y, kind in cells:
        if kind != "Floor":
            west, top = corner([x, y])
            operations.append(rect("quiet", west, top, cell * 0.98, cell * 0.98))
            if kind in _NAMES:
                text = _NAMES[kind]
                operations.append(label("paper", west + 0.8, top + cell * 0.9, 2.8, text))
    for item in scene["objects"]:
        operations += _item(item, *corner(item["position"]), cell)
    for number, cook in enumerate(scene["players"]):
        operations += _cook(
            cook, "own" if number == 0 else "other", *corner(cook["position"]), cell
        )
    return Picture(tuple(operations))


def _item(item: Mapping[str, Any], west: float, top: float, cell: float) -> list[Operation]:
    """A thing on a counter, or a pot with its onions and how far it is cooked."""
    if item.get("on") != "Pot":
        return [circle("good", west + cell / 2, top + cell / 2, cell * 0.16)]
    onions = [
        circle("good", west + cell * (0.25 + 0.25 * number), top + cell * 0.3, cell * 0.1)
        for number in range(len(item["ingredients"]))
    ]
    text = "ready" if item["is_ready"] else f"{item['cooking_tick']}" if item["is_cooking"] else ""
    return [*onions, label("paper", west + cell * 0.15, top + cell * 0.65, 3.2, text)]


def _cook(
    cook: Mapping[str, Any], role: Role, west: float, top: float, cell: float
) -> list[Operation]:
    x, y = west + cell / 2, top + cell / 2
    step_x, step_y = cook["orientation"]
    held = cook["held_object"]
    return [
        circle(role, x, y, cell * 0.34),
        line("ink", x, y, x + step_x * cell * 0.45, y - step_y * cell * 0.45),
        label("paper", x - cell * 0.1, y + cell * 0.1, 4, cook["name"][:1]),
        *([label("ink", west + 0.5, top + cell * 0.97, 3, held["name"])] if held else []),
    ]
