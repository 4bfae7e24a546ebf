"""Dialogues: turns, what was done in them, and what an annotator holds possible at each.

A dialogue is a value; worlds play it, annotators add references to it, metrics read both.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from timeful.dialogues.opportunity import Opportunity

Speaker = Literal["agent", "customer", "action"]
"""Who speaks: the professional, the client, or the system that says what was done."""

Ranges = Mapping[str, tuple[int, ...]]
"""The turns at which each action is ready, in order and each once: R_a of equation 4."""


class ObservedAction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action that was taken, with its values.

    `slots` names the value at the same place, None where that is not known; it is empty where
    nobody looked.
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
    def named(self) -> dict[str, str]:
        """The values whose slot is known, by slot; the first where two share one."""
        found: dict[str, str] = {}
        for slot, value in zip(self.slots, self.values, strict=False):
            if slot is not None:
                found.setdefault(slot, value)
        return found


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Something said or done. `at` is when it began, in nanoseconds of the dialogue, if known."""

    number: int
    speaker: Speaker
    text: str
    observed: tuple[ObservedAction, ...] = ()
    at: int | None = None


class Dialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation and its annotation. Turn numbers start at 1 or above, and rise.

    Attributes:
        id: Its name in the data set.
        split: The part of the data set, such as train; "" where there is none.
        turns: What was said and done; action turns are turns.
        subflow: The workflow that it follows, by the name the workflows have; "" if unknown.
        scenario: What the data set tells of the case, such as the customer's order.
        references: The reference opportunities by turn number; no key where there are none.
        ready_ranges: The turns at which each action is ready in the reference.
        questions: The reference questions by turn number.
        synthetic: Whether nobody ever held this conversation.
        annotator: Who made the references, where that is known: a model or a rule.
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
        # Annotations of turns that nobody took would be missed by whoever goes turn by turn.
        numbers_taken = {turn.number for turn in self.turns}
        for field in ("references", "questions"):
            for number in getattr(self, field):
                if number not in numbers_taken:
                    raise ValueError(f"{field}: there is no turn {number}")

    @property
    def observed(self) -> list[tuple[int, ObservedAction]]:
        """Every action that was taken, with the number of its turn."""
        return [(turn.number, action) for turn in self.turns for action in turn.observed]


def ranges_of(references: Mapping[int, Iterable[Opportunity]]) -> dict[str, tuple[int, ...]]:
    """The ready ranges that reference opportunities say: R_a by name (equation 4)."""
    found: dict[str, list[int]] = {}
    for number in sorted(references):
        for name in {one.name: None for one in references[number] if one.is_ready}:
            found.setdefault(name, []).append(number)
    return {name: tuple(numbers) for name, numbers in found.items()}
