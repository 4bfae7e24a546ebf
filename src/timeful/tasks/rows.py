"""The row of a task episode: every number of the tables, computed from its record alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from timeful.environments.timed.world import ANSWER, TIMER
from timeful.errors import RecordError
from timeful.metrics.budgets import utilisation
from timeful.records.events import (
    Acted,
    Entry,
    Happened,
    Noted,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.records.summary import CompleteRecord, make_row
from timeful.tasks.budgets import NO_LIMIT
from timeful.tasks.episode import group_of, most_rounds
from timeful.tools import BadCallError, read_call

_BAD_CALLS = ("malformed-call", "refused-call")
"""The topics of the tool user's notes about calls that could not be made."""


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an episode.

    `value` is averaged by tables: 1 or 0 for an answer, the quality from 0 to 1 of the last valid
    submission, or the score of a game; `gain` is a score minus the score at the start. Columns of
    other families are None. `reason` is how the episode ended: "answered", "ended", "deadline", or
    empty if it failed. `timer_calls` are calls of the timer, `calls` those of all other tools, and
    `bad_calls` could not be made. Times are in nanoseconds: `counted_ns` is the sum of `tool_ns`
    and `thinking_ns`, the latter weighted by alpha.
    """

    family: str
    case: str
    who: str
    stand_in: bool
    run: int
    budget: str
    budget_ns: int | None
    latency: str
    status: Literal["ok", "failed"]
    reason: str
    value: float
    gain: float | None
    start_score: float | None
    max_score: float | None
    won: bool | None
    correct: bool | None
    checked: str | None
    metric_name: str | None
    metric: float | None
    reward_accuracy: float | None
    valid_runs: int | None
    calls: int
    timer_calls: int
    bad_calls: int
    rounds: int
    tokens: int
    counted_ns: int
    tool_ns: int
    thinking_ns: int
    utilisation: float | None
    notes: tuple[str, ...]
    error: str | None
    sha256: str
    behind_s: float = 0.0
    """The greatest delay of the timeline after the wall clock, in s; 0 in virtual time."""

    @property
    def group(self) -> str:
        """The column of a table: a game, an ML task, or a set of problems."""
        return group_of(self.family, self.case)

    @property
    def is_on_time(self) -> bool:
        """Whether it ended before the deadline, also under a soft budget."""
        in_time = self.budget_ns is None or self.counted_ns <= self.budget_ns
        return in_time and self.reason in ("answered", "ended")

    @property
    def is_out_of_rounds(self) -> bool:
        """Whether it gave up at the limit of thoughts, and not because the model was silent."""
        most = most_rounds(self.family, is_unhurried=self.budget == str(NO_LIMIT))
        return self.rounds == most and any(note.startswith("gave-up:") for note in self.notes)

    @property
    def used_tool(self) -> bool:
        """Whether it called a tool, the timer included."""
        return self.calls + self.timer_calls > 0


@dataclass(slots=True)
class _Tally:
    """The sums over the events of a record."""

    outcome: dict[str, Any] = field(default_factory=dict)
    score: float = 0.0
    tools: list[str] = field(default_factory=list)
    bad_calls: int = 0
    called_at: int | None = None
    tool_ns: int = 0
    rounds: int = 0
    tokens: int = 0
    notes: list[str] = field(default_factory=list)


def summarize(events: Iterable[Entry]) -> TaskRow:
    """Compute the row of an episode.

    Raises:
        RecordError: If the events are not a complete record of a task episode.
    """
    return make_row(events, TaskRow, _read)


def _read(record: CompleteRecord) -> dict[str, Any]:
    tally = _Tally()
    for event in record.events:
        _add(event, tally)
    values = _values(tally, record.settings["episode"], is_ok=record.error is None)
    return dict(values)


def _add(event: Entry, tally: _Tally) -> None:
    match event:
        case ThoughtStarted():
            tally.rounds += 1
        case ThoughtEnded():
            tally.tokens += event.tokens
        case Acted():
            _add_call(event, tally)
        case Noted():
            tally.notes.append(f"{event.topic}: {event.text}")
            tally.bad_calls += event.topic in _BAD_CALLS
        case Happened():
            _add_happening(event, tally)


def _add_happening(event: Happened, tally: _Tally) -> None:
    if event.what == "reply":
        tally.tool_ns += event.data["took"]
    elif event.what == "over":
        tally.outcome, tally.score = event.data, event.score
        if tally.called_at is not None:  # the deadline cut a call
            tally.tool_ns += event.at - tally.called_at
    tally.called_at = None


def _add_call(event: Acted, tally: _Tally) -> None:
    if not event.legal:  # a note counts it
        return
    try:
        name = read_call(event.action).name
    except BadCallError as error:
        raise RecordError(f"the record has a malformed call: {error}") from error
    if name != ANSWER:
        tally.tools.append(name)
        tally.called_at = event.at


def _values(tally: _Tally, episode: Mapping[str, Any], *, is_ok: bool) -> Iterator[tuple[str, Any]]:
    outcome = tally.outcome
    yield "reason", outcome.get("reason", "") if is_ok else ""
    yield "value", tally.score if is_ok else 0.0
    yield "gain", _gain(outcome)
    for name in ("start_score", "max_score", "won", "correct", "checked"):
        yield name, outcome.get(name)
    for name in ("metric_name", "metric", "reward_accuracy", "valid_runs"):
        yield name, outcome.get(name)
    timer_calls = tally.tools.count(TIMER.name)
    yield "timer_calls", timer_calls
    yield "calls", len(tally.tools) - timer_calls
    yield "bad_calls", tally.bad_calls
    yield "rounds", tally.rounds
    yield "tokens", tally.tokens
    counted_ns, budget = outcome.get("counted", 0), episode["budget_ns"]
    yield "counted_ns", counted_ns
    yield "tool_ns", tally.tool_ns if is_ok else 0
    yield "thinking_ns", counted_ns - tally.tool_ns if is_ok else 0
    yield "utilisation", utilisation(counted_ns, budget) if is_ok and budget is not None else None
    yield "notes", tally.notes


def _gain(outcome: Mapping[str, Any]) -> float | None:
    """The score minus the score that a game starts with."""
    if outcome.get("start_score") is None:
        return None
    gain: float = outcome["final_score"] - outcome["start_score"]
    return gain
