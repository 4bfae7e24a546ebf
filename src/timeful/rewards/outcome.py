"""The outcome of a task under a time budget, from the record of its episode.

The facts of the last event of the world tell the kind of task.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from timeful.errors import RecordError
from timeful.records.events import (
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
    Noted,
    ThoughtEnded,
    Within,
)

Kind = Literal["reasoning", "fiction", "coding"]


class _Facts(msgspec.Struct):
    """The data of the last event of a task; each kind of task has its own facts."""

    reason: Literal["answered", "ended", "deadline"]
    counted: int
    correct: bool | None = None
    checked: str = ""
    start_score: float | None = None
    final_score: float | None = None
    max_score: float | None = None
    reward_accuracy: float | None = None
    metric: float | None = None


class _Budget(msgspec.Struct):
    """The budget in the settings of an episode."""

    budget_ns: int | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of an episode that did not fail.

    Attributes:
        kind: The kind of task.
        correct: Whether the answer was right; None for a task without answers.
        score: 1 or 0 for an answer, the points gained in a game, or the reward accuracy of the
            last valid submission, in [0, 1].
        max_score: The maximum score; None if the game has none.
        tokens: The tokens of all thoughts, including those of modules.
        counted: The time that counts, in nanoseconds.
        budget: The time budget in nanoseconds, or None.
        budget_tokens: The token budget, or None.
        is_cut: Whether the deadline ended the episode.
        is_formed: Whether it ended with an answer that could be extracted or a submission that
            could be graded, without giving up.
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
        """Whether it exceeded its time budget; an end exactly at the budget is in time."""
        return self.is_cut or (self.budget is not None and self.counted > self.budget)

    @property
    def is_within(self) -> bool:
        """Whether it kept its budgets of time and tokens."""
        too_long = self.budget_tokens is not None and self.tokens > self.budget_tokens
        return not (self.is_late or too_long)


@dataclass(slots=True)
class _Reader:
    """The relevant events of a record."""

    settings: Mapping[str, Any] | None = None
    over: Mapping[str, Any] | None = None
    end: EpisodeEnded | EpisodeFailed | None = None
    tokens: int = 0
    notes: set[str] = field(default_factory=set)

    def take(self, event: Entry) -> None:
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


def read_outcome(events: Iterable[Entry]) -> Outcome | None:
    """Read the outcome of a task.

    Args:
        events: The record: `read_record` of a file, or `Recorder.events`.

    Returns:
        The outcome; None if the episode failed, which has no reward, not even 0.

    Raises:
        RecordError: If it is not a complete record of a task under a time budget.
    """
    reader = _Reader()
    for event in events:
        reader.take(event)
    if reader.settings is None or reader.end is None:
        raise RecordError("the record is incomplete: it lacks its first or its last event")
    if isinstance(reader.end, EpisodeFailed):
        return None
    if reader.over is None:
        raise RecordError("the record is not that of a task under a budget: it lacks 'over'")
    try:
        facts = msgspec.convert(reader.over, _Facts)
        budget = msgspec.convert(reader.settings.get("episode", {}), _Budget)
    except msgspec.ValidationError as error:
        raise RecordError(f"the record is not that of a task under a budget: {error}") from None
    return _outcome(facts, budget, reader)


def _outcome(facts: _Facts, budget: _Budget, reader: _Reader) -> Outcome:
    kind, score, max_score, is_formed = _graded(facts)
    return Outcome(
        kind=kind,
        correct=facts.correct,
        score=score,
        max_score=max_score,
        tokens=reader.tokens,
        counted=facts.counted,
        budget=budget.budget_ns,
        budget_tokens=budget.budget_tokens,
        is_cut=facts.reason == "deadline",
        is_formed=is_formed and "gave-up" not in reader.notes,
    )


def _graded(facts: _Facts) -> tuple[Kind, float, float | None, bool]:
    """The kind of task, its score, the maximum score, and whether it is well formed."""
    if facts.correct is not None:
        return "reasoning", float(facts.correct), 1.0, facts.checked != "none"
    if facts.final_score is not None:
        return "fiction", facts.final_score - (facts.start_score or 0), facts.max_score, True
    if facts.reward_accuracy is not None:
        return "coding", facts.reward_accuracy, 1.0, facts.metric is not None
    raise RecordError("the record has no result of the task")
