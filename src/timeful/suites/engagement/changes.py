"""Another world by name, as a command line gives it: `arrival-rate=0.3`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from timeful.errors import SettingsError, check_known

Readers = Mapping[str, Callable[[str], Any]]
"""The settings by name, each with what reads its value or raises a ValueError."""


def read_changes(changes: Iterable[str], readers: Readers) -> dict[str, Any]:
    """Read settings by name.

    Args:
        changes: Such as "arrival-rate=0.3"; a name may have `_` for `-`.
        readers: What can be set.

    Returns:
        The values, by names that are identifiers.

    Raises:
        SettingsError: If a name is unknown or given twice, or a value cannot be.
    """
    read: dict[str, Any] = {}
    for change in changes:
        given, mark, text = (part.strip() for part in change.partition("="))
        if not mark:
            raise SettingsError(f"a setting is given as NAME=VALUE, got {change!r}")
        name = given.replace("_", "-")
        check_known("setting", name, readers)
        if (key := name.replace("-", "_")) in read:
            raise SettingsError(f"the setting {given!r} is given twice")
        try:
            read[key] = readers[name](text)
        except ValueError as error:
            raise SettingsError(f"{given} cannot be {text!r}: {error}") from None
    return read
