"""From a complete record to a row: a pure function of its events."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from timeful.errors import RecordError
from timeful.records.events import (
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    ThoughtEnded,
    ThoughtStarted,
    Turned,
    Wall,
)
from timeful.records.recorder import record_hash
from timeful.records.rows import EpisodeRow
from timeful.records.verdicts import judge

R = TypeVar("R", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteRecord:
    """A record with a beginning and an end: its events, and the settings it begins with."""

    events: Sequence[Entry]
    settings: Mapping[str, Any]
    end: EpisodeEnded | EpisodeFailed

    @property
    def error(self) -> str | None:
        """The error of a failed episode, after its boundary; that of an agent with its place."""
        end = self.end
        if not isinstance(end, EpisodeFailed):
            return None
        places = [line for line in end.trace if not line.startswith("caused by")]
        place = f" ({places[-1]})" if places and end.boundary == "agent" else ""
        return f"{end.boundary}: {end.error}{place}"

    @property
    def outcome(self) -> dict[str, Any]:
        """The columns that all rows share."""
        return {
            "status": "ok" if self.error is None else "failed",
            "error": self.error,
            "sha256": record_hash(self.events),
            "behind_s": max((e.behind_s for e in self.events if isinstance(e, Wall)), default=0.0),
        }


def complete_record(events: Iterable[Entry]) -> CompleteRecord:
    """Check that events are a complete record.

    Raises:
        RecordError: If they lack their beginning or their end.
    """
    entries = list(events)
    start = next((event for event in entries if isinstance(event, EpisodeStarted)), None)
    end = next((e for e in reversed(entries) if isinstance(e, EpisodeEnded | EpisodeFailed)), None)
    if start is None or end is None:
        raise RecordError("the record is incomplete: it lacks its beginning or its end")
    return CompleteRecord(events=entries, settings=start.settings, end=end)


@contextmanager
def foreign_record(result: str) -> Iterator[None]:
    """Refuse a record, or settings, of something else than what is read in the block.

    Raises:
        RecordError: If the block misses a field, or finds one of another type.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise RecordError(f"the record is not that of {result}: {reason}") from error


def make_row(
    events: Iterable[Entry], kind: type[R], read: Callable[[CompleteRecord], Mapping[str, Any]]
) -> R:
    """Make the row of an episode: what identifies it in its record, its numbers and its outcome.

    Args:
        events: The record.
        kind: The type of the row.
        read: Reads the numbers of the row.

    Raises:
        RecordError: If the record is incomplete, or not of such an episode.
    """
    record = complete_record(events)
    with foreign_record(f"an {kind.__name__}"):
        values = {**record.settings["episode"], **record.outcome, **read(record)}
        return msgspec.convert(values, kind)


def summarize(events: Iterable[Entry]) -> EpisodeRow:
    """Sum up an episode of a game.

    Raises:
        RecordError: If the events are not a complete record of a suite's episode.
    """
    return make_row(events, EpisodeRow, _read_turns)


def _read_turns(record: CompleteRecord) -> dict[str, Any]:
    turns = [event for event in record.events if isinstance(event, Turned)]
    thoughts = [event for event in record.events if isinstance(event, ThoughtEnded)]
    starts = [event for event in record.events if isinstance(event, ThoughtStarted)]
    reactive = {event.thought for event in starts if event.purpose == "react"}
    reactions = sorted((t for t in thoughts if t.thought in reactive), key=lambda t: t.thought)
    return {
        "score": record.end.score if isinstance(record.end, EpisodeEnded) else None,
        "turns": len(turns),
        "late_turns": judge(record.events).counts().get("default", 0),
        "tokens": sum(thought.tokens for thought in thoughts),
        "reactor_tokens": [thought.tokens for thought in reactions],
        "reactor_cut": sum(t.state == "cancelled" or t.finish == "length" for t in reactions),
    }
