"""Reads the scored turns of a conversation from its record.

The order of the record decides which prediction of a turn counts. A turn is open from the event
that shows it to the event with which the next turn begins or the conversation ends. The last
prediction within this span counts; the others are late and ignored. A turn without a prediction in
time is lost: it is scored as an empty set, which is in no mean (see `MeanScores`). The number of
lost turns is reported with the means, since answering only easy turns would look better.
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
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
    Noted,
    ThoughtEnded,
)
from timeful.records.summary import foreign_record

MORE_IS_BETTER = ("ac", "max_ac", "pt", "pt_all", "rar", "atr")
"""The metrics that are 0 for a lost turn; 0 would be the best value of the others."""

OF_REFERENCES = ("ac", "max_ac", "atr", "false_triggered", "frr")
"""The metrics that need references, not only ready ranges."""


class _Facts(msgspec.Struct):
    """The data of the last event of a conversation."""

    dialogue: str
    subflow: str = ""
    synthetic: bool = False
    references: dict[int, tuple[Opportunity, ...]] = {}
    ready_ranges: dict[str, tuple[int, ...]] = {}
    questions: dict[int, tuple[str, ...]] = {}
    actions: tuple[str, ...] = ()
    workflows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPrediction:
    """A prediction with its instant, and whether it came after its turn."""

    at: int
    is_late: bool
    prediction: Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversed:
    """An agent's predictions in one conversation.

    Attributes:
        settings: The settings of the episode.
        dialogue: The id of the conversation.
        subflow: Its workflow; empty if unknown.
        synthetic: Whether it was generated.
        transcript: All its turns; `at` is the start of each.
        arrived: The instants at which the turns were complete.
        predictions: All predictions, in order of arrival.
        turns: All its turns, each with its last prediction in time and the reference.
        questions: The questions of each turn, and those of the reference.
        lost: The turns without a prediction in time.
        notes: The number of notes of the agent by topic.
        tokens: The tokens of all thoughts.
        actions: The names in the catalog.
        workflows: The actions of each workflow in their order; empty if unknown.
    """

    settings: Mapping[str, Any]
    dialogue: str
    subflow: str
    synthetic: bool
    transcript: tuple[Turn, ...]
    arrived: tuple[int, ...]
    predictions: tuple[SentPrediction, ...]
    turns: tuple[PredictedTurn, ...]
    questions: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    lost: tuple[int, ...]
    notes: Mapping[str, int]
    tokens: int
    actions: tuple[str, ...] = ()
    workflows: tuple[tuple[str, ...], ...] = ()

    @property
    def late(self) -> tuple[int, ...]:
        """The turns of the late predictions, in order of arrival."""
        return tuple(item.prediction.turn for item in self.predictions if item.is_late)

    @property
    def revised(self) -> int:
        """The number of predictions in time that a later one replaced."""
        in_time = [item.prediction.turn for item in self.predictions if not item.is_late]
        return len(in_time) - len(set(in_time))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversedScores:
    """The metrics over conversations.

    Attributes:
        n_dialogues: The number of conversations.
        n_failed: The number of failed episodes, which no other number includes.
        has_references: Whether any turn has a reference, not only ready ranges.
        means: The means over all turns with predictions; lost turns and turns with an empty set
            are in `means.n_skipped`. Without references those of `OF_REFERENCES` are None.
        n_lost: Turns without a prediction in time.
        n_lost_late: Lost turns with a late prediction.
        n_empty: Turns with an empty set in time.
        n_late: Late predictions.
        n_revised: Predictions in time that were replaced.
        notes: The number of notes by topic.
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
        """Means that count lost turns as 0, for the metrics in `MORE_IS_BETTER`.

        Otherwise an agent that answers only easy turns would be overrated. Turns with an empty
        set are excluded here as well.
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
    """The relevant events of a record so far."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    transcript: list[Turn] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    start: int | None = None
    open_turn: int = 0
    predictions: list[SentPrediction] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    facts: _Facts | None = None
    end: EpisodeEnded | EpisodeFailed | None = None

    def take(self, event: Entry) -> None:
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
        self.predictions.append(SentPrediction(at=event.at, is_late=is_late, prediction=prediction))

    def _happened(self, event: Happened) -> None:
        if event.what == "turn":
            fields = {name: event.data[name] for name in ("speaker", "text", "observed")}
            number = self.open_turn = event.data["turn"]
            start = event.at if self.start is None else self.start
            self.transcript.append(msgspec.convert({"number": number, "at": start, **fields}, Turn))
            self.arrived.append(event.at)
            self.start = None
        elif event.what == "begins":
            self.open_turn, self.start = 0, event.at
        elif event.what == "over":
            self.open_turn = 0
            self.facts = msgspec.convert(event.data, _Facts, strict=False)


