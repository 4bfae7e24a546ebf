"""A task with tools as a picture: its clock, and the latest answer of a tool."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from timeful.environments.picture import (
    Operation,
    Picture,
    Role,
    bar,
    in_seconds,
    label,
    paragraph,
)


def picture(state: Mapping[str, Any]) -> Picture:
    """Draw a state as `TimedView.json_state` gives it, or as `fold` does."""
    elapsed, budget = state["elapsed"], state["budget"]
    of = f" of {in_seconds(budget)}" if budget else ""
    operations: list[Operation] = [label("ink", 2, 6, 4.2, in_seconds(elapsed) + of)]
    if budget:
        role: Role = "bad" if elapsed > 0.75 * budget else "own"
        operations += bar(role, 2, 9, 96, 3.5, elapsed / budget)
    status = f"over: {state['over']}" if state["over"] else state["running"]
    operations.append(label("quiet", 2, 18, 3.6, status or "thinking"))
    operations += paragraph("ink", 2, 25, 3.0, state.get("text", "")[:2_000], most=18)
    return Picture(tuple(operations))


def fold(
    settings: Mapping[str, Any], happened: Iterable[tuple[int, str, Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """The states after each event, with what the tools said."""
    budget = settings.get("episode", {}).get("budget_ns")
    state: dict[str, Any] = {"budget": budget, "running": "", "over": "", "text": ""}
    for at, what, data in happened:
        if what == "reply":
            text = data.get("text", "")
            state |= {"running": f"{data.get('tool', '')} answered", "text": text}
        elif what == "over":
            state["over"] = data.get("reason", "over")
        yield {**state, "at": at, "elapsed": at}
