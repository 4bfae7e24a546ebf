"""What became of a task under a time budget, from the record of its episode alone.

Which kind of task it was is told by the facts that its world left with its last event.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from timeful.errors import RecordError
from timeful.records.events import (
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Event,
    Happened,
    Noted,
    ThoughtEnded,
    Within,
)

Kind = Literal["reasoning", "fiction", "coding"]


class _Facts(msgspec.Struct):
    """What the last event of a task tells; each kind has facts of its own."""

    reason: Literal["answered", "ended", "deadline"]
    counted: int
    correct: bool | None = None
    checked: str = ""
    start_score: float | None = None
    final_score: float | None = None
    max_score: float | None = None
    reward_accuracy: float | None = None
    metric: float | None = None


class _Asked(msgspec.Struct):
    """What the settings of an episode say of its budget."""

    budget_ns: int | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An episode that came to its end.

    Attributes:
        kind: What kind of task it was.
        correct: Whether the answer was right; None where there is no answer.
        score: How well it was done: 1 or 0 for an answer, the points that a game gained since its
            start, the reward accuracy of the last valid submission, in [0, 1].
        max_score: The most that there is; None of a game that does not say.
        tokens: The tokens of all thoughts, those of modules too.
        counted: The time that counted, in nanoseconds.
        budget: The time that was asked for, in nanoseconds; None if none was named.
        budget_tokens: The tokens that were asked for; None if none were named.
        is_cut: Whether the deadline ended it.
        is_formed: Whether it ended as a task has to: by an answer that could be cut out of what
            was said, with a submission that could be graded, and not by giving up.
    """

    kind: Kind
    correct: bool | None
    score: float
    max_score: float | None
    tokens: int
    counted: int
    budget: int | None
    budget_tokens: int | None
    is_cut: bool
    is_formed: bool

    @property
    def is_late(self) -> bool:
        """Whether it took longer than it had; what ends at the budget itself is in time."""
        return self.is_cut or (self.budget is not None and self.counted > self.budget)

    @property
    def is_within(self) -> bool:
        """Whether it kept every budget that was asked for, of time and of tokens."""
        too_long = self.budget_tokens is not None and self.tokens > self.budget_tokens
        return not (self.is_late or too_long)


@dataclass(slots=True)
class _Seen:
    """What was read of a record so far."""

    settings: Mapping[str, Any] | None = None
    over: Mapping[str, Any] | None = None
    end: EpisodeEnded | EpisodeFailed | None = None
    tokens: int = 0
    notes: set[str] = field(default_factory=set)

    def take(self, event: Event) -> None:
        match event:
            case EpisodeStarted():
                self.settings = event.settings
            case ThoughtEnded() | Within(what=ThoughtEnded()):
                self.tokens += (event.what if isinstance(event, Within) else event).tokens  # type: ignore[union-attr]
            case Noted():
                self.notes.add(event.topic)
            case Happened(what="over"):
                self.over = event.data
            case EpisodeEnded() | EpisodeFailed():
                self.end = event
            case _:
                pass


def read_outcome(events: Iterable[Event]) -> Outcome | None:
    """Read what became of a task.

    Args:
        events: The record: `read_record` of a file, or `Recorder.events`.

    Returns:
        None if the episode failed: it has no outcome, and so no reward, not even 0.

    Raises:
        RecordError: If it is no whole record of a task under a time budget.
    """
    seen = _Seen()
    for event in events:
        seen.take(event)
    if seen.settings is None or seen.end is None:
        raise RecordError("the record is not whole: it lacks its first or its last event")
    if isinstance(seen.end, EpisodeFailed):
        return None
    if seen.over is None:
        raise RecordError("the record is not that of a task under a time budget: nothing is over")
    try:
        facts = msgspec.convert(seen.over, _Facts)
        asked = msgspec.convert(seen.settings.get("episode", {}), _Asked)
    except msgspec.ValidationError as error:
        raise RecordError(f"the record is not that of a task under a budget: {error}") from None
    return _outcome(facts, asked, seen)


def _outcome(facts: _Facts, asked: _Asked, seen: _Seen) -> Outcome:
    kind, score, most, is_formed = _graded(facts)
    return Outcome(
        kind=kind,
        correct=facts.correct,
        score=score,
        max_score=most,
        tokens=seen.tokens,
        counted=facts.counted,
        budget=asked.budget_ns,
        budget_tokens=asked.budget_tokens,
        is_cut=facts.reason == "deadline",
        is_formed=is_formed and "gave-up" not in seen.notes,
    )


def _graded(facts: _Facts) -> tuple[Kind, float, float | None, bool]:
    """The kind of task, its score, the most there is, and whether it was well formed."""
    if facts.correct is not None:
        return "reasoning", float(facts.correct), 1.0, facts.checked != "none"
    if facts.final_score is not None:
        return "fiction", facts.final_score - (facts.start_score or 0), facts.max_score, True
    if facts.reward_accuracy is not None:
        return "coding", facts.reward_accuracy, 1.0, facts.metric is not None
    raise RecordError("the record does not say how well the task was done")
