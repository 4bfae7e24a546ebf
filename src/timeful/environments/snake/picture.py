"""The grid of Snake as a picture."""

from collections.abc import Mapping
from typing import Any

from timeful.environments.picture import SIZE, Picture, circle, label, rect


def picture(state: Mapping[str, Any]) -> Picture:
    """Draw a state as `SnakeView.json_state` gives it; the top row is the greatest y."""
    size = state["size"]
    cell = SIZE / size

    def corner(x: int, y: int) -> tuple[float, float]:
        return x * cell, (size - 1 - y) * cell

    walls = [(x, y) for x in range(size) for y in range(size) if {x, y} & {0, size - 1}] + state[
        "internal_obstacles"
    ]
    operations = [rect("quiet", *corner(x, y), cell, cell) for x, y in walls]
    for x, y, life, *_ in state["foods"]:
        west, top = corner(x, y)
        operations.append(circle("good", west + cell / 2, top + cell / 2, cell * 0.36))
        operations.append(label("paper", west + cell * 0.28, top + cell * 0.64, 4.5, str(life)))
    for index, (x, y) in enumerate(reversed(state["snake"]), 1 - len(state["snake"])):
        west, top = corner(x, y)
        inset = cell * (0.04 if index == 0 else 0.12)
        operations.append(
            rect("own", west + inset, top + inset, cell - 2 * inset, cell - 2 * inset)
        )
        if index == 0:
            operations.append(circle("paper", west + cell / 2, top + cell / 2, cell * 0.15))
    return Picture(tuple(operations))
