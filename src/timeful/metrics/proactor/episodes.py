"""From the record of a conversation to the turns that are scored: nothing else is needed.

Which prediction stands for a turn follows from the order of the record alone: a turn is open from
the event that shows it to the event with which the next begins, or the conversation ends. Of the
predictions for a turn that stand between these two, the last one counts. The others are late, and
count for nothing; a turn without one in time is lost, and is scored as having predicted nothing,
so that it is in no mean (see `MeanScores`). How many are lost stands beside the means, which are
of the other turns: an agent that answers only where it has time may look better than it is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from timeful.dialogues.dialogue import Turn
from timeful.dialogues.opportunity import Opportunity
from timeful.dialogues.prediction import Prediction, read_prediction
from timeful.errors import RecordError
from timeful.metrics.proactor.files import PredictedTurn
from timeful.metrics.proactor.turns import MeanScores, mean_scores
from timeful.records.events import (
    Acted,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Event,
    Happened,
    Noted,
    ThoughtEnded,
)

MORE_IS_BETTER = ("ac", "max_ac", "pt", "pt_all", "rar", "atr")
"""The metrics that a lost turn has 0 of; of the others 0 would be praise."""

OF_REFERENCES = ("ac", "max_ac", "atr", "false_triggered", "frr")
"""The metrics that compare with the references themselves, and not only their ready ranges."""


class _Facts(msgspec.Struct):
    """What the last event of a conversation tells."""

    dialogue: str
    subflow: str = ""
    synthetic: bool = False
    references: dict[int, tuple[Opportunity, ...]] = {}
    ready_ranges: dict[str, tuple[int, ...]] = {}
    questions: dict[int, tuple[str, ...]] = {}
    actions: tuple[str, ...] = ()
    workflows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A prediction as it was said: when, and whether the turn that it is for had passed by."""

    at: int
    is_late: bool
    prediction: Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversed:
    """An agent's part in one conversation.

    Attributes:
        settings: What the episode was played under.
        dialogue: Which conversation it was.
        subflow: Its workflow; empty if unknown.
        synthetic: Whether nobody ever held it.
        spoken: All its turns in words; `at` is when each began.
        arrived: When each of them was there.
        sent: All predictions, in the order in which they came.
        turns: All its turns, each with the prediction that stands for it, and the reference.
        questions: The questions that stand for each turn, and those of the reference.
        lost: The turns without a prediction in time.
        notes: How often the agent noted each topic: what became of answers, and of time.
        tokens: The tokens of all thoughts.
        actions: The names in the catalog.
        workflows: The actions of each workflow in their order; none where nobody said them.
    """

    settings: Mapping[str, Any]
    dialogue: str
    subflow: str
    synthetic: bool
    spoken: tuple[Turn, ...]
    arrived: tuple[int, ...]
    sent: tuple[Sent, ...]
    turns: tuple[PredictedTurn, ...]
    questions: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    lost: tuple[int, ...]
    notes: Mapping[str, int]
    tokens: int
    actions: tuple[str, ...] = ()
    workflows: tuple[tuple[str, ...], ...] = ()

    @property
    def late(self) -> tuple[int, ...]:
        """The turns of the predictions that came late, in the order in which they came."""
        return tuple(one.prediction.turn for one in self.sent if one.is_late)

    @property
    def revised(self) -> int:
        """How many predictions in time were followed by another for the same turn."""
        in_time = [one.prediction.turn for one in self.sent if not one.is_late]
        return len(in_time) - len(set(in_time))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversedScores:
    """The metrics over some conversations, and what time did to them.

    Attributes:
        n_dialogues: How many.
        n_failed: How many episodes failed; they are in no other number.
        has_references: Whether any turn has one, and not only ready ranges are known.
        means: The means over all turns with predictions; those that were lost, and those for
            which an empty set came in time, are in `means.n_skipped`. Without references those
            of `OF_REFERENCES` are None.
        n_lost: Turns without a prediction in time.
        n_lost_late: Of these, turns with one that came late.
        n_empty: Turns for which an empty set stands.
        n_late: Predictions that came late.
        n_revised: Predictions in time that were followed by another.
        notes: How often agents noted each topic.
        tokens: The tokens of all thoughts.
    """

    n_dialogues: int
    n_failed: int
    has_references: bool
    means: MeanScores
    n_lost: int
    n_lost_late: int
    n_empty: int
    n_late: int
    n_revised: int
    notes: Mapping[str, int]
    tokens: int

    @property
    def with_lost(self) -> Mapping[str, float | None]:
        """Means that count every lost turn as 0, of the metrics of which more is better.

        Who answers only where it has time is judged by `means` on these turns alone, and they may
        be the easy ones. Turns with an empty set are in no mean here either.
        """
        scored = self.means.n_turns - self.means.n_skipped
        share = scored / (scored + self.n_lost) if scored + self.n_lost else None
        return {
            name: (self.means.means[name] or 0.0) * share
            if share is not None and (self.has_references or name not in OF_REFERENCES)
            else None
            for name in MORE_IS_BETTER
        }


