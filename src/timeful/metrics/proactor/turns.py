"""The metrics of a single turn: what was predicted at it, beside the reference.

P are the predictions and Q the references at turn t; R_a are the turns at which the action named
a is ready in the reference of the whole dialogue. Two predictions of one name are two: P is taken
as it is given.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from timeful.dialogues.opportunity import Opportunity
from timeful.metrics.proactor.matching import best_match

Ranges = Mapping[str, Sequence[int]]
"""R: the turns at which each action is ready, by name and in any order (equation 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScores:
    """All metrics of a turn with predictions, each from 0 to 1.

    Attributes:
        ac: AC, the mean over P of the best match with a reference of the same name, 0 where there
            is none (equation 1; `matching.py` says what a match is).
        max_ac: Max AC, the best AC of a single prediction (equation 2).
        pt: PT = |{p in P: p ready, some tau in R_p has tau >= t}| / |P|. Equation 5 does not ask
            p to be ready, appendix K.3 does, and in all published rows PT is below RAR, which
            only this reading gives **(chosen)**.
        pt_all: PT by the letter of equation 5: |{p in P: some tau in R_p has tau >= t}| / |P|.
        ftr: Fault trigger rate, |{p ready: R_p is empty}| / |{p ready}|: its name is ready at no
            turn of the dialogue, earlier ones included (equation 6). 0 if none is ready
            **(chosen)**.
        ftr_per_prediction: The same number over |P|, as the other rates have it.
        rar: Ready action rate, |{p ready}| / |P| (equation 7).
        atr: Actual trigger rate, |{p triggered: its name is in Q}| / |P| (equation 15).
        false_triggered: |{p triggered: its name is not in Q}| / |P| (equation 16, which the paper
            calls FTR too).
        frr: False ready rate, |{p ready: its name is not in Q}| / |P| (equation 17).
    """

    ac: float
    max_ac: float
    pt: float
    pt_all: float
    ftr: float
    ftr_per_prediction: float
    rar: float
    atr: float
    false_triggered: float
    frr: float


METRICS: tuple[str, ...] = tuple(field.name for field in fields(TurnScores))
"""The metrics of a turn in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanScores:
    """Means over turns; a mean over none is None.

    Attributes:
        n_turns: How many turns there were.
        n_skipped: How many of them had no prediction. AC over none is undefined, and so is
            every rate over |P|: such turns are in no mean, that of FTR included **(chosen)**.
        means: The mean of each metric.
    """

    n_turns: int
    n_skipped: int
    means: Mapping[str, float | None]

    @property
    def difference(self) -> float | None:
        """(M - A) / A from the means of Max AC and AC (equation 3), see `relative_difference`."""
        return relative_difference(self.means["ac"], self.means["max_ac"])


def score_turn(
    turn: int,
    predictions: Sequence[Opportunity],
    references: Sequence[Opportunity],
    ranges: Ranges,
) -> TurnScores | None:
    """Score one turn (equations 1, 2, 5 to 7 and 15 to 17, as `TurnScores` has them).

    Args:
        turn: Its number t, from 1.
        predictions: P.
        references: Q.
        ranges: R; a name that is missing is never ready.

    Returns:
        The scores; None without predictions.
    """
    if not predictions:
        return None
    names = {reference.name for reference in references}
    total = best = 0.0
    ready = early = ready_early = faults = triggered = true_triggered = ready_known = 0
    for prediction in predictions:
        is_ready, is_triggered = prediction.is_ready, prediction.status == "triggered"
        is_known = prediction.name in names
        if is_known:
            match = best_match(prediction, references)
            total += match
            best = max(best, match)
        turns = ranges.get(prediction.name, ())
        is_early = bool(turns) and max(turns) >= turn
        early += is_early
        ready += is_ready
        ready_early += is_ready and is_early
        ready_known += is_ready and is_known
        faults += is_ready and not turns
        triggered += is_triggered
        true_triggered += is_triggered and is_known
    count = len(predictions)
    return TurnScores(
        ac=total / count,
        max_ac=best,
        pt=ready_early / count,
        pt_all=early / count,
        ftr=faults / (ready or 1),
        ftr_per_prediction=faults / count,
        rar=ready / count,
        atr=true_triggered / count,
        false_triggered=(triggered - true_triggered) / count,
        frr=(ready - ready_known) / count,
    )


def mean_scores(scores: Iterable[TurnScores | None]) -> MeanScores:
    """Average turns; a turn without predictions is None."""
    turns = list(scores)
    scored = [turn for turn in turns if turn is not None]
    return MeanScores(
        n_turns=len(turns),
        n_skipped=len(turns) - len(scored),
        means={
            name: fmean([getattr(turn, name) for turn in scored]) if scored else None
            for name in METRICS
        },
    )


def relative_difference(ac: float | None, max_ac: float | None) -> float | None:
    """Difference = (M - A) / A, how far the best prediction is above the average (equation 3).

    From 0, where all are as good as the best, without a bound above. None where A is 0 or
    undefined: no match at all is neither reliable nor unreliable **(chosen)**.
    """
    return (max_ac - ac) / ac if ac and max_ac is not None else None
