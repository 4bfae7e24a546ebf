"""Settings of the inbox as a command line gives them: `arrival-rate=0.3`, `high-slack=5,15`."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, get_type_hints

from timeful.core.units import Duration, in_seconds, seconds
from timeful.environments.inbox.settings import InboxSettings, Numbers, Scoring, Slack
from timeful.suites.engagement.changes import Readers, read_changes

_WORLD = {name: kind for name, kind in get_type_hints(InboxSettings).items() if name != "scoring"}
_SCORING = get_type_hints(Scoring)


def changed(settings: InboxSettings, changes: Iterable[str]) -> InboxSettings:
    """Change settings by name; spans are in seconds, several numbers have commas between them.

    Args:
        settings: What is not changed.
        changes: Such as "arrival-rate=0.3".

    Raises:
        SettingsError: If a name is unknown or given twice, or a value cannot be.
    """
    read = read_changes(changes, _READERS)
    scoring = {name: read.pop(name) for name in _SCORING if name in read}
    # Made at once, since settings that only fit together must be changed together.
    return replace(settings, **read, scoring=replace(settings.scoring, **scoring))


def _span(text: str) -> Duration:
    return seconds(float(text))


def _numbers(text: str) -> Numbers:
    parts = [float(part) for part in text.split(",")]
    if len(parts) != 3:
        raise ValueError("it takes three numbers, for high, medium and low")
    return parts[0], parts[1], parts[2]


def _slack(text: str) -> Slack:
    parts = [_span(part) for part in text.split(",")]
    if len(parts) != 2:
        raise ValueError("it takes two numbers, from the least to the greatest")
    return parts[0], parts[1]


_READ: dict[Any, Callable[[str], Any]] = {
    Duration: _span,
    float: float,
    int: int,
    Numbers: _numbers,
    Slack: _slack,
}


_READERS: Readers = {
    name.replace("_", "-"): _READ[kind] for name, kind in {**_WORLD, **_SCORING}.items()
}
NAMES = tuple(_READERS)
"""What can be set."""


def shown(settings: InboxSettings) -> list[tuple[str, str]]:
    """All settings by name, in words."""
    pairs = [(each.name, getattr(settings, each.name)) for each in fields(settings)]
    pairs += [(each.name, getattr(settings.scoring, each.name)) for each in fields(Scoring)]
    kinds = {**_WORLD, **_SCORING}
    return [
        (name.replace("_", " "), _shown(value, kinds[name]))
        for name, value in pairs
        if name in kinds
    ]


def _shown(value: Any, kind: Any) -> str:
    if kind is Duration:
        return f"{in_seconds(value):g} s"
    if kind == Slack:
        least, most = value
        return f"{in_seconds(least):g} to {in_seconds(most):g} s"
    if isinstance(value, tuple):
        return ", ".join(f"{part:g}" for part in value)
    return f"{value:g}"
