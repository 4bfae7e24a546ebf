"""What an annotating model answered, read strictly: JSON, the turns asked for, tools that exist.

What is wrong is said in words that help whoever wrote it, which is the model: it is shown them
and asked again.
"""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from timeful.catalogs.catalog import Catalog
from timeful.dialogues.opportunity import (
    BadOpportunityError,
    Opportunity,
    Value,
    read_opportunity,
)
from timeful.errors import unknown
from timeful.models.structured_output import strip_fence

References = dict[int, tuple[Opportunity, ...]]


def read_answer(text: str, turns: Sequence[int], catalog: Catalog | None) -> References:
    """Read the annotation of some turns.

    The answer is an object `{"dialogue_turn": 3, "proactive_annotations": [...]}` for each turn,
    alone if there is one, else in a list. A fence around it is left aside; other words are not.

    Args:
        text: What the model said.
        turns: The turns that were asked for; each must stand once.
        catalog: The tools that there are; None takes any. Descriptions, and which inputs there
            are and are required, are then the catalog's, whatever the model says.

    Raises:
        ValueError: If it cannot be used; the message says why and where.
    """
    found: References = {}
    for index, entry in enumerate(_entries(text)):
        place = f"[{index}]"
        if not isinstance(entry, dict):
            raise ValueError(f"{place} must be an object, got {_shown(entry)}")
        number = entry.get("dialogue_turn")
        if isinstance(number, bool) or not isinstance(number, int) or number not in turns:
            asked = ", ".join(map(str, turns))
            raise ValueError(f"{place}.dialogue_turn must be one of {asked}, got {_shown(number)}")
        if number in found:
            raise ValueError(f"turn {number} stands twice")
        annotations = entry.get("proactive_annotations")
        if not isinstance(annotations, list):
            raise ValueError(
                f"turn {number}: proactive_annotations must be a list, got {_shown(annotations)}"
            )
        found[number] = tuple(
            _opportunity(one, f"turn {number}, proactive_annotations[{place}]", catalog)
            for place, one in enumerate(annotations)
        )
    if missing := [str(number) for number in turns if number not in found]:
        raise ValueError(f"there is nothing for turn {', '.join(missing)}; say [] for none")
    return {number: found[number] for number in turns if found[number]}


def _entries(text: str) -> list[Any]:
    try:
        # Strictly: no NaN, and no half of a character, which no file could hold.
        data = msgspec.json.decode(strip_fence(text).encode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from None
    return data if isinstance(data, list) else [data]


def _opportunity(data: Any, place: str, catalog: Catalog | None) -> Opportunity:
    inner = data.get("action_opportunity", data) if isinstance(data, dict) else data
    try:
        read = read_opportunity(inner)
        return read if catalog is None else _of_catalog(read, catalog)
    except (BadOpportunityError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None


def _of_catalog(read: Opportunity, catalog: Catalog) -> Opportunity:
    """An opportunity as its entry of the catalog has it, with what the model says is known."""
    if read.name not in catalog.actions:
        raise ValueError(unknown("tool", read.name, catalog.actions))
    action = catalog.actions[read.name]
    names = [one.name for one in action.parameters]
    known: dict[str, Value] = {}
    for one in read.inputs.all():
        if one.name not in names:
            raise ValueError(f"{read.name}: {unknown('input', one.name, names)}")
        if one.provided and (one.value is None or one.value == ""):
            raise ValueError(f"{read.name}: {one.name} is provided and has no value")
        if one.provided:
            known[one.name] = one.value
    return Opportunity(
        name=action.name,
        description=action.description,
        inputs=action.inputs(known),
        readiness_maturity=read.readiness_maturity,
        trigger_confidence=read.trigger_confidence,
        status=read.status,
    )


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