def read_conversation(events: Iterable[Entry]) -> Conversed | None:
    """Read an agent's predictions in a conversation from its record.

    Returns:
        None if the episode failed: an incomplete conversation cannot be compared.

    Raises:
        RecordError: If it is not a complete record of a conversation.
    """
    reading = _Reading()
    with foreign_record("a conversation"):
        for event in events:
            reading.take(event)
        if isinstance(reading.end, EpisodeFailed):
            return None
        if reading.facts is None:
            raise RecordError("the record is not that of a complete conversation")
        return _conversed(reading, reading.facts)


def _conversed(reading: _Reading, facts: _Facts) -> Conversed:
    ranges = facts.ready_ranges
    numbers = [turn.number for turn in reading.transcript]
    # A later prediction for the same turn replaces an earlier one.
    valid = {
        item.prediction.turn: item.prediction for item in reading.predictions if not item.is_late
    }
    return Conversed(
        settings=reading.settings,
        dialogue=facts.dialogue,
        subflow=facts.subflow,
        synthetic=facts.synthetic,
        transcript=tuple(reading.transcript),
        arrived=tuple(reading.arrived),
        predictions=tuple(reading.predictions),
        turns=tuple(
            PredictedTurn(
                dialogue=facts.dialogue,
                turn=number,
                predictions=valid[number].opportunities if number in valid else (),
                references=facts.references.get(number, ()),
                ready_ranges=ranges,
            )
            for number in numbers
        ),
        questions=tuple(
            (
                valid[number].questions if number in valid else (),
                facts.questions.get(number, ()),
            )
            for number in numbers
        ),
        lost=tuple(number for number in numbers if number not in valid),
        notes=dict(sorted(reading.notes.items())),
        tokens=reading.tokens,
        actions=facts.actions,
        workflows=facts.workflows,
    )


def score_conversations(conversations: Iterable[Conversed | None]) -> ConversedScores:
    """Score conversations together, each turn alike; None is an episode that failed."""
    episodes = list(conversations)
    finished = [episode for episode in episodes if episode is not None]
    means = mean_scores(turn.scores() for episode in finished for turn in episode.turns)
    has_references = any(turn.references for episode in finished for turn in episode.turns)
    if not has_references:
        means = replace(means, means={**means.means, **dict.fromkeys(OF_REFERENCES)})
    n_lost = sum(len(episode.lost) for episode in finished)
    notes: Counter[str] = Counter()
    for episode in finished:
        notes.update(episode.notes)
    return ConversedScores(
        n_dialogues=len(finished),
        n_failed=len(episodes) - len(finished),
        has_references=has_references,
        means=means,
        n_lost=n_lost,
        n_lost_late=sum(len(set(episode.lost) & set(episode.late)) for episode in finished),
        n_empty=means.n_skipped - n_lost,
        n_late=sum(len(episode.late) for episode in finished),
        n_revised=sum(episode.revised for episode in finished),
        notes=dict(sorted(notes.items())),
        tokens=sum(episode.tokens for episode in finished),
    )
