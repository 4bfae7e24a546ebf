"""Dialogues written in ABCD's JSON shape, with `synthetic` and `reference_ready_range`.

For readers of ABCD, such as `timeful ec`. The shape has no fields for references, instants and
questions; `timeful.dialogues.jsonl` does.
"""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from timeful.dialogues.dialogue import Dialogue, Turn


def is_abcd_shape(path: Path) -> bool:
    """Whether a file is in this shape, by its name; else it is JSONL."""
    return path.name.removesuffix(".gz").endswith(".json")


def write_abcd(path: Path, dialogues: Iterable[Dialogue]) -> None:
    """Write dialogues by split; the same dialogues give the same bytes."""
    splits: dict[str, list[dict[str, Any]]] = {"train": [], "dev": [], "test": []}
    for dialogue in dialogues:
        splits.setdefault(dialogue.split, []).append(abcd_shape(dialogue))
    raw = msgspec.json.encode(splits)
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def abcd_shape(dialogue: Dialogue) -> dict[str, Any]:
    """One dialogue, with its original text in both `original` and `delexed`."""
    return {
        "convo_id": dialogue.id,
        "scenario": {**dialogue.scenario, "subflow": dialogue.subflow},
        "original": [[turn.speaker, turn.text] for turn in dialogue.turns],
        "delexed": [_turn(turn, dialogue.subflow) for turn in dialogue.turns],
        "synthetic": dialogue.synthetic,
        "reference_ready_range": {
            name: list(turns) for name, turns in dialogue.ready_ranges.items()
        },
    }


def _turn(turn: Turn, intent: str) -> dict[str, Any]:
    targets: list[Any] = [intent, None, None, [], -1]
    if turn.observed:
        action = turn.observed[0]
        targets = [intent, "take_action", action.name, list(action.values), -1]
    elif turn.speaker == "agent":
        targets = [intent, "retrieve_utterance", None, [], -1]
    return {
        "speaker": turn.speaker,
        "text": turn.text.lower(),
        "turn_count": turn.number,
        "targets": targets,
        "candidates": [],
    }
