"""The token usage of a run: totals of each model and role, read from records."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec

from timeful.errors import RecordError
from timeful.records.events import AnyEntry, Entry, ThoughtEnded, ThoughtStarted, Within
from timeful.records.usage import Counted, Usage, sum_counts

_MARK = b'"usage":{'
"""A record without this has no usage: text of a model would have its quotes escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal:
    """The tokens of one model in one role; None where the server reports no such number.

    Attributes:
        model: The name of the model.
        role: The label of its thoughts.
        thoughts: The number of thoughts that reached the server.
        prompt: The tokens of their prompts.
        cached: The part of these that was in a cache.
        completion: The generated tokens, reasoning included.
        reasoning: The part of these that is reasoning.
        counted: The number of thoughts counted in each way.
    """

    model: str
    role: str
    thoughts: int
    prompt: int | None
    cached: int | None
    completion: int
    reasoning: int | None
    counted: dict[Counted, int]


NamedUsage = tuple[tuple[str, str], Usage]
"""The model and the role of a thought, and its usage."""


def read_usage(records: Iterable[Path], others: Iterable[NamedUsage] = ()) -> list[UsageTotal]:
    """Add up the usage of all thoughts in records, by model and role.

    Args:
        records: The records.
        others: The usage of requests outside of records, such as those of judges.

    Raises:
        RecordError: If a line with usage cannot be read.
    """
    usages: dict[tuple[str, str], list[Usage]] = {}
    thoughts = (thought for path in records for thought in _read_thoughts(path))
    for name, usage in chain(thoughts, others):
        usages.setdefault(name, []).append(usage)
    return [_add(*name, usages[name]) for name in sorted(usages)]


def _read_thoughts(path: Path) -> Iterator[NamedUsage]:
    data = path.read_bytes()
    if _MARK not in data:
        return
    decode = msgspec.json.Decoder(AnyEntry).decode
    lines = (line for line in data.splitlines() if b'"thought-started"' in line or _MARK in line)
    try:
        yield from _pair(map(decode, lines))
    except msgspec.DecodeError as error:
        raise RecordError(f"{path.name}: not an event ({error})") from error


def _pair(events: Iterable[Entry]) -> Iterator[NamedUsage]:
    """The model and role of each thought that has usage."""
    names: dict[tuple[str, int], tuple[str, str]] = {}
    for event in events:
        module = event.module if isinstance(event, Within) else ""
        entry = event.what if isinstance(event, Within) else event
        if isinstance(entry, ThoughtStarted):
            names[module, entry.thought] = entry.model, entry.purpose
        elif isinstance(entry, ThoughtEnded) and isinstance(entry.usage, Usage):
            yield names[module, entry.thought], entry.usage


def _add(model: str, role: str, usages: Sequence[Usage]) -> UsageTotal:
    counted: dict[Counted, int] = {}
    for usage in sorted(usages, key=lambda usage: usage.counted):
        counted[usage.counted] = counted.get(usage.counted, 0) + 1
    return UsageTotal(
        model=model,
        role=role,
        thoughts=len(usages),
        prompt=sum_counts(usage.prompt for usage in usages),
        cached=sum_counts(usage.cached for usage in usages),
        completion=sum(usage.completion for usage in usages),
        reasoning=sum_counts(usage.reasoning for usage in usages),
        counted=counted,
    )
