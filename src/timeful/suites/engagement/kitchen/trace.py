"""The course of a kitchen episode, read from its record: tutoring, signals, actions.

A pure function of the events; rows, tables and the figure are made from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from timeful.core.units import Instant
from timeful.environments.kitchen.actions import Action, read_action
from timeful.errors import RecordError
from timeful.interfaces.polling import POLL
from timeful.interfaces.visibility import EVENT
from timeful.records.events import (
    Acted,
    AnyEntry,
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
    Looked,
    Noted,
    Polled,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)

Ending = Literal["over", "interrupted", "bounded", "cut"]
"""A stretch of tutoring ends with its text, by an event, by its own bound, or with the episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of tutoring without a break; it has at least one token."""

    problem: str
    start: Instant
    end: Instant
    tokens: int
    ending: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A dish that signalled; `seen_at` is when the decider first learned of it."""

    dish: str
    at: Instant
    window_end: Instant
    deadline: Instant
    is_critical: bool
    seen_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """An action in the kitchen; `quality` is set at the end of a finish action."""

    verb: str
    dish: str
    start: Instant
    by: Literal["agent", "reflex"]
    end: Instant | None = None
    quality: int | None = None


@dataclass(slots=True, kw_only=True)
class Trace:
    """An episode in the kitchen.

    `texts` holds the text of each problem, `breaks` the positions where it was interrupted.
    """

    settings: dict[str, Any]
    stretches: list[Stretch] = field(default_factory=list)
    signals: dict[str, Signal] = field(default_factory=dict)
    executions: list[Execution] = field(default_factory=list)
    polls: list[Instant] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    complete: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    breaks: dict[str, list[int]] = field(default_factory=dict)
    calls: int = 0
    refused: int = 0
    is_out_of_calls: bool = False
    tokens: int = 0
    end: Instant | None = None
    score: float | None = None
    error: str | None = None

    @property
    def episode(self) -> dict[str, Any]:
        """Which episode it is."""
        return dict(self.settings.get("episode", {}))

    def finish_of(self, dish: str) -> Execution | None:
        """The finish action of a dish, if it was begun."""
        return next((d for d in self.executions if d.verb == "finish" and d.dish == dish), None)


def read_trace(events: Iterable[Entry]) -> Trace:
    """Read a record.

    Raises:
        RecordError: If the record is not whole, or not of a kitchen.
    """
    reader = _Reader()
    for event in events:
        reader.read(event)  # type: ignore[arg-type]  # a record holds only these
    trace = reader.trace
    if trace is None or "menu" not in trace.settings:
        raise RecordError("the record is not of a kitchen episode")
    if trace.end is None:
        raise RecordError("the record has no end: its episode was cut off")
    return trace


