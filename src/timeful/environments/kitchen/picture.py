"""The kitchen with tutoring as a picture: dishes with their windows, problems with their texts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from timeful.environments.kitchen.settings import TICK
from timeful.environments.picture import Operation, Picture, Role, bar, label, rect

_ROWS = 8


def picture(state: Mapping[str, Any]) -> Picture:
    """Draw a state as `KitchenView.json_state` gives it; times are in ticks."""
    at, dishes, problems = state["at"], state["dishes"][:_ROWS], state["problems"][:_ROWS]
    operations: list[Operation] = [
        label("ink", 2, 6, 4.2, f"tick {at // TICK}"),
        label("quiet", 40, 6, 4, f"{state['doing'] or state['mode']}"),
    ]
    for index, dish in enumerate(dishes):
        y = 15 + index * 7.5
        operations += [
            label("ink", 2, y, 3.8, dish["name"]),
            label("quiet", 14, y, 3.4, f"{dish['kind']}, {dish['stage']}"),
            *_window(dish, at, y),
        ]
    top = 22 + len(dishes) * 7.5
    most = max((problem["written"] for problem in problems), default=0) or 1
    for index, problem in enumerate(problems):
        y = top + index * 7
        role: Role = "good" if problem["complete"] else "own"
        operations += [
            label("ink", 2, y, 3.8, problem["name"]),
            label("quiet", 14, y, 3.4, f"{problem['written']} tokens"),
            *bar(
                role, 48, y - 3, 50, 3.4, 1.0 if problem["complete"] else problem["written"] / most
            ),
        ]
    return Picture(tuple(operations))


def _window(dish: Mapping[str, Any], at: int, y: float) -> list[Operation]:
    """The time that is left of a window, or what came of it."""
    if dish["quality"] is not None:
        return [
            label(
                "good" if dish["quality"] else "bad",
                48,
                y,
                3.6,
                "in time" if dish["quality"] else "too late",
            )
        ]
    if dish["signal"] is None or dish["deadline"] is None:
        return []
    share = (dish["deadline"] - at) / max(dish["deadline"] - dish["signal"], 1)
    if share <= 0:
        return [rect("bad", 48, y - 3, 50, 3.4)]
    return bar("bad" if share < 0.25 else "own", 48, y - 3, 50, 3.4, share)


def fold(
    settings: Mapping[str, Any], happened: Iterable[tuple[int, str, Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """The states after each event; each is valid until the next is asked for."""
    menu = settings.get("menu", {})
    dishes: dict[str, dict[str, Any]] = {
        dish["name"]: {
            "name": dish["name"],
            "kind": "critical" if dish.get("slack") is None else "soft",
            **{"stage": "raw", "signal": None, "deadline": None, "quality": None},
        }
        for dish in menu.get("dishes", ())
    }
    problems = {
        problem["name"]: {"name": problem["name"], "written": 0, "complete": False}
        for problem in menu.get("problems", ())
    }
    mode = "kitchen"
    for at, what, data in happened:
        if (dish := dishes.get(data.get("dish", ""))) is not None:
            dish["stage"] = "signalled" if what == "signal" else what
            if what == "signal":
                dish |= {"signal": at, "deadline": data["deadline"]}
            dish["quality"] = data.get("quality", dish["quality"])
            mode = "kitchen"
        elif (problem := problems.get(data.get("problem", ""))) is not None:
            problem |= {"written": data["written"], "complete": data["complete"]}
            mode = "tutor"
        yield {
            **{"at": at, "mode": mode, "doing": None},
            "dishes": [*dishes.values()],
            "problems": [*problems.values()],
        }
