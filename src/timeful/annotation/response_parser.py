"""Parses the answer of an annotating model strictly: JSON, requested turns, known tools.

An error message is for the model, which gets it with a repeated request.
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
    alone for one turn, else in a list. A code fence around it is ignored, other text is not.

    Args:
        text: The answer of the model.
        turns: The requested turns; each must occur once.
        catalog: The known tools, whose descriptions and inputs replace those of the answer; None
            accepts any tool.

    Raises:
        ValueError: If the answer is invalid; names the location.
    """
    references: References = {}
    for index, entry in enumerate(_entries(text)):
        location = f"[{index}]"
        if not isinstance(entry, dict):
            raise ValueError(f"{location} must be an object, got {_shorten(entry)}")
        number = entry.get("dialogue_turn")
        if isinstance(number, bool) or not isinstance(number, int) or number not in turns:
            numbers_text = ", ".join(map(str, turns))
            raise ValueError(
                f"{location}.dialogue_turn must be one of {numbers_text}, got {_shorten(number)}"
            )
        if number in references:
            raise ValueError(f"turn {number} stands twice")
        annotations = entry.get("proactive_annotations")
        if not isinstance(annotations, list):
            raise ValueError(
                f"turn {number}: proactive_annotations must be a list, got {_shorten(annotations)}"
            )
        references[number] = tuple(
            _opportunity(annotation, f"turn {number}, proactive_annotations[{position}]", catalog)
            for position, annotation in enumerate(annotations)
        )
    if missing := [str(number) for number in turns if number not in references]:
        raise ValueError(f"there is nothing for turn {', '.join(missing)}; say [] for none")
    return {number: references[number] for number in turns if references[number]}


def _entries(text: str) -> list[Any]:
    try:
        # Strictly: no NaN and no lone surrogate, which a file cannot hold.
        data = msgspec.json.decode(strip_fence(text).encode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from None
    return data if isinstance(data, list) else [data]


def _opportunity(data: Any, location: str, catalog: Catalog | None) -> Opportunity:
    inner = data.get("action_opportunity", data) if isinstance(data, dict) else data
    try:
        opportunity = read_opportunity(inner)
        return opportunity if catalog is None else _of_catalog(opportunity, catalog)
    except (BadOpportunityError, ValueError) as error:
        raise ValueError(f"{location}: {error}") from None


def _of_catalog(opportunity: Opportunity, catalog: Catalog) -> Opportunity:
    """The opportunity of a catalog entry, with the values of the answer."""
    if opportunity.name not in catalog.actions:
        raise ValueError(unknown("tool", opportunity.name, catalog.actions))
    action = catalog.actions[opportunity.name]
    names = [parameter.name for parameter in action.parameters]
    values: dict[str, Value] = {}
    for item in opportunity.inputs.all():
        if item.name not in names:
            raise ValueError(f"{opportunity.name}: {unknown('input', item.name, names)}")
        if item.provided and (item.value is None or item.value == ""):
            raise ValueError(f"{opportunity.name}: {item.name} is provided and has no value")
        if item.provided:
            values[item.name] = item.value
    return Opportunity(
        name=action.name,
        description=action.description,
        inputs=action.inputs(values),
        readiness_maturity=opportunity.readiness_maturity,
        trigger_confidence=opportunity.trigger_confidence,
        status=opportunity.status,
    )


def _shorten(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
