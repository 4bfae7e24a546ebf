"""A record in words: one line an event, and what a thought was asked."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from timeful.core.units import in_seconds
from timeful.errors import RecordError
from timeful.records.events import Entry, ThoughtChunk, ThoughtEnded, ThoughtStarted, Within

_WIDTH = 100
_DIGITS = 6
_HASH = 12
_BREAK = "\n"

_SPANS = ("happened_at", "limit")
"""Fields of events that are instants or spans, beside `at`; so `timeful.records.events` has it."""

_INSTANTS = ("at", "arrived", "deadline", "horizon", "signal", "until")
_ENDINGS = ("_at", "_end", "_until")
_LEAST = 1_000_000
"""What worlds call instants in their data and states: whole numbers under these names, from a
millisecond on. A world of turns has deadlines and horizons too, which are small counts."""


def line(event: Entry) -> str:
    """One event in one line: the instant in seconds, what happened, its fields, and to whom.

    Instants and spans are in seconds where the record tells that they are some: in the fields of
    events, and in what a world says under the usual names (`deadline`, `window_end`). Settings
    stand as they were given.
    """
    if isinstance(event, Within):
        return f"{line(event.what)} ({event.module})"
    fields: dict[str, Any] = msgspec.to_builtins(event)
    name, at = fields.pop("event"), fields.pop("at")
    words = " ".join(
        f"{k}={_short(_format_value(k, v))}" for k, v in fields.items() if v is not None
    )
    return f"{in_seconds(at):>12.3f}  {name:<16} {words}"


def merge_chunks(events: Iterable[Entry]) -> Iterator[Entry]:
    """Chunks of one thought that follow each other directly, as one that ends with the last."""
    last: Entry | None = None
    for event in events:
        pair = None if last is None else _join(last, event)
        if pair is None and last is not None:
            yield last
        last = event if pair is None else pair
    if last is not None:
        yield last


def conversation(events: Iterable[Entry], thought: int) -> Iterator[str]:
    """What a thought was asked, and what it answered, in full; modules have thoughts of their own.

    Raises:
        RecordError: If there is no such thought, or its messages were not kept.
    """
    most = count = 0
    for event in events:
        module, entry = ("", event)
        if isinstance(event, Within):
            module, entry = f" ({event.module})", event.what
        if isinstance(entry, ThoughtStarted):
            most = max(most, entry.thought)
        if not isinstance(entry, ThoughtStarted | ThoughtEnded) or entry.thought != thought:
            continue
        count += 1
        if isinstance(entry, ThoughtEnded):
            yield f"--- answer{module}\n{_safe(entry.answer, keep=_BREAK)}"
        elif entry.messages is None:
            raise RecordError(
                f"the messages of thought {thought} were not kept; play it again with "
                "--transcripts full"
            )
        else:
            for role, text in entry.messages:
                yield f"--- {_safe(role)}{module}\n{_safe(text, keep=_BREAK)}"
    if not count:
        there = f"they are numbered 1 to {most}" if most else "nobody thought"
        raise RecordError(f"there is no thought {thought} in this record; {there}")


def _join(first: Entry, second: Entry) -> Entry | None:
    """Two chunks as one, if they are of one thought and channel."""
    match first, second:
        case Within(), Within() if first.module == second.module:
            pair = _join(first.what, second.what)
            return pair and msgspec.structs.replace(second, what=pair)
        case ThoughtChunk(), ThoughtChunk():
            if (first.thought, first.channel) == (second.thought, second.channel):
                return msgspec.structs.replace(
                    second, tokens=first.tokens + second.tokens, text=first.text + second.text
                )
    return None


def _format_value(name: str, value: Any) -> Any:
    """The value of a field as it is shown."""
    if name in _SPANS:
        return _rounded(in_seconds(value))
    if name.endswith("sha256"):
        return value[:_HASH]
    return _rounded(value, has_instants=name in ("data", "state"))


def _rounded(value: Any, *, has_instants: bool = False) -> Any:
    """A plain value whose fractions have few digits, and whose instants are in seconds."""
    match value:
        case float():
            return float(f"{value:.{_DIGITS}g}")
        case list():
            return [_rounded(item, has_instants=has_instants) for item in value]
        case dict():
            return {
                key: _rounded(in_seconds(item))
                if has_instants and _is_instant(key, item)
                else _rounded(item, has_instants=has_instants)
                for key, item in value.items()
            }
    return value


def _is_instant(name: str, value: object) -> bool:
    is_named = name in _INSTANTS or name.endswith(_ENDINGS)
    return is_named and isinstance(value, int) and value >= _LEAST


def _short(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = _safe(text[: _WIDTH + 1])
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _safe(text: str, keep: str = "") -> str:
    """A model may say anything, and a terminal would obey it."""
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)
