"""One row an inbox episode, made from its record alone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
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
from timeful.records.events import Acted, Entry, Happened, Noted, ThoughtEnded, ThoughtStarted
from timeful.records.summary import CompleteRecord, make_row
from timeful.records.verdicts import Judgement, judge

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
class _Email:
    """An email, and what became of it."""

    urgency: Urgency
    arrived: int
    deadline: int
    verdict: str
    response: int | None = None

    @property
    def waited(self) -> int | None:
        """From its arrival to the first response or its deadline; None if neither came."""
        if self.response is None:
            return self.deadline - self.arrived if self.verdict == "lost" else None
        return min(self.response, self.deadline) - self.arrived


def summarize(events: Iterable[Entry]) -> InboxRow:
    """Sum up one episode; the settings of its record identify it and have the scoring.

    Raises:
        RecordError: If the events are not a complete record of an inbox.
    """
    return make_row(events, InboxRow, _read)


def _read(record: CompleteRecord) -> dict[str, Any]:
    scoring = msgspec.convert(record.settings["world"]["scoring"], Scoring)
    happened = [event for event in record.events if isinstance(event, Happened)]
    counts = Counter(event.what for event in happened)
    emails = _read_emails(happened, judge(record.events))
    verdicts = Counter(email.verdict for email in emails)
    waits = [email.waited for email in emails if email.waited is not None]
    tally = Tally(
        progress=sum(e.data["progress"] for e in happened if e.what == "delivered"),
        on_time=verdicts["in time"],
        late=verdicts["late"],
        timed_out=verdicts["lost"],
        switches=sum(event.data.get("switched", False) for event in happened),
        interruptions=sum(event.data.get("interrupted", False) for event in happened),
    )
    main = main_score(scoring, tally.progress)
    email = email_score(scoring, [(e.urgency, e.verdict == "in time") for e in emails])
    return {
        "utility": utility(scoring, tally),
        "main": main,
        "email": email,
        "balanced": balanced_score(scoring, main=main, email=email),
        "latency": in_seconds(sum(waits)),
        "responses": len(waits),
        "emails": len(emails),
        "open": verdicts["open"],
        "arrived_by_urgency": _count_urgencies(emails),
        "on_time_by_urgency": _count_urgencies([e for e in emails if e.verdict == "in time"]),
        "looks": counts["checked"],
        "reminders": counts["reminded"],
        "ended": in_seconds(record.end.at),
        **asdict(tally),
        **_read_thoughts(record.events),
    }


def _read_emails(happened: Iterable[Happened], judgement: Judgement) -> list[_Email]:
    verdicts = {verdict.slot: verdict.kind for verdict in judgement.verdicts}
    emails: dict[int, _Email] = {}
    for event in happened:
        data = event.data
        if event.what == "email":
            verdict = verdicts.get(f"email {data['email']}", "open")
            emails[data["email"]] = _Email(data["urgency"], event.at, data["deadline"], verdict)
        elif event.what in ("handled", "late", "reminded"):
            email = emails[data["email"]]
            email.response = event.at if email.response is None else email.response
    return list(emails.values())


def _read_thoughts(events: Iterable[Entry]) -> dict[str, int]:
    purposes: dict[int, str] = {}
    counts = {"answers": 0, "malformed": 0, "illegal": 0, "tokens": 0}
    for event in events:
        match event:
            case ThoughtStarted():
                purposes[event.thought] = event.purpose
            case ThoughtEnded() if purposes[event.thought] == "main":
                counts["tokens"] += event.tokens
            case ThoughtEnded(state="completed") if purposes[event.thought] == "triage":
                counts["answers"] += 1
            case Noted(topic="triage"):
                counts["malformed"] += 1
            case Acted(legal=False):
                counts["illegal"] += 1
    return counts


def _count_urgencies(emails: Iterable[_Email]) -> list[int]:
    urgencies = [email.urgency for email in emails]
    return [urgencies.count(urgency) for urgency in URGENCIES]
