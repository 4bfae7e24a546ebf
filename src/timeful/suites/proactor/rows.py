"""One row an episode, made from its record alone: sums, from which means over turns are made."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
import numpy as np

from timeful.core.units import in_seconds
from timeful.dialogues.opportunity import Opportunity
from timeful.errors import RecordError
from timeful.metrics.proactor.alignment import margins
from timeful.metrics.proactor.episodes import Conversed, read_conversation
from timeful.metrics.proactor.files import PredictedTurn
from timeful.metrics.proactor.matching import best_match
from timeful.metrics.proactor.turns import METRICS
from timeful.metrics.proactor.workflow import transitions
from timeful.records.events import Entry, EpisodeEnded, EpisodeFailed, EpisodeStarted
from timeful.records.recorder import record_hash

Verdict = Literal["early", "in time", "too late", "false", "not ready"]
"""What a prediction comes to, beside the ready range of its name: see `verdict`."""

_FIELDS: Mapping[Verdict, str] = {
    "early": "early",
    "in time": "in_time",
    "too late": "too_late",
    "false": "false",
}


class ActionCounts(msgspec.Struct, kw_only=True):
    """What became of one action in a conversation.

    Attributes:
        predicted: Predictions of it.
        matched: The sum of their best matches, from which its AC is made.
        early: Ready predictions before its first ready turn.
        in_time: Ready predictions from its first to its last ready turn.
        too_late: Ready predictions after its last.
        false: Ready predictions where it is ready at no turn.
        due: Turns at which it is ready in the reference.
        met: Those of them at which it was predicted as ready, in time.
        needed: Whether it is ready in the reference at all.
        found: Whether it then was predicted as ready at its last ready turn or before.
        lead: By how many turns the first such prediction was before the first ready turn; below
            0 where it came after it.
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


Asked = tuple[tuple[str, ...], tuple[str, ...]]
"""The questions of a turn, those predicted and those of the reference, where there are any."""


class ProactorRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one episode; of a failed one, only which it was.

    `sums` are over the `scored` turns, those with predictions. Of the others, `lost` had no
    prediction in time (`lost_late` of them one that came late), and `empty` an empty set.
    `ready` is the number of ready predictions of every turn, 0 where it is lost. `has_references`
    is false where only ready ranges are known, so that there is nothing to be consistent with.
    `ad` is among the sums where the workflows are known. `margins` says of each observed action by
    how many turns the reference was ready before it, None where it never is.
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
    asked: tuple[Asked, ...]
    margins: tuple[int | None, ...]
    notes: dict[str, int]
    sha256: str


def summarize(events: Iterable[Entry]) -> ProactorRow:
    """Sum up one episode; the settings of its record name it.

    Raises:
        RecordError: If the events are no whole record of a conversation.
    """
    every = list(events)
    if not every or not isinstance(every[0], EpisodeStarted):
        raise RecordError("the record has no beginning")
    end = next((e for e in reversed(every) if isinstance(e, EpisodeEnded | EpisodeFailed)), None)
    if end is None:
        raise RecordError("the record has no end")
    conversed = read_conversation(every)
    try:
        return ProactorRow(
            **_named(every[0].settings),
            **(_NOTHING if conversed is None else _counted(conversed)),
            status="ok" if conversed is not None else "failed",
            error=end.error if isinstance(end, EpisodeFailed) else None,
            ended_s=in_seconds(end.at),
            sha256=record_hash(every),
        )
    except (KeyError, TypeError) as error:
        raise RecordError(f"the record is not that of a proactive agent: {error}") from None


_NOTHING: dict[str, Any] = {
    "dialogue": "",
    "subflow": "",
    "synthetic": False,
    "has_references": False,
    **dict.fromkeys(("turns", "scored", "lost", "lost_late", "empty", "late"), 0),
    "revised": 0,
    "tokens": 0,
    "ready": (),
    "sums": {},
    "actions": {},
    "asked": (),
    "margins": (),
    "notes": {},
}


def _named(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Which episode it is, from the settings of its record."""
    told = dict(settings["episode"])
    told["first_ns"], told["token_ns"] = told.pop("pace")
    return told


def _counted(found: Conversed) -> dict[str, Any]:
    scores = [turn_scores for turn in found.turns if (turn_scores := turn.scores())]
    scored = len(scores)
    return {
        "dialogue": found.dialogue,
        "subflow": found.subflow,
        "synthetic": found.synthetic,
        "has_references": any(turn.references for turn in found.turns),
        "turns": len(found.turns),
        "scored": scored,
        "lost": len(found.lost),
        "lost_late": len(set(found.lost) & set(found.late)),
        "empty": len(found.turns) - scored - len(found.lost),
        "late": len(found.late),
        "revised": found.revised,
        "tokens": found.tokens,
        "ready": tuple(sum(one.is_ready for one in turn.predictions) for turn in found.turns),
        "sums": {
            **{name: float(np.sum([getattr(turn, name) for turn in scores])) for name in METRICS},
            **_dependency(found),
        },
        "actions": actions_of(found.turns),
        "asked": tuple(pair for pair in found.questions if any(pair)),
        "margins": tuple(_margins(found)),
        "notes": dict(found.notes),
    }


def _dependency(found: Conversed) -> dict[str, float]:
    """The sum of AD over the turns with predictions; nothing where no workflow is known."""
    if not found.workflows:
        return {}
    known = transitions(found.workflows, found.actions)
    mean = known.mean([[[one.name for one in turn.predictions] for turn in found.turns]])
    return {"ad": (mean.mean or 0.0) * (mean.n_turns - mean.n_skipped)}


def _margins(found: Conversed) -> list[int | None]:
    done = ((turn.number, one.name) for turn in found.transcript for one in turn.observed)
    return margins(done, found.turns[0].ready_ranges if found.turns else {})


def verdict(one: Opportunity, turn: int, due: tuple[int, ...]) -> Verdict:
    """What a prediction at a turn comes to, beside the turns at which its name is ready.

    Between its first and its last ready turn it counts as in time, also in a gap: that is how PT
    sees it, to which early ones count as well.
    """
    if not one.is_ready:
        return "not ready"
    if not due:
        return "false"
    if turn < due[0]:
        return "early"
    return "in time" if turn <= due[-1] else "too late"


def actions_of(turns: Iterable[PredictedTurn]) -> dict[str, ActionCounts]:
    """What became of each action that was predicted, or is ready in the reference."""
    found: dict[str, ActionCounts] = {}
    first: dict[str, int] = {}
    ranges: Mapping[str, tuple[int, ...]] = {}
    for turn in turns:
        ranges = turn.ready_ranges
        for one in turn.predictions:
            due = ranges.get(one.name, ())
            counts = found.setdefault(one.name, ActionCounts())
            counts.predicted += 1
            counts.matched += best_match(one, turn.references)
            what = verdict(one, turn.turn, due)
            if what in _FIELDS:
                setattr(counts, _FIELDS[what], getattr(counts, _FIELDS[what]) + 1)
            if what in ("early", "in time"):
                first.setdefault(one.name, turn.turn)
        for name in {one.name for one in turn.predictions if one.is_ready}:
            found[name].met += turn.turn in ranges.get(name, ())
    for name, due in ranges.items():
        counts = found.setdefault(name, ActionCounts())
        counts.due, counts.needed = len(due), int(bool(due))
        if name in first:
            counts.found, counts.lead = 1, due[0] - first[name]
    return dict(sorted(found.items()))
