"""What became of each action, slot, thought and call: verdicts, as pure functions of a record.

A slot is something that an action can be in time for: a turn of a game, an email, a dish that
signalled, a turn of a conversation, a time budget. Each kind of world has one rule, which is found
by the words of its events; a record without such words has verdicts on refusals and ends alone.

| verdict | when |
| --- | --- |
| `in time` | the slot was served at or before its deadline |
| `early` | an action was predicted as ready at a turn before its first ready turn |
| `late` | it was served after its deadline, or for a turn that was over |
| `lost` | the slot closed with nothing in time |
| `default` | a turn of a game closed with nothing in time: its default action was taken |
| `superseded` | a later action for the same slot counted |
| `illegal` | the action was refused |
| `reflex` | the interface acted in place of the agent |
| `cut` | a thought, call or tool ended at a limit of time or tokens, or at the deadline |
| `cancelled`, `orphaned`, `failed` | another end of a thought or call before its own |
| `too late` | a thought whose action came for a slot that was over |
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

import msgspec

from timeful.core.units import Duration, Instant
from timeful.dialogues.opportunity import BadOpportunityError
from timeful.dialogues.prediction import read_prediction
from timeful.records.events import (
    Acted,
    CallEnded,
    Entry,
    EpisodeEnded,
    EpisodeStarted,
    Happened,
    ThoughtEnded,
    Turned,
)

VerdictKind = Literal[
    "in time",
    "early",
    "late",
    "lost",
    "default",
    "superseded",
    "illegal",
    "reflex",
    "cut",
    "cancelled",
    "orphaned",
    "failed",
    "too late",
]

LIMIT = "limit"
"""The cause of a thought that its limit cut."""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an action can be in time for.

    `deadline` is None where the world waits, or before the deadline is known.
    """

    name: str
    opens: Instant
    deadline: Instant | None
    event: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an action, a slot, a thought or a call.

    Attributes:
        kind: The verdict.
        at: When it was decided: an action took effect, or a slot closed.
        event: The position of the action, or of the event that decided it.
        slot: The name of the slot; empty where there is none.
        slack: The deadline minus `at`: 0 is the very instant, less is late; None without one.
        reason: Why, in words of the record.
        thought: The thought that it is about; its number.
    """

    kind: VerdictKind
    at: Instant
    event: int
    slot: str = ""
    slack: Duration | None = None
    reason: str = ""
    thought: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The slots of a record, and all verdicts on it, both in the order of the record."""

    slots: Sequence[Slot]
    verdicts: Sequence[Verdict]

    def counts(self) -> dict[str, int]:
        """The number of verdicts of each kind."""
        return dict(Counter(verdict.kind for verdict in self.verdicts))


Rule = Callable[[Sequence[Entry]], Judgement]


def judge(events: Sequence[Entry]) -> Judgement:
    """Judge a record, whole or in part; any list of events has a judgement."""
    rule = find_rule(events)
    judgement = rule(events) if rule is not None else Judgement(slots=(), verdicts=())
    verdicts = [*judgement.verdicts, *_ends(events)]
    judged = {verdict.event for verdict in verdicts}
    verdicts += [verdict for verdict in _refusals(events) if verdict.event not in judged]
    verdicts += _wasted_thoughts(events, verdicts)
    return Judgement(
        slots=judgement.slots, verdicts=sorted(verdicts, key=attrgetter("at", "event"))
    )


def find_rule(events: Sequence[Entry]) -> Rule | None:
    """The rule of the world of a record: by the words of its events."""
    for event in events:
        if isinstance(event, Turned):
            return _judge_turns
        if isinstance(event, Happened) and event.what in _RULES:
            return _RULES[event.what]
    return None


def _judge_turns(events: Sequence[Entry]) -> Judgement:
    """A game: the last legal action of a turn counts."""
    slots, verdicts = list[Slot](), list[Verdict]()
    opens, actions = Instant(0), list[int]()
    for position, event in enumerate(events):
        if isinstance(event, Acted) and event.legal:
            actions.append(position)
        elif isinstance(event, Turned):
            name, at = f"turn {event.turn}", Instant(event.at)
            slots.append(Slot(name=name, opens=opens, deadline=at, event=position))
            verdicts += _serve(events, actions, name, at)
            if event.late:
                verdicts.append(
                    Verdict(kind="default", at=at, event=position, slot=name, reason=event.action)
                )
            opens, actions = at, []
    return Judgement(slots=slots, verdicts=verdicts)


