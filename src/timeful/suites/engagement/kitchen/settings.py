"""Settings of the kitchen as a command line gives them: `budget=4000`, `judged=start`."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from timeful.environments.kitchen.settings import KitchenSettings, Utility, in_ticks, ticks
from timeful.errors import SettingsError, unknown

_WORLD: dict[str, Callable[[str], Any]] = {
    "staging": lambda text: ticks(int(text)),
    "jitter": float,
    "budget": lambda text: ticks(int(text)),
    "judged": str,
}
_UTILITY = ("dish", "problem", "tick", "switch", "check")

NAMES = (*_WORLD, *_UTILITY)
"""What can be set: laws, spans of which are in ticks, and the weights of the utility."""


def changed(settings: KitchenSettings, changes: Iterable[str]) -> KitchenSettings:
    """Change settings by name.

    Args:
        settings: What is not changed.
        changes: Such as "budget=4000".

    Raises:
        SettingsError: If a name is unknown or given twice, or a value cannot be.
    """
    world: dict[str, Any] = {}
    weights: dict[str, float] = {}
    for change in changes:
        given, mark, text = (part.strip() for part in change.partition("="))
        if not mark:
            raise SettingsError(f"a setting is given as NAME=VALUE, got {change!r}")
        if given not in NAMES:
            raise SettingsError(unknown("setting", given, NAMES))
        if given in world or given in weights:
            raise SettingsError(f"the setting {given!r} is given twice")
        try:
            if given in _WORLD:
                world[given] = _WORLD[given](text)
            else:
                weights[given] = float(text)
        except ValueError as error:
            raise SettingsError(f"the setting {given!r} cannot be {text!r}: {error}") from None
    return replace(settings, **world, utility=replace(settings.utility, **weights))


def shown(settings: KitchenSettings) -> list[tuple[str, str]]:
    """All settings by name, in words."""
    utility: Utility = settings.utility
    return [
        ("staging", f"{in_ticks(settings.staging):g} ticks"),
        ("jitter of whistles", f"{settings.jitter:g} ticks"),
        ("time budget", f"{in_ticks(settings.budget):g} ticks"),
        ("judged", f"by the {settings.judged} of the finish action"),
        *((f"weight of a {name}", f"{getattr(utility, name):g}") for name in _UTILITY),
    ]
