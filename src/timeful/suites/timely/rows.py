"""From the record of an episode to its row: every number of the tables, from records alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from timeful.environments.timed.world import ANSWER, TIMER
from timeful.errors import RecordError
from timeful.metrics.budgets import utilisation
from timeful.records.events import (
    Acted,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Event,
    Happened,
    Noted,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder
from timeful.suites.timely.budgets import NO_LIMIT
from timeful.suites.timely.spec import group_of, most_rounds
from timeful.tools import BadCallError, read_call

_BAD = ("malformed-call", "refused-call")
"""What the tool user notes of calls that could not be made."""


class TimelyRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an episode.

    `value` is what tables average: 1 or 0 for an answer, the quality from 0 to 1 of the last
    valid submission, or the score of a game; `gain` is a score less what the game began with.
    What a family does not have is None. `reason` says how it ended: "answered", "ended" or
    "deadline", or nothing if it failed. Calls of the timer are `timer_calls`, those of all other
    tools `calls`, and `bad_calls` were none that could be made. Times are in nanoseconds:
    `counted_ns` is `tool_ns` and `thinking_ns` together, the latter weighed by alpha.
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

    @property
    def group(self) -> str:
        """The column of a table that it belongs to: a game, an ML task, or a set of problems."""
        return group_of(self.family, self.case)

    @property
    def is_on_time(self) -> bool:
        """Whether it came to its end before the deadline, also where that cuts nobody off."""
        in_time = self.budget_ns is None or self.counted_ns <= self.budget_ns
        return in_time and self.reason in ("answered", "ended")

    @property
    def is_out_of_rounds(self) -> bool:
        """Whether it gave up because nobody has more thoughts, and not because it was silent."""
        most = most_rounds(self.family, is_unhurried=self.budget == str(NO_LIMIT))
        return self.rounds == most and any(note.startswith("gave-up:") for note in self.notes)

    @property
    def used_tool(self) -> bool:
        """Whether it called a tool at all, the timer included."""
        return self.calls + self.timer_calls > 0


@dataclass(slots=True)
class _Seen:
    """What was read of a record so far."""

    settings: dict[str, Any] | None = None
    over: dict[str, Any] = field(default_factory=dict)
    score: float = 0.0
    ended: bool = False
    error: str | None = None
    tools: list[str] = field(default_factory=list)
    bad: int = 0
    called_at: int | None = None
    tool_ns: int = 0
    rounds: int = 0
    tokens: int = 0
    notes: list[str] = field(default_factory=list)


def summarize(events: Iterable[Event]) -> TimelyRow:
    """Sum up an episode.

    Raises:
        RecordError: If the events are no whole record of one of the suite's episodes.
    """
    recorder, seen = Recorder(), _Seen()
    for event in events:
        recorder.write(event)
        _read(event, seen)
    if seen.settings is None or not (seen.ended or seen.error is not None):
        raise RecordError("the record is not whole: it lacks its first or its last event")
    try:
        values = dict(_values(seen, seen.settings["episode"]))
        return msgspec.convert({**values, "sha256": recorder.sha256}, TimelyRow)
    except (KeyError, TypeError, msgspec.ValidationError) as problem:
        raise RecordError(f"the record is none of Timely-Eval: {problem}") from problem


def _read(event: Event, seen: _Seen) -> None:
    match event:
        case ThoughtStarted():
            seen.rounds += 1
        case ThoughtEnded():
            seen.tokens += event.tokens
        case Acted():
            _read_act(event, seen)
        case Noted():
            seen.notes.append(f"{event.topic}: {event.text}")
            seen.bad += event.topic in _BAD
        case Happened():
            _read_happening(event, seen)
        case EpisodeStarted() | EpisodeEnded() | EpisodeFailed():
            _read_frame(event, seen)


def _read_frame(event: EpisodeStarted | EpisodeEnded | EpisodeFailed, seen: _Seen) -> None:
    """Read how an episode begins or ends."""
    match event:
        case EpisodeStarted():
            seen.settings = event.settings
        case EpisodeEnded():
            seen.ended = True
        case EpisodeFailed():
            seen.error = f"{event.boundary}: {event.error}"


def _read_happening(event: Happened, seen: _Seen) -> None:
    if event.what == "reply":
        seen.tool_ns += event.data["took"]
    elif event.what == "over":
        seen.over, seen.score = event.data, event.score
        if seen.called_at is not None:  # a call that the deadline cut
            seen.tool_ns += event.at - seen.called_at
    seen.called_at = None


def _read_act(event: Acted, seen: _Seen) -> None:
    if not event.legal:  # of which there is a note
        return
    try:
        name = read_call(event.action).name
    except BadCallError as error:
        raise RecordError(f"the record holds a call that is none: {error}") from error
    if name != ANSWER:
        seen.tools.append(name)
        seen.called_at = event.at


def _values(seen: _Seen, episode: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    facts, ok = seen.over, seen.error is None
    for name in ("family", "case", "who", "stand_in", "run", "budget", "budget_ns", "latency"):
        yield name, episode[name]
    yield "status", "ok" if ok else "failed"
    yield "error", seen.error
    yield "reason", facts.get("reason", "") if ok else ""
    yield "value", seen.score if ok else 0.0
    yield "gain", _gain(facts)
    for name in ("start_score", "max_score", "won", "correct", "checked"):
        yield name, facts.get(name)
    for name in ("metric_name", "metric", "reward_accuracy", "valid_runs"):
        yield name, facts.get(name)
    timer = seen.tools.count(TIMER.name)
    yield "timer_calls", timer
    yield "calls", len(seen.tools) - timer
    yield "bad_calls", seen.bad
    yield "rounds", seen.rounds
    yield "tokens", seen.tokens
    counted, budget = facts.get("counted", 0), episode["budget_ns"]
    yield "counted_ns", counted
    yield "tool_ns", seen.tool_ns if ok else 0
    yield "thinking_ns", counted - seen.tool_ns if ok else 0
    yield "utilisation", utilisation(counted, budget) if ok and budget is not None else None
    yield "notes", seen.notes


def _gain(facts: Mapping[str, Any]) -> float | None:
    """What was gained over the score that a game starts with."""
    if facts.get("start_score") is None:
        return None
    gain: float = facts["final_score"] - facts["start_score"]
    return gain