def _serve(
    events: Sequence[Entry], actions: Sequence[int], name: str, deadline: Instant | None
) -> Iterator[Verdict]:
    """Of the actions for a slot, the last counts."""
    for position in actions:
        action = events[position]
        kind: VerdictKind = "in time" if position == actions[-1] else "superseded"
        if isinstance(action, Acted) and action.by == "reflex":
            kind = "reflex"
        slack = None if deadline is None else Duration(deadline - action.at)
        yield Verdict(kind=kind, at=Instant(action.at), event=position, slot=name, slack=slack)


@dataclass(slots=True)
class _Open:
    """The slots that are open, by name, and the latest action for each."""

    slots: dict[str, Slot] = field(default_factory=dict)
    closed: list[Slot] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    def open(self, name: str, event: Happened, deadline: Any, position: int) -> None:
        end = Instant(deadline) if isinstance(deadline, int) else None
        slot = Slot(name=name, opens=Instant(event.at), deadline=end, event=position)
        self.slots[name] = slot
        self.closed.append(slot)

    def close(self, name: str, event: Entry, position: int, *, is_served: bool) -> None:
        """Judge a slot that was served or ran out; a slot that is not open is ignored."""
        slot = self.slots.pop(name, None)
        if slot is None:
            return
        slack = None if slot.deadline is None else Duration(slot.deadline - event.at)
        is_in_time = slack is None or slack >= 0
        kind: VerdictKind = "lost" if not is_served else "in time" if is_in_time else "late"
        self.verdicts.append(
            Verdict(
                kind=kind,
                at=Instant(event.at),
                event=position,
                slot=name,
                slack=slack if is_served else None,
            )
        )

    def judgement(self) -> Judgement:
        return Judgement(slots=self.closed, verdicts=self.verdicts)


def _judge_inbox(events: Sequence[Entry]) -> Judgement:
    """An inbox: an email is handled by its deadline, later, or not at all."""
    state = _Open()
    for position, event in enumerate(events):
        if isinstance(event, Happened) and "email" in event.data:
            name = f"email {event.data['email']}"
            if event.what == "email":
                state.open(name, event, event.data.get("deadline"), position)
            elif event.what in ("handled", "late", "expired"):
                state.close(name, event, position, is_served=event.what != "expired")
    return state.judgement()


def _judge_kitchen(events: Sequence[Entry]) -> Judgement:
    """A kitchen: a dish that signalled is finished by its deadline; what is left is lost."""
    state = _Open()
    for position, event in enumerate(events):
        if isinstance(event, Happened) and "dish" in event.data:
            name = f"dish {event.data['dish']}"
            if event.what == "signal":
                state.open(name, event, event.data.get("deadline"), position)
            elif event.what == "finished":
                state.close(name, event, position, is_served=True)
        elif isinstance(event, EpisodeEnded):
            for name in list(state.slots):
                state.close(name, event, position, is_served=False)
    return state.judgement()


def _judge_conversation(events: Sequence[Entry]) -> Judgement:
    """A conversation: a turn is open until the next begins; its last prediction counts."""
    waits = _episode(events).get("timing") == "by-turn"
    slots, verdicts, actions = list[Slot](), list[Verdict](), list[int]()
    closed: dict[Any, Instant] = {}
    current: tuple[Any, Instant, int] | None = None
    served: list[int] = []
    for position, event in enumerate(events):
        if isinstance(event, Acted) and event.legal:
            actions.append(position)
        if not isinstance(event, Happened):
            continue
        turn, at = event.data.get("turn"), Instant(event.at)
        if event.what == "prediction":
            # Predictions are shown in the order in which they were made.
            action = actions.pop(0) if actions else position
            if event.data.get("late"):
                slack = Duration(closed[turn] - at) if turn in closed else None
                verdicts.append(
                    Verdict(kind="late", at=at, event=action, slot=f"turn {turn}", slack=slack)
                )
            else:
                served.append(action)
        elif event.what in ("begins", "turn", "over"):
            if current is not None:
                number, opens, opened_by = current
                name, deadline = f"turn {number}", None if waits else at
                slots.append(Slot(name=name, opens=opens, deadline=deadline, event=opened_by))
                verdicts += _serve(events, served, name, deadline)
                if not served:
                    verdicts.append(Verdict(kind="lost", at=at, event=position, slot=name))
                closed[number], current, served = at, None, []
            if event.what == "turn":
                current = (turn, at, position)
    verdicts += list(_early_predictions(events, verdicts))
    return Judgement(slots=slots, verdicts=verdicts)


