"""A record in words: one line an event."""

from typing import Any

import msgspec

from timeful.core.units import in_seconds
from timeful.records.events import Event, Within

_WIDTH = 100


def line(event: Event) -> str:
    """One event in one line: the instant in seconds, what happened, its fields, and to whom."""
    if isinstance(event, Within):
        return f"{line(event.what)} ({event.module})"
    fields: dict[str, Any] = msgspec.to_builtins(event)
    name, at = fields.pop("event"), fields.pop("at")
    words = " ".join(f"{k}={_short(v)}" for k, v in fields.items() if v is not None)
    return f"{in_seconds(at):>12.3f}  {name:<16} {words}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    # A model may say anything, and a terminal would obey it.
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: _WIDTH + 1])
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
