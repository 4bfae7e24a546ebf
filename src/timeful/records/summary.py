"""From a record to its row: a pure function of what was written."""

from collections.abc import Iterable
from typing import Any

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
)
from timeful.records.recorder import Recorder
from timeful.records.rows import EpisodeRow


def summarize(events: Iterable[Entry]) -> EpisodeRow:  # noqa: C901 - one case for each event
    """Sum up one episode; the settings of its record name it under `episode`.

    Raises:
        RecordError: If the events are no whole record, or are not about a suite's episode.
    """
    recorder = Recorder()
    settings: dict[str, Any] = {}
    purposes: dict[int, str] = {}
    reactions: dict[int, ThoughtEnded] = {}
    tokens = turns = late = 0
    score: float | None = None
    error: str | None = None
    whole = False
    for event in events:
        recorder.write(event)
        match event:
            case EpisodeStarted():
                settings = event.settings.get("episode", {})
            case ThoughtStarted():
                purposes[event.thought] = event.purpose
            case ThoughtEnded():
                tokens += event.tokens
                if purposes.get(event.thought) == "react":
                    reactions[event.thought] = event
            case Turned():
                turns += 1
                late += event.late
            case EpisodeEnded():
                score, whole = event.score, True
            case EpisodeFailed():
                error, whole = f"{event.boundary}: {event.error}", True
            case _:
                pass
    if not whole:
        raise RecordError("the record has no end: its episode was cut off")
    ordered = [reactions[number] for number in sorted(reactions)]
    try:
        return msgspec.convert(
            {
                **settings,
                "status": "ok" if error is None else "failed",
                "score": score,
                "turns": turns,
                "late_turns": late,
                "tokens": tokens,
                "reactor_tokens": [thought.tokens for thought in ordered],
                "reactor_cut": sum(t.state == "cancelled" or t.finish == "length" for t in ordered),
                "error": error,
                "sha256": recorder.sha256,
            },
            EpisodeRow,
        )
    except (TypeError, msgspec.ValidationError) as problem:
        raise RecordError(f"the record's settings do not name an episode: {problem}") from problem
