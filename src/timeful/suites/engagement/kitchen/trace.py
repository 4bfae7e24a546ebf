"""The course of a kitchen episode, read from its record: tutoring, signals, actions.

A pure function of the events; rows, tables and the figure are made from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from timeful.core.units import Instant
from timeful.environments.kitchen.actions import Action, read_action
from timeful.interfaces.polling import POLL
from timeful.interfaces.visibility import EVENT
from timeful.records.events import (
    Acted,
    Entry,
    EpisodeEnded,
    Happened,
    Looked,
    Noted,
    Polled,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
)
from timeful.records.summary import CompleteRecord, complete_record, foreign_record

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """An episode in the kitchen.

    `texts` holds the text of each problem, `breaks` the positions where it was interrupted.
    """

    record: CompleteRecord
    actions: Sequence[Action]
    executions: Sequence[Execution]
    signals: Mapping[str, Signal]
    stretches: Sequence[Stretch]
    polls: Sequence[Instant]
    complete: frozenset[str]
    texts: Mapping[str, str]
    breaks: Mapping[str, list[int]]

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the episode."""
        return self.record.settings

    @property
    def method(self) -> str:
        """The method in tables."""
        return str(self.settings["episode"].get("method", "episode"))

    @property
    def end(self) -> Instant:
        """The end of the episode."""
        return Instant(self.record.end.at)

    @property
    def score(self) -> float | None:
        """The score of the world; None if the episode failed."""
        return self.record.end.score if isinstance(self.record.end, EpisodeEnded) else None

    def finish_of(self, dish: str) -> Execution | None:
        """The finish action of a dish, if it was begun."""
        return next((d for d in self.executions if d.verb == "finish" and d.dish == dish), None)


def read_trace(events: Iterable[Entry]) -> Trace:
    """Read a record.

    Raises:
        RecordError: If the record is not complete, or not of a kitchen.
    """
    record = complete_record(events)
    with foreign_record("a kitchen episode"):
        return _read_trace(record)


def _read_trace(record: CompleteRecord) -> Trace:
    acted = [event for event in record.events if isinstance(event, Acted) and event.legal]
    happened = [event for event in record.events if isinstance(event, Happened)]
    tutored = [event.data for event in happened if event.what == "tutored"]
    stretches, texts = _read_stretches(record.events)
    return Trace(
        record=record,
        actions=[read_action(event.action) for event in acted],
        executions=_read_executions(record.events),
        signals=_read_signals(record),
        stretches=stretches,
        polls=[Instant(event.at) for event in record.events if isinstance(event, Polled)],
        complete=frozenset(data["problem"] for data in tutored if data["complete"]),
        texts=texts,
        breaks=_read_breaks(record.events),
    )


def _read_executions(events: Iterable[Entry]) -> list[Execution]:
    executions: list[Execution] = []
    for event in events:
        if isinstance(event, Acted) and event.legal:
            action = read_action(event.action)
            if action.verb in ("prepare", "stage", "finish"):
                executions.append(
                    Execution(
                        verb=action.verb, dish=action.target, start=Instant(event.at), by=event.by
                    )
                )
        elif isinstance(event, Happened) and event.what in ("prepared", "staged", "finished"):
            quality = event.data.get("quality")
            executions[-1] = replace(executions[-1], end=Instant(event.at), quality=quality)
    return executions


def _read_signals(record: CompleteRecord) -> dict[str, Signal]:
    dishes = {dish["name"]: dish for dish in record.settings["menu"]["dishes"]}
    signals: dict[str, Signal] = {}
    unseen: dict[int, str] = {}  # dishes by the number of their signal

    def see(dish: str, at: int) -> None:
        if signals[dish].seen_at is None:
            signals[dish] = replace(signals[dish], seen_at=Instant(at))

    for event in record.events:
        match event:
            case Happened(what="signal", data=data):
                unseen[event.number] = data["dish"]
                signals[data["dish"]] = Signal(
                    dish=data["dish"],
                    at=Instant(event.at),
                    window_end=data["window_end"],
                    deadline=data["deadline"],
                    is_critical=dishes[data["dish"]]["slack"] is None,
                )
            case Looked():
                for number in [number for number in unseen if number <= event.through]:
                    see(unseen.pop(number), event.at)
            case Acted(legal=True, by="reflex"):
                # The engine knew of it for as long as it took to react.
                see(read_action(event.action).target, event.at - record.settings["delay"])
    return signals


def _read_breaks(events: Iterable[Entry]) -> dict[str, list[int]]:
    breaks: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, Noted) and event.topic.startswith("text "):
            problem = event.topic.removeprefix("text ")
            breaks.setdefault(problem, []).append(int(event.text.split()[0]))
    return breaks


@dataclass(slots=True)
class _Tutoring:
    """A tutor's thought: its open stretch, and the tokens before it."""

    problem: str
    start: Instant | None
    tokens: int = 0
    polled: tuple[Instant, int] | None = None
    """The instant and the tokens at which it began to wait for a poll."""

    def read(self, event: ThoughtResumed | ThoughtPaused | ThoughtEnded) -> list[Stretch]:
        """Continue with an event of the thought; the stretch that it ends, if any."""
        at = Instant(event.at)
        match event:
            case ThoughtResumed():
                self.start, self.polled = at if self.start is None else self.start, None
                return []
            case ThoughtPaused() if event.cause == POLL:
                self.polled = at, event.tokens
                return []
            case ThoughtPaused():
                ending: Ending = "interrupted" if event.cause == EVENT else "bounded"
            case ThoughtEnded():
                ending = "over" if event.state == "completed" else "cut"
        return self._close(at, event.tokens, ending)

    def stop_waiting(self) -> list[Stretch]:
        """End the stretch that waits for a poll and did not continue: it was interrupted."""
        return self._close(*self.polled, "interrupted") if self.polled else []

    def _close(self, at: Instant, tokens: int, ending: Ending) -> list[Stretch]:
        start, self.start, self.polled = self.start, None, None
        if start is None or start == at:
            return []
        count, self.tokens = tokens - self.tokens, tokens
        return [Stretch(problem=self.problem, start=start, end=at, tokens=count, ending=ending)]


def _read_stretches(events: Iterable[Entry]) -> tuple[list[Stretch], dict[str, str]]:
    """The stretches of tutoring, and the text of each problem."""
    stretches: list[Stretch] = []
    texts: dict[str, str] = {}
    thoughts: dict[int, _Tutoring] = {}
    problem = ""
    for event in events:
        if isinstance(event, Acted | ThoughtEnded):
            stretches += [s for thought in thoughts.values() for s in thought.stop_waiting()]
        match event:
            case Acted(legal=True, action=text) if (action := read_action(text)).verb == "tutor":
                problem = action.target
            case ThoughtStarted(purpose="tutor"):
                thoughts[event.thought] = _Tutoring(problem, Instant(event.at))
            case ThoughtResumed() | ThoughtPaused() | ThoughtEnded() if event.thought in thoughts:
                thought = thoughts[event.thought]
                stretches += thought.read(event)
                if isinstance(event, ThoughtEnded):
                    texts[thought.problem] = texts.get(thought.problem, "") + event.answer
    return stretches, texts