@dataclass(slots=True)
class _Reading:
    """What has been read of a record so far."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    spoken: list[Turn] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    begun: int | None = None
    open_turn: int = 0
    sent: list[Sent] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    facts: _Facts | None = None
    end: EpisodeEnded | EpisodeFailed | None = None

    def take(self, event: Event) -> None:
        match event:
            case EpisodeStarted():
                self.settings = event.settings
            case Acted(legal=True):
                self._predicted(event)
            case Happened():
                self._happened(event)
            case Noted():
                self.notes[event.topic] += 1
            case ThoughtEnded():
                self.tokens += event.tokens
            case EpisodeEnded() | EpisodeFailed():
                self.end = event
            case _:
                pass

    def _predicted(self, event: Acted) -> None:
        prediction = read_prediction(event.action)
        is_late = prediction.turn != self.open_turn
        self.sent.append(Sent(at=event.at, is_late=is_late, prediction=prediction))

    def _happened(self, event: Happened) -> None:
        if event.what == "turn":
            said = {name: event.data[name] for name in ("speaker", "text", "observed")}
            number = self.open_turn = event.data["turn"]
            began = event.at if self.begun is None else self.begun
            self.spoken.append(msgspec.convert({"number": number, "at": began, **said}, Turn))
            self.arrived.append(event.at)
            self.begun = None
        elif event.what == "begins":
            self.open_turn, self.begun = 0, event.at
        elif event.what == "over":
            self.open_turn = 0
            self.facts = msgspec.convert(event.data, _Facts, strict=False)


def read_conversation(events: Iterable[Event]) -> Conversed | None:
    """Read an agent's part in a conversation from the record of it.

    Returns:
        None if the episode failed, which its record says: a conversation that was broken off
        cannot be compared with a whole one.

    Raises:
        RecordError: If it is no whole record of a conversation.
    """
    reading = _Reading()
    try:
        for event in events:
            reading.take(event)
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"the record is not that of a conversation: {error}") from None
    if isinstance(reading.end, EpisodeFailed):
        return None
    if reading.facts is None:
        raise RecordError("the record is not that of a conversation that came to its end")
    return _conversed(reading, reading.facts)


def _conversed(reading: _Reading, facts: _Facts) -> Conversed:
    ranges = facts.ready_ranges
    numbers = [turn.number for turn in reading.spoken]
    # A later one for the same turn takes the place of an earlier one.
    standing = {one.prediction.turn: one.prediction for one in reading.sent if not one.is_late}
    return Conversed(
        settings=reading.settings,
        dialogue=facts.dialogue,
        subflow=facts.subflow,
        synthetic=facts.synthetic,
        spoken=tuple(reading.spoken),
        arrived=tuple(reading.arrived),
        sent=tuple(reading.sent),
        turns=tuple(
            PredictedTurn(
                dialogue=facts.dialogue,
                turn=number,
                predictions=standing[number].opportunities if number in standing else (),
                references=facts.references.get(number, ()),
                ready_ranges=ranges,
            )
            for number in numbers
        ),
        questions=tuple(
            (
                standing[number].questions if number in standing else (),
                facts.questions.get(number, ()),
            )
            for number in numbers
        ),
        lost=tuple(number for number in numbers if number not in standing),
        notes=dict(sorted(reading.notes.items())),
        tokens=reading.tokens,
        actions=facts.actions,
        workflows=facts.workflows,
    )


def score_conversations(conversations: Iterable[Conversed | None]) -> ConversedScores:
    """Score conversations together, each turn alike; None is an episode that failed."""
    every = list(conversations)
    whole = [one for one in every if one is not None]
    means = mean_scores(turn.scores() for one in whole for turn in one.turns)
    has_references = any(turn.references for one in whole for turn in one.turns)
    if not has_references:
        means = replace(means, means={**means.means, **dict.fromkeys(OF_REFERENCES)})
    n_lost = sum(len(one.lost) for one in whole)
    notes: Counter[str] = Counter()
    for one in whole:
        notes.update(one.notes)
    return ConversedScores(
        n_dialogues=len(whole),
        n_failed=len(every) - len(whole),
        has_references=has_references,
        means=means,
        n_lost=n_lost,
        n_lost_late=sum(len(set(one.lost) & set(one.late)) for one in whole),
        n_empty=means.n_skipped - n_lost,
        n_late=sum(len(one.late) for one in whole),
        n_revised=sum(one.revised for one in whole),
        notes=dict(sorted(notes.items())),
        tokens=sum(one.tokens for one in whole),
    )