def _early_predictions(events: Sequence[Entry], verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """The ready predictions, of those that count, that came before their first ready turn."""
    facts = (e.data for e in events if isinstance(e, Happened) and e.what == "over")
    ranges: Any = next(facts, {}).get("ready_ranges")
    for verdict in verdicts:
        action = events[verdict.event]
        if verdict.kind != "in time" or not isinstance(action, Acted):
            continue
        try:
            prediction = read_prediction(action.action)
            names = [item.name for item in prediction.opportunities if item.is_ready]
            first = {name: ranges[name][0] for name in names if ranges.get(name)}
            early = [name for name in names if prediction.turn < first.get(name, 0)]
        except (BadOpportunityError, AttributeError, LookupError, TypeError):
            continue
        for name in early:
            yield msgspec.structs.replace(verdict, kind="early", slot=name, slack=None)


def _judge_task(events: Sequence[Entry]) -> Judgement:
    """A task under a time budget: it ended in time, late under a soft budget, or was cut."""
    budget = _episode(events).get("budget_ns")
    deadline = Instant(budget) if isinstance(budget, int) else None
    slots = [Slot(name="budget", opens=Instant(0), deadline=deadline, event=0)]
    verdicts: list[Verdict] = []
    for position, event in enumerate(events):
        if not isinstance(event, Happened) or "counted" not in event.data:
            continue
        counted = event.data.get("counted")
        slack = None
        if deadline is not None and isinstance(counted, int):
            slack = Duration(deadline - counted)
        kind: VerdictKind = "in time" if slack is None or slack >= 0 else "late"
        if event.data.get("reason") == "deadline":
            kind, slack = "lost", None
        at, reason = Instant(event.at), str(event.data.get("reason", ""))
        verdicts.append(
            Verdict(kind=kind, at=at, event=position, slot="budget", slack=slack, reason=reason)
        )
        if event.data.get("cut"):
            verdicts.append(
                Verdict(kind="cut", at=at, event=position, reason=str(event.data["cut"]))
            )
    return Judgement(slots=slots if deadline is not None else (), verdicts=verdicts)


_RULES: Mapping[str, Rule] = {
    "email": _judge_inbox,
    "signal": _judge_kitchen,
    "begins": _judge_conversation,
    "turn": _judge_conversation,
    "prediction": _judge_conversation,
    "reply": _judge_task,
    "over": _judge_task,
}
"""The rule of a world by a word of its events; the first that comes decides."""


def _episode(events: Sequence[Entry]) -> Mapping[str, Any]:
    start = next((event for event in events if isinstance(event, EpisodeStarted)), None)
    episode = {} if start is None else start.settings.get("episode", {})
    return episode if isinstance(episode, Mapping) else {}


def _refusals(events: Sequence[Entry]) -> Iterator[Verdict]:
    for position, event in enumerate(events):
        if isinstance(event, Acted) and (not event.legal or event.by == "reflex"):
            yield Verdict(
                kind="reflex" if event.legal else "illegal",
                at=Instant(event.at),
                event=position,
                reason=event.error or "",
            )


def _ends(events: Sequence[Entry]) -> Iterator[Verdict]:
    """The ends of thoughts and calls before their own."""
    for position, event in enumerate(events):
        if not isinstance(event, ThoughtEnded | CallEnded):
            continue
        kind = end_of(event)
        if kind is not None:
            yield Verdict(
                kind=kind,
                at=Instant(event.at),
                event=position,
                reason=event.cause or "",
                thought=event.thought if isinstance(event, ThoughtEnded) else None,
            )


def end_of(event: ThoughtEnded | CallEnded) -> VerdictKind | None:
    """The verdict on the end of a thought or call; None for its own end, or one unknown."""
    if isinstance(event, ThoughtEnded) and (
        event.finish == "length" or (event.state == "cancelled" and event.cause == LIMIT)
    ):
        return "cut"
    if isinstance(event, CallEnded) and event.error is not None:
        return "failed"
    match event.state:
        case "cancelled":
            return "cancelled"
        case "orphaned":
            return "orphaned"
        case "failed":
            return "failed"
    return None


def _wasted_thoughts(events: Sequence[Entry], verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """Thoughts that ended at the very instant of a late action: it was theirs."""
    late = {verdict.at: verdict for verdict in verdicts if verdict.kind == "late"}
    if not late:
        return
    for position, event in enumerate(events):
        if isinstance(event, ThoughtEnded) and event.at in late:
            verdict = late[Instant(event.at)]
            yield Verdict(
                kind="too late",
                at=verdict.at,
                event=position,
                slot=verdict.slot,
                slack=verdict.slack,
                thought=event.thought,
            )
