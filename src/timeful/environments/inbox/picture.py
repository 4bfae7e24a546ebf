"""The inbox as a picture: the clock, the main task, and the open emails by urgency."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from timeful.environments.inbox.settings import URGENCIES
from timeful.environments.picture import (
    Operation,
    Picture,
    Role,
    bar,
    circle,
    in_seconds,
    label,
)

_ROWS = 12
_LONGEST_NS = 35_000_000_000
_ROLES: Mapping[str, Role] = {"high": "bad", "medium": "own", "low": "quiet"}


def picture(state: Mapping[str, Any]) -> Picture:
    """Draw a state as `InboxView.json_state` gives it."""
    at, letters = state["at"], state["letters"]
    waiting = [letter for letter in letters if letter["state"] == "open"]
    waiting.sort(key=lambda letter: (URGENCIES.index(letter["urgency"]), letter["deadline"]))
    units = len(state["units"])
    operations: list[Operation] = [
        label("ink", 2, 6, 4.2, f"{in_seconds(at)} of {in_seconds(state['horizon'])}"),
        label("quiet", 52, 6, 4, f"attention: {state['focus']}"),
        label("ink", 2, 13, 3.6, f"main task: {state['written']} of {units}"),
        *bar("own", 52, 10, 46, 3.5, state["written"] / max(units, 1)),
    ]
    for index, letter in enumerate(waiting[:_ROWS]):
        y = 21 + index * 5.6
        remaining = letter["deadline"] - at
        aside = f" ({letter['set_aside']})" if letter["set_aside"] else ""
        operations += [
            circle(_ROLES[letter["urgency"]], 4, y - 1.2, 1.6),
            label("ink", 8, y, 3.4, f"{letter['number']} {letter['subject'][:22]}{aside}"),
            *bar(_ROLES[letter["urgency"]], 62, y - 2.6, 24, 2.8, remaining / _LONGEST_NS),
            label("quiet", 87, y, 3, in_seconds(remaining)),
        ]
    numbers = state.get("closed") or Counter(letter["state"] for letter in letters)
    counts = ", ".join(f"{numbers[name]} {name}" for name in ("handled", "late", "expired"))
    more = f", {len(waiting) - _ROWS} more open" if len(waiting) > _ROWS else ""
    operations.append(label("quiet", 2, 96, 3.6, counts + more))
    return Picture(tuple(operations))


def fold(
    settings: Mapping[str, Any], happened: Iterable[tuple[int, str, Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """The states after each event, without the words; valid until the next is asked for."""
    letters: dict[int, dict[str, Any]] = {}
    closed: Counter[str] = Counter()
    state: dict[str, Any] = {
        "horizon": settings.get("world", {}).get("horizon"),
        "focus": "main",
        "units": [1],
        "written": 0,
    }
    for at, what, data in happened:
        letter = letters.get(data.get("email", 0))
        if what == "email":
            letters[data["email"]] = {
                "number": data["email"],
                "urgency": data["urgency"],
                "deadline": data["deadline"],
                "subject": f"{data['urgency']} urgency",
                "set_aside": "",
                "state": "open",
            }
        elif letter is not None and what in ("handled", "late", "expired"):
            closed[what] += 1
            del letters[data["email"]]
        elif letter is not None and what in ("reminded", "ignored", "reminder"):
            letter["set_aside"] = {"reminded": "remind", "ignored": "ignore"}.get(what, "")
        if what in ("checked", "returned"):
            state["focus"] = "inbox" if what == "checked" else "main"
        elif what == "delivered":
            state["written"] = data["unit"]
            state["units"] = [1] * max(len(state["units"]), data["unit"])
        yield {**state, "at": at, "letters": [*letters.values()], "closed": closed}
