"""Assigns the values of an ABCD action to the slots of the action.

ABCD records an action with none to three values without names. Slots are alternatives (an account
is pulled up by name or by account id), so the position of a value does not identify its slot.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from timeful.errors import SettingsError
from timeful.files import decode, read_bytes

_SCENARIO_FIELDS = {
    "customer_name": ("personal", "customer_name"),
    "account_id": ("personal", "account_id"),
    "email": ("personal", "email"),
    "phone": ("personal", "phone"),
    "username": ("personal", "username"),
    "pin_number": ("personal", "pin_number"),
    "membership_level": ("personal", "member_level"),
    "order_id": ("order", "order_id"),
    "zip_code": ("order", "zip_code"),
    "street_address": ("order", "street_address"),
    "full_address": ("order", "full_address"),
    "payment_method": ("order", "payment_method"),
    "product": ("product", "names"),
    "amount": ("product", "amounts"),
}
"""The section and key of a slot's value in a scenario."""

_PATTERNS = {
    "phone": re.compile(r"\(?\d{3}\)?[ -]?\d{3}[ -]?\d{4}"),
    "email": re.compile(r"\S+@\S+\.\S+"),
    "order_id": re.compile(r"\d{10}"),
    "zip_code": re.compile(r"\d{5}"),
    "pin_number": re.compile(r"\d{6}"),
    "account_id": re.compile(r"(?=.*[a-z])[a-z0-9]{10}"),
}
"""Patterns of values. Ten digits may be a phone or an order: no action has both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """The actions with their slots, and the slots with closed lists of values."""

    actions: Mapping[str, tuple[str, ...]]
    closed: Mapping[str, frozenset[str]]

    def slots_of(
        self, action: str, values: Sequence[str], scenario: Mapping[str, Any]
    ) -> tuple[str | None, ...]:
        """The slot of each value, None if none fits.

        Each value gets the first free slot of the action, in the ontology's order, whose closed
        list contains it; else whose value in the scenario equals it; else whose pattern it
        matches. Case, space and underscores are ignored. An action with a single slot gives it to
        any other value, such as a misspelt one **(chosen)**.
        """
        slots = self.actions.get(action, ())
        free = list(slots)
        assigned: list[str | None] = []
        for value in values:
            slot = next(self._fitting(plain(value), free, scenario), None)
            if slot is None and len(slots) == 1 == len(free):
                slot = slots[0]
            if slot is not None:
                free.remove(slot)
            assigned.append(slot)
        return tuple(assigned)

    def _fitting(
        self, value: str, slots: Sequence[str], scenario: Mapping[str, Any]
    ) -> Iterator[str]:
        for slot in slots:
            if value in self.closed.get(slot, ()):
                yield slot
        for slot in slots:
            if value in set(map(plain, _scenario_values(slot, scenario))):
                yield slot
        for slot in slots:
            if slot in _PATTERNS and _PATTERNS[slot].fullmatch(value):
                yield slot


def plain(value: object) -> str:
    """Normalise case, repeated space, underscores and a dollar sign."""
    return " ".join(str(value).replace("_", " ").casefold().split()).removeprefix("$")


def _scenario_values(slot: str, scenario: Mapping[str, Any]) -> Iterable[object]:
    """The values of a slot in a scenario, which may be incomplete."""
    section, key = _SCENARIO_FIELDS.get(slot, ("", ""))
    values = (scenario.get(section) or {}).get(key)
    if values is None:
        return ()
    return values if isinstance(values, list) else (values,)


class _Values(msgspec.Struct):
    enumerable: dict[str, list[str]]


class _File(msgspec.Struct):
    actions: dict[str, dict[str, tuple[str, ...]]]
    values: _Values


def read_ontology(path: Path) -> Ontology:
    """Read ABCD's `ontology.json`.

    Raises:
        SettingsError: If the file is not an ontology of ABCD.
    """
    try:
        read = decode(read_bytes(path), _File)
    except msgspec.DecodeError as error:
        raise SettingsError(f"{path.name} is not an ontology of ABCD: {error}") from None
    return Ontology(
        actions={name: slots for group in read.actions.values() for name, slots in group.items()},
        closed={
            slot: frozenset(map(plain, values)) for slot, values in read.values.enumerable.items()
        },
    )