class _Reader:
    """Follows a record from event to event."""

    def __init__(self) -> None:
        self.trace: Trace | None = None
        self._problem = ""  # the latest that was set about
        self._problems: dict[int, str] = {}  # of each tutor's thought
        self._began: dict[int, Instant] = {}  # when its stretch under way began
        self._tokens: dict[int, int] = {}  # before that
        self._polled: dict[int, tuple[Instant, int]] = {}  # waits for a poll: since when, tokens
        self._unseen: dict[int, str] = {}  # dishes by the number of their signal
        self._execution: Execution | None = None

    def read(self, event: AnyEntry) -> None:
        """Take one event."""
        if isinstance(event, EpisodeStarted):
            self.trace = Trace(settings=event.settings)
        elif self.trace is not None:
            self._read(self.trace, event, Instant(event.at))

    def _read(self, trace: Trace, event: AnyEntry, at: Instant) -> None:
        match event:
            case Acted():
                self._read_action(trace, event, at)
            case Happened():
                self._read_change(trace, event, at)
            case Looked():
                for number in [n for n in self._unseen if n <= event.through]:
                    self._see(trace, self._unseen.pop(number), at)
            case Polled():
                trace.polls.append(at)
            case Noted():
                self._read_note(trace, event)
            case EpisodeEnded():
                trace.end, trace.score = at, event.score
            case EpisodeFailed():
                trace.end, trace.error = at, f"{event.boundary}: {event.error}"
            case _:
                self._read_thought(trace, event, at)

    def _read_action(self, trace: Trace, event: Acted, at: Instant) -> None:
        trace.refused += not event.legal
        self._stop_polled(trace)
        if not event.legal:
            return
        action = read_action(event.action)
        trace.actions.append(action)
        if action.verb == "tutor":
            self._problem = action.target
        if action.verb in ("prepare", "stage", "finish"):
            self._execution = Execution(verb=action.verb, dish=action.target, start=at, by=event.by)
            trace.executions.append(self._execution)
        if event.by == "reflex":
            # The engine knew of it for as long as it took to react.
            self._see(trace, action.target, at - trace.settings["delay"])

    def _see(self, trace: Trace, dish: str, at: Instant) -> None:
        signal = trace.signals[dish]
        if signal.seen_at is None:
            trace.signals[dish] = replace(signal, seen_at=at)

    def _read_change(self, trace: Trace, event: Happened, at: Instant) -> None:
        data = event.data
        if event.what == "signal":
            dish = next(d for d in trace.settings["menu"]["dishes"] if d["name"] == data["dish"])
            trace.signals[data["dish"]] = Signal(
                dish=data["dish"],
                at=at,
                window_end=data["window_end"],
                deadline=data["deadline"],
                is_critical=dish["slack"] is None,
            )
            self._unseen[event.number] = data["dish"]
        elif event.what in ("prepared", "staged", "finished") and self._execution is not None:
            trace.executions[-1] = replace(self._execution, end=at, quality=data.get("quality"))
        elif event.what == "tutored" and data["complete"]:
            trace.complete.add(data["problem"])

    def _read_note(self, trace: Trace, event: Noted) -> None:
        trace.refused += event.topic == "answer"
        trace.is_out_of_calls |= event.topic == "calls"
        kind, _, problem = event.topic.partition(" ")
        if kind == "text":
            trace.breaks.setdefault(problem, []).append(int(event.text.split()[0]))

    def _read_thought(self, trace: Trace, event: AnyEntry, at: Instant) -> None:
        match event:
            case ThoughtStarted():
                trace.calls += event.purpose == "control"
                if event.purpose == "tutor":
                    self._problems[event.thought] = self._problem
                    self._tokens[event.thought] = 0
                    self._began[event.thought] = at
            case ThoughtResumed() if event.thought in self._problems:
                self._polled.pop(event.thought, None)
                self._began.setdefault(event.thought, at)
            case ThoughtPaused() if event.thought in self._problems:
                if event.cause == POLL:
                    self._polled[event.thought] = at, event.tokens
                else:
                    by_event = event.cause == EVENT
                    self._stop(trace, event.thought, at, event.tokens, by_event=by_event)
            case ThoughtEnded():
                trace.tokens += event.tokens
                if event.thought in self._problems:
                    self._stop_polled(trace)
                    problem = self._problems[event.thought]
                    trace.texts[problem] = trace.texts.get(problem, "") + event.answer
                    self._stop(trace, event.thought, at, event.tokens, state=event.state)

    def _stop_polled(self, trace: Trace) -> None:
        """Close texts that waited for a poll and did not continue: it interrupted them."""
        for thought, (at, tokens) in self._polled.items():
            self._stop(trace, thought, at, tokens, by_event=True)
        self._polled.clear()

    def _stop(
        self,
        trace: Trace,
        thought: int,
        at: Instant,
        tokens: int,
        *,
        by_event: bool = False,
        state: str = "",
    ) -> None:
        """Close the open stretch of a thought, if it has one that is not empty."""
        start = self._began.pop(thought, None)
        if start is None or at == start:
            return
        ending: Ending = "interrupted" if by_event else "bounded"
        if state:
            ending = "over" if state == "completed" else "cut"
        count = tokens - self._tokens[thought]
        self._tokens[thought] = tokens
        trace.stretches.append(
            Stretch(
                problem=self._problems[thought], start=start, end=at, tokens=count, ending=ending
            )
        )
