"""Dialogues: turns with their observed actions, and the opportunities of an annotator.

A dialogue is a value; worlds play it, annotators add references to it, metrics read both.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from timeful.dialogues.opportunity import Opportunity

Speaker = Literal["agent", "customer", "action"]
"""The professional, the client, or the system that reports an action."""

Ranges = Mapping[str, tuple[int, ...]]
"""The turns at which each action is ready, in order and each once: R_a of equation 4."""


class ObservedAction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action that was taken, with its values.

    `slots` names the value at the same index, None if its slot is unknown; it is empty if no
    slots were assigned.
    """

    name: str
    values: tuple[str, ...] = ()
    slots: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("an observed action needs a name")
        if self.slots and len(self.slots) != len(self.values):
            raise ValueError(f"{len(self.values)} values and {len(self.slots)} slots")

    @property
    def values_by_slot(self) -> dict[str, str]:
        """The values with a known slot, by slot; the first if two share a slot."""
        values: dict[str, str] = {}
        for slot, value in zip(self.slots, self.values, strict=False):
            if slot is not None:
                values.setdefault(slot, value)
        return values


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn. `at` is its start in nanoseconds of the dialogue, None if unknown."""

    number: int
    speaker: Speaker
    text: str
    observed: tuple[ObservedAction, ...] = ()
    at: int | None = None


class Dialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation and its annotation. Turn numbers start at 1 or above, and rise.

    Attributes:
        id: Its name in the data set.
        split: The part of the data set, such as train; "" without splits.
        turns: The turns, action turns included.
        subflow: The name of the workflow that it follows; "" if unknown.
        scenario: The case in the data set, such as the customer's order.
        references: The reference opportunities by turn number; no key for an empty set.
        ready_ranges: The turns at which each action is ready in the reference.
        questions: The reference questions by turn number.
        synthetic: Whether it was generated.
        annotator: The model or rule that made the references; "" if unknown.
    """

    id: str
    split: str = ""
    turns: tuple[Turn, ...]
    subflow: str = ""
    scenario: dict[str, Any] = {}
    references: dict[int, tuple[Opportunity, ...]] = {}
    ready_ranges: dict[str, tuple[int, ...]] = {}
    questions: dict[int, tuple[str, ...]] = {}
    synthetic: bool = False
    annotator: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("a dialogue needs an id")
        before = 0
        for turn in self.turns:
            if turn.number <= before:
                raise ValueError(f"turn numbers rise from 1, got {turn.number} after {before}")
            before = turn.number
        for name, numbers in self.ready_ranges.items():
            if any(low >= high for low, high in zip((0, *numbers), numbers, strict=False)):
                raise ValueError(f"ready_ranges: the turns of {name!r} must rise from 1")
        # A loop over turns would miss annotations of other numbers.
        turn_numbers = {turn.number for turn in self.turns}
        for field in ("references", "questions"):
            for number in getattr(self, field):
                if number not in turn_numbers:
                    raise ValueError(f"{field}: there is no turn {number}")

    @property
    def observed(self) -> list[tuple[int, ObservedAction]]:
        """Every action that was taken, with the number of its turn."""
        return [(turn.number, action) for turn in self.turns for action in turn.observed]


def ranges_of(references: Mapping[int, Iterable[Opportunity]]) -> dict[str, tuple[int, ...]]:
    """The ready ranges of reference opportunities: R_a by name (equation 4)."""
    ranges: dict[str, list[int]] = {}
    for number in sorted(references):
        for name in dict.fromkeys(action.name for action in references[number] if action.is_ready):
            ranges.setdefault(name, []).append(number)
    return {name: tuple(numbers) for name, numbers in ranges.items()}
