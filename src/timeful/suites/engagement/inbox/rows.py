"""One row an inbox episode, made from its record alone."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from timeful.core.units import in_seconds
from timeful.environments.inbox.scoring import (
    Tally,
    balanced_score,
    email_score,
    main_score,
    utility,
)
from timeful.environments.inbox.settings import URGENCIES, Scoring, Urgency
from timeful.errors import RecordError
from timeful.records.events import (
    Acted,
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
    Noted,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder

Counts = tuple[int, int, int]
"""Of high, medium and low urgency."""


class InboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one episode; of a failed one, what there was until it failed.

    `utility`, `main`, `email` and `balanced` are equations (1) to (4). `latency` is the sum in
    seconds, over `responses` emails, of the span from arrival to the first response, a reminder
    included, or to the deadline if that came before it; an email that waits for a response when
    the episode ends is not among them. Each of the `emails` is handled on time, `late`,
    `timed_out` or still `open`. `looks` counts looks into the inbox, `answers` those about
    emails, of which `malformed` could not be used, and `tokens` those of the main task.
    """

    decomposition: str
    interface: str
    policy: str
    model: str
    writer: str
    stand_in: bool
    hints: bool = True
    priced_by: str = "decision"
    seed: int
    episode: int
    status: Literal["ok", "failed"]
    utility: float
    balanced: float
    main: float
    email: float
    latency: float
    responses: int
    progress: int
    emails: int
    on_time: int
    late: int
    timed_out: int
    open: int
    arrived_by_urgency: Counts
    on_time_by_urgency: Counts
    switches: int
    interruptions: int
    looks: int
    reminders: int
    answers: int
    malformed: int
    illegal: int
    tokens: int
    ended: float
    error: str | None
    sha256: str


@dataclass(slots=True)
class _Seen:
    """An email, and what became of it so far."""

    urgency: Urgency
    arrived: int
    deadline: int
    response: int | None = None
    state: str = "open"

    @property
    def waited(self) -> int | None:
        """From its arrival to the first response or its deadline; None if neither came."""
        if self.response is None:
            return self.deadline - self.arrived if self.state == "expired" else None
        return min(self.response, self.deadline) - self.arrived


@dataclass(slots=True)
class _Reading:
    """What was read of a record so far."""

    emails: dict[int, _Seen] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    looks: int = 0
    reminders: int = 0
    answers: int = 0
    malformed: int = 0
    illegal: int = 0
    tokens: int = 0
    writing: set[int] = field(default_factory=set)
    deciding: set[int] = field(default_factory=set)

    def take(self, event: Entry) -> None:
        """Read one event."""
        match event:
            case Happened():
                self._take_happened(event)
            case ThoughtStarted() if event.purpose == "main":
                self.writing.add(event.thought)
            case ThoughtStarted() if event.purpose == "triage":
                self.deciding.add(event.thought)
            case ThoughtEnded() if event.thought in self.writing:
                self.tokens += event.tokens
            case ThoughtEnded(state="completed") if event.thought in self.deciding:
                self.answers += 1
            case Noted(topic="triage"):
                self.malformed += 1
            case Acted(legal=False):
                self.illegal += 1
            case _:
                pass

    def _take_happened(self, event: Happened) -> None:
        data, what = event.data, event.what
        self.tally.switches += data.get("switched", False)
        self.tally.interruptions += data.get("interrupted", False)
        self.looks += what == "checked"
        self.reminders += what == "reminded"
        if what == "email":
            self.emails[data["email"]] = _Seen(data["urgency"], event.at, data["deadline"])
        elif what == "delivered":
            self.tally.progress += data["progress"]
        elif what == "expired":
            self.emails[data["email"]].state = what
            self.tally.timed_out += 1
        elif what in ("handled", "late", "reminded"):
            email = self.emails[data["email"]]
            if email.response is None:
                email.response = event.at
            if what != "reminded":
                email.state = what
            self.tally.on_time += what == "handled"
            self.tally.late += what == "late"


def summarize(events: Iterable[Entry]) -> InboxRow:
    """Sum up one episode; the settings of its record name it, and say what counts how much.

    Raises:
        RecordError: If the events are no whole record, or are not about an inbox.
    """
    recorder, reading = Recorder(), _Reading()
    settings: dict[str, Any] = {}
    end: EpisodeEnded | EpisodeFailed | None = None
    for event in events:
        recorder.write(event)
        reading.take(event)
        if isinstance(event, EpisodeStarted):
            settings = event.settings
        elif isinstance(event, EpisodeEnded | EpisodeFailed):
            end = event
    if end is None:
        raise RecordError("the record has no end: its episode was cut off")
    error = f"{end.boundary}: {end.error}" if isinstance(end, EpisodeFailed) else None
    try:
        scoring = msgspec.convert(settings["world"]["scoring"], Scoring)
        parts = {
            **settings["episode"],
            **_numbers(reading, scoring),
            "status": "ok" if error is None else "failed",
            "ended": in_seconds(end.at),
            "error": error,
            "sha256": recorder.sha256,
        }
        return msgspec.convert(parts, InboxRow)
    except (KeyError, TypeError, msgspec.ValidationError) as problem:
        raise RecordError(f"the record is not about an inbox: {problem}") from problem


def _numbers(reading: _Reading, scoring: Scoring) -> dict[str, Any]:
    tally, emails = reading.tally, list(reading.emails.values())
    main = main_score(scoring, tally.progress)
    email = email_score(scoring, [(e.urgency, e.state == "handled") for e in emails])
    waits = [email.waited for email in reading.emails.values() if email.waited is not None]
    return {
        "utility": utility(scoring, tally),
        "main": main,
        "email": email,
        "balanced": balanced_score(scoring, main=main, email=email),
        "latency": in_seconds(sum(waits)),
        "responses": len(waits),
        "progress": tally.progress,
        "emails": len(emails),
        "on_time": tally.on_time,
        "late": tally.late,
        "timed_out": tally.timed_out,
        "open": sum(e.state == "open" for e in emails),
        "arrived_by_urgency": _by_urgency(emails),
        "on_time_by_urgency": _by_urgency([e for e in emails if e.state == "handled"]),
        "switches": tally.switches,
        "interruptions": tally.interruptions,
        "looks": reading.looks,
        "reminders": reading.reminders,
        "answers": reading.answers,
        "malformed": reading.malformed,
        "illegal": reading.illegal,
        "tokens": reading.tokens,
    }


def _by_urgency(emails: Iterable[_Seen]) -> list[int]:
    urgencies = [email.urgency for email in emails]
    return [urgencies.count(urgency) for urgency in URGENCIES]
