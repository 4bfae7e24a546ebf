"""What the values of an ABCD action mean: each is given the slot of the action that it fills.

ABCD records an action with none to three values and no names for them. Slots are alternatives
(an account is pulled up by name or by account id), so the place of a value does not name it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from timeful.dialogues.files import read_bytes
from timeful.errors import SettingsError

_PLACES = {
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
"""Where a scenario tells the value of a slot."""

_PATTERNS = {
    "phone": re.compile(r"\(?\d{3}\)?[ -]?\d{3}[ -]?\d{4}"),
    "email": re.compile(r"\S+@\S+\.\S+"),
    "order_id": re.compile(r"\d{10}"),
    "zip_code": re.compile(r"\d{5}"),
    "pin_number": re.compile(r"\d{6}"),
    "account_id": re.compile(r"(?=.*[a-z])[a-z0-9]{10}"),
}
"""What a value of a slot looks like. Ten digits may be a phone or an order: no action has both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ontology:
    """The actions with their slots, and the closed lists of those slots that have one."""

    actions: Mapping[str, tuple[str, ...]]
    closed: Mapping[str, frozenset[str]]

    def slots_of(
        self, action: str, values: Sequence[str], scenario: Mapping[str, Any]
    ) -> tuple[str | None, ...]:
        """Name the slot of each value, None where none fits.

        For each value in turn, the first slot of the action, in the ontology's order and not yet
        taken, whose closed list holds it; else whose value in the scenario it equals; else whose
        pattern it has. Case, space and underscores do not matter. An action with a single slot
        gives it to a value that nothing else names, such as a misspelt one **(chosen)**.
        """
        slots = self.actions.get(action, ())
        free = list(slots)
        found: list[str | None] = []
        for value in values:
            slot = next(self._fitting(plain(value), free, scenario), None)
            if slot is None and len(slots) == 1 == len(free):
                slot = slots[0]
            if slot is not None:
                free.remove(slot)
            found.append(slot)
        return tuple(found)

    def _fitting(
        self, value: str, slots: Sequence[str], scenario: Mapping[str, Any]
    ) -> Iterator[str]:
        for slot in slots:
            if value in self.closed.get(slot, ()):
                yield slot
        for slot in slots:
            if value in {plain(told) for told in _told(slot, scenario)}:
                yield slot
        for slot in slots:
            if slot in _PATTERNS and _PATTERNS[slot].fullmatch(value):
                yield slot


def plain(value: object) -> str:
    """A value without what does not matter: case, repeated space, underscores, a dollar sign."""
    return " ".join(str(value).replace("_", " ").casefold().split()).removeprefix("$")


def _told(slot: str, scenario: Mapping[str, Any]) -> Iterable[object]:
    """What a scenario says of a slot; much is simply missing in it."""
    part, key = _PLACES.get(slot, ("", ""))
    found = (scenario.get(part) or {}).get(key)
    if found is None:
        return ()
    return found if isinstance(found, list) else (found,)


class _Values(msgspec.Struct):
    enumerable: dict[str, list[str]]


class _File(msgspec.Struct):
    actions: dict[str, dict[str, tuple[str, ...]]]
    values: _Values


def read_ontology(path: Path) -> Ontology:
    """Read ABCD's `ontology.json`.

    Raises:
        SettingsError: If it is none.
    """
    try:
        read = msgspec.json.decode(read_bytes(path), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name} is no ontology of ABCD: {error}") from None
    return Ontology(
        actions={name: slots for group in read.actions.values() for name, slots in group.items()},
        closed={
            slot: frozenset(map(plain, values)) for slot, values in read.values.enumerable.items()
        },
    )
