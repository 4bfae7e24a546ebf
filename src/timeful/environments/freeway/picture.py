"""The road of Freeway as a picture."""

from collections.abc import Mapping
from typing import Any

from timeful.environments.freeway.cars import GOAL, LAST_COLUMN, PLAYER_COLUMN
from timeful.environments.freeway.view import PARTS
from timeful.environments.picture import SIZE, Operation, Picture, circle, line, rect


def picture(state: Mapping[str, Any]) -> Picture:
    """Draw a state as `FreewayView.json_state` gives it; the goal is at the top."""
    lane, cell = SIZE / (GOAL + 1), SIZE / (LAST_COLUMN + 1)

    def top(number: int) -> float:
        return (GOAL - number) * lane

    operations: list[Operation] = [
        rect("good", 0, top(GOAL), SIZE, lane * 0.12),
        *(line("quiet", 0, top(number), SIZE, top(number)) for number in range(GOAL)),
    ]
    for number, head, direction, _, span in state["car_states"]:
        sign = 1 if direction == "right" else -1
        ends = sorted((head, head - sign * span))
        west, right = ((end / PARTS + PLAYER_COLUMN) * cell for end in (ends[0], ends[1] + 1))
        west, right = max(west, 0.0), min(right, SIZE)
        if right > west:
            operations.append(
                rect("other", west, top(number) + lane * 0.2, right - west, lane * 0.6)
            )
            front = right if sign > 0 else west
            operations.append(circle("bad", front, top(number) + lane / 2, lane * 0.12))
    y = top(state["player_states"]) + lane / 2
    operations.append(circle("own", (PLAYER_COLUMN + 0.5) * cell, y, lane * 0.34))
    return Picture(tuple(operations))
