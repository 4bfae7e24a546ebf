"""One row an episode, made from its record alone: sums, from which means over turns are made."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
import numpy as np

from timeful.core.units import in_seconds
from timeful.dialogues.opportunity import Opportunity
from timeful.domains.dialogue_set import DialogueSource
from timeful.metrics.proactor.alignment import margins
from timeful.metrics.proactor.episodes import Conversed, read_conversation
from timeful.metrics.proactor.files import PredictedTurn
from timeful.metrics.proactor.matching import best_match
from timeful.metrics.proactor.turns import METRICS
from timeful.metrics.proactor.workflow import transitions
from timeful.records.events import Entry, EpisodeFailed
from timeful.records.summary import CompleteRecord, make_row

Verdict = Literal["early", "in time", "too late", "false", "not ready"]
"""The outcome of a prediction, compared with the ready range of its name: see `verdict`."""

TITLES = {
    "non-reasoning": "Non-Reasoning",
    "reasoning": "Reasoning",
    "reasoning-asg": "Reasoning + ASG",
}
"""The built-in agents, under their names in the paper."""

_FIELDS: Mapping[Verdict, str] = {
    "early": "early",
    "in time": "in_time",
    "too late": "too_late",
    "false": "false",
}


class ActionCounts(msgspec.Struct, kw_only=True):
    """The predictions of one action in a conversation.

    Attributes:
        predicted: Predictions of it.
        matched: The sum of their best matches; AC is their mean.
        early: Ready predictions before its first ready turn.
        in_time: Ready predictions from its first to its last ready turn.
        too_late: Ready predictions after its last ready turn.
        false: Ready predictions of an action that is ready at no turn.
        due: Turns at which it is ready in the reference.
        met: Such turns at which it was predicted as ready, in time.
        needed: Whether it is ready in the reference at any turn.
        found: Whether it was predicted as ready at its last ready turn or before.
        lead: The number of turns from the first such prediction to the first ready turn; negative
            if the prediction came after it.
    """

    predicted: int = 0
    matched: float = 0.0
    early: int = 0
    in_time: int = 0
    too_late: int = 0
    false: int = 0
    due: int = 0
    met: int = 0
    needed: int = 0
    found: int = 0
    lead: int = 0

    def add(self, other: "ActionCounts") -> None:
        """Count another conversation as well."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


QuestionPair = tuple[tuple[str, ...], tuple[str, ...]]
"""The predicted questions of a turn, and those of the reference."""


class ProactorRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one episode; of a failed one, its identity alone.

    `sums` are over the `scored` turns, which have predictions. Of the other turns, `lost` had no
    prediction in time (`lost_late` of them had a late one), and `empty` had an empty set. `ready`
    is the number of ready predictions of every turn, 0 for a lost turn. `has_references` is false
    if only ready ranges are known. `ad` is among the sums if the workflows are known. `margins` is,
    for each observed action, the number of turns by which the reference is ready before it, None
    if it never is. `source` is the title of the dialogue set.
    """

    key: str
    part: str
    agent: str
    who: str
    stand_in: bool
    threshold: float | None
    timing: str
    first_ns: int
    token_ns: int
    run: int
    place: int
    dialogue: str
    subflow: str
    synthetic: bool
    status: Literal["ok", "failed"]
    error: str | None
    has_references: bool
    turns: int
    scored: int
    lost: int
    lost_late: int
    empty: int
    late: int
    revised: int
    tokens: int
    ended_s: float
    ready: tuple[int, ...]
    sums: dict[str, float]
    actions: dict[str, ActionCounts]
    asked: tuple[QuestionPair, ...]
    margins: tuple[int | None, ...]
    notes: dict[str, int]
    source: str
    sha256: str
    behind_s: float = 0.0
    """The greatest delay of the timeline after the wall clock, in s; 0 in virtual time."""

    @property
    def method(self) -> str:
        """The name of the agent and of its model in tables."""
        return f"{TITLES.get(self.agent, self.agent)}, {self.who}"

    @property
    def tokens_per_s(self) -> float | None:
        """The pace of the model; None where the conversation waits, or tokens take no time."""
        return 1e9 / self.token_ns if self.token_ns and self.timing != "by-turn" else None

    def mean(self, name: str) -> float | None:
        """The mean of a metric over the scored turns."""
        return self.sums[name] / self.scored if self.scored else None


def summarize(events: Iterable[Entry]) -> ProactorRow:
    """Make the row of one episode; the settings in its record identify it.

    Raises:
        RecordError: If the events are not a whole record of a conversation.
    """
    return make_row(events, ProactorRow, _read)


def _read(record: CompleteRecord) -> dict[str, Any]:
    first, token = record.settings["episode"]["pace"]
    conversed = read_conversation(record.events)
    return {
        "first_ns": first,
        "token_ns": token,
        "source": DialogueSource(**record.settings["source"]).title,
        **(_NOTHING if conversed is None else _count(conversed)),
        "status": "ok" if conversed is not None else "failed",
        "error": record.end.error if isinstance(record.end, EpisodeFailed) else None,
        "ended_s": in_seconds(record.end.at),
    }


_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("dialogue", "subflow"), ""),
    **dict.fromkeys(("synthetic", "has_references"), False),
    **dict.fromkeys(("turns", "scored", "lost", "lost_late", "empty", "late"), 0),
    **dict.fromkeys(("revised", "tokens"), 0),
    **dict.fromkeys(("ready", "asked", "margins"), ()),
    **{name: {} for name in ("sums", "actions", "notes")},
}


def _count(conversed: Conversed) -> dict[str, Any]:
    turns = conversed.turns
    scores = [turn_scores for turn in turns if (turn_scores := turn.scores())]
    return {
        "dialogue": conversed.dialogue,
        "subflow": conversed.subflow,
        "synthetic": conversed.synthetic,
        "has_references": any(turn.references for turn in turns),
        "turns": len(turns),
        "scored": len(scores),
        "lost": len(conversed.lost),
        "lost_late": len(set(conversed.lost) & set(conversed.late)),
        "empty": len(turns) - len(scores) - len(conversed.lost),
        "late": len(conversed.late),
        "revised": conversed.revised,
        "tokens": conversed.tokens,
        "ready": tuple(sum(p.is_ready for p in turn.predictions) for turn in turns),
        "sums": {
            **{name: float(np.sum([getattr(turn, name) for turn in scores])) for name in METRICS},
            **_dependency(conversed),
        },
        "actions": count_actions(turns),
        "asked": tuple(pair for pair in conversed.questions if any(pair)),
        "margins": tuple(_margins(conversed)),
        "notes": dict(conversed.notes),
    }


def _dependency(conversed: Conversed) -> dict[str, float]:
    """The sum of AD over the turns with predictions; nothing if no workflow is known."""
    if not conversed.workflows:
        return {}
    matrix = transitions(conversed.workflows, conversed.actions)
    names = [[opportunity.name for opportunity in turn.predictions] for turn in conversed.turns]
    mean = matrix.mean([names])
    return {"ad": (mean.mean or 0.0) * (mean.n_turns - mean.n_skipped)}


def _margins(conversed: Conversed) -> list[int | None]:
    observed = ((t.number, action.name) for t in conversed.transcript for action in t.observed)
    return margins(observed, conversed.turns[0].ready_ranges if conversed.turns else {})


def verdict(prediction: Opportunity, turn: int, due: tuple[int, ...]) -> Verdict:
    """Compare a prediction at a turn with the turns at which its name is ready.

    Between its first and its last ready turn it counts as in time, also in a gap: PT does the
    same, for which early predictions count too.
    """
    if not prediction.is_ready:
        return "not ready"
    if not due:
        return "false"
    if turn < due[0]:
        return "early"
    return "in time" if turn <= due[-1] else "too late"


def count_actions(turns: Iterable[PredictedTurn]) -> dict[str, ActionCounts]:
    """Count the predictions of each action that was predicted, or is ready in the reference."""
    actions: dict[str, ActionCounts] = {}
    first: dict[str, int] = {}
    ranges: Mapping[str, tuple[int, ...]] = {}
    for turn in turns:
        ranges = turn.ready_ranges
        for prediction in turn.predictions:
            due = ranges.get(prediction.name, ())
            counts = actions.setdefault(prediction.name, ActionCounts())
            counts.predicted += 1
            counts.matched += best_match(prediction, turn.references)
            outcome = verdict(prediction, turn.turn, due)
            if outcome in _FIELDS:
                setattr(counts, _FIELDS[outcome], getattr(counts, _FIELDS[outcome]) + 1)
            if outcome in ("early", "in time"):
                first.setdefault(prediction.name, turn.turn)
        for name in {prediction.name for prediction in turn.predictions if prediction.is_ready}:
            actions[name].met += turn.turn in ranges.get(name, ())
    for name, due in ranges.items():
        counts = actions.setdefault(name, ActionCounts())
        counts.due, counts.needed = len(due), int(bool(due))
        if name in first:
            counts.found, counts.lead = 1, due[0] - first[name]
    return dict(sorted(actions.items()))
