"""Settings of the kitchen as a command line gives them: `budget=4000`, `judged=start`."""

from collections.abc import Iterable
from dataclasses import replace

from timeful.environments.kitchen.settings import KitchenSettings, Utility, in_ticks, ticks
from timeful.suites.engagement.changes import Readers, read_changes

_UTILITY = ("dish", "problem", "tick", "switch", "check")
_READERS: Readers = {
    "staging": lambda text: ticks(int(text)),
    "jitter": float,
    "budget": lambda text: ticks(int(text)),
    "judged": str,
    **dict.fromkeys(_UTILITY, float),
}


def changed(settings: KitchenSettings, changes: Iterable[str]) -> KitchenSettings:
    """Change settings by name: laws, spans of which are in ticks, and the weights of the utility.

    Args:
        settings: What is not changed.
        changes: Such as "budget=4000".

    Raises:
        SettingsError: If a name is unknown or given twice, or a value cannot be.
    """
    read = read_changes(changes, _READERS)
    weights = {name: read.pop(name) for name in _UTILITY if name in read}
    return replace(settings, **read, utility=replace(settings.utility, **weights))


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
