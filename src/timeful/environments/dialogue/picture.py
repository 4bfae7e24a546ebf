"""A conversation as a picture: its last turns, and who speaks now."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from timeful.environments.picture import Operation, Picture, Role, label, paragraph

_ROLES: Mapping[str, Role] = {"agent": "own", "customer": "other"}
_LINES, _SIZE, _STEP = 22, 3.0, 4.05


def picture(state: Mapping[str, Any]) -> Picture:
    """Draw a state as `DialogueView.json_state` gives it: as many turns as fit, the latest last."""
    blocks: list[list[Operation]] = []
    lines = 0
    if state.get("speaking"):
        blocks.append([label("quiet", 2, 0, _SIZE, f"{state['speaking']} has begun …")])
        lines = 1
    for turn in reversed(state["turns"]):
        role = _ROLES.get(turn["speaker"], "quiet")
        text = f"{turn['number']} {turn['speaker']}: {turn['text']}"
        block = paragraph(role, 2, 0, _SIZE, text, most=6)
        if lines + len(block) > _LINES:
            break
        blocks.append(block)
        lines += len(block)
    operations: list[Operation] = []
    y = 6.0
    for block in reversed(blocks):
        for kind, colour, x, _, size, words in block:
            operations.append((kind, colour, x, round(y, 2), size, words))
            y += _STEP
    if state.get("over"):
        operations.append(label("quiet", 2, 97, _SIZE, "the conversation is over"))
    return Picture(tuple(operations))


def fold(
    settings: Mapping[str, Any], happened: Iterable[tuple[int, str, Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """The states after each event; each is valid until the next is asked for."""
    turns: list[dict[str, Any]] = []
    speaking = ""
    for at, what, data in happened:
        if what == "begins":
            speaking = str(data["speaker"])
        elif what == "turn":
            speaking = ""
            turns.append({"number": data["turn"], "speaker": data["speaker"], "text": data["text"]})
        yield {"at": at, "turns": turns, "speaking": speaking, "over": what == "over"}
