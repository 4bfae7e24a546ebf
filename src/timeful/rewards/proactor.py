"""ProActor's rewards of one turn (sections 3.3 and H), from predictions and references.

Two are metrics (RAC is AC, Max RAC is Max AC), one is a judge's score (RULER), and seven combine
these. `progress` is the progress of training, u/U, from 0 to 1.

A reward must be defined for each turn: without predictions RAC and Max RAC are 1 if there is no
reference and else 0, and PT and FTR are 0 **(chosen)**.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from timeful.dialogues.opportunity import Opportunity
from timeful.metrics.proactor.turns import Ranges, score_turn

Stage = Literal["exploration", "balanced", "conservative"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnValues:
    """The inputs of a turn's rewards, each from 0 to 1; defined in `metrics/proactor/turns.py`."""

    rac: float
    max_rac: float
    pt: float
    ftr: float


LOST = TurnValues(rac=0.0, max_rac=0.0, pt=0.0, ftr=0.0)
"""A turn without a prediction in time or with an unusable answer. Unlike an empty set it earns
nothing, also without a reference **(chosen)**."""


def turn_values(
    turn: int,
    predictions: Sequence[Opportunity],
    references: Sequence[Opportunity],
    ranges: Ranges,
) -> TurnValues:
    """Score the predictions of a turn, also an empty set."""
    scores = score_turn(turn, predictions, references, ranges)
    if scores is None:
        agrees = 0.0 if references else 1.0
        return TurnValues(rac=agrees, max_rac=agrees, pt=0.0, ftr=0.0)
    return TurnValues(rac=scores.ac, max_rac=scores.max_ac, pt=scores.pt, ftr=scores.ftr)


def weighted(metric: float, values: TurnValues, *, w1: float = 0.05, w2: float = 0.01) -> float:
    """R = F + w1 PT - w2 FTR, with F one of RAC and Max RAC (equation 9).

    Returns:
        From -w2 to 1 + w1.
    """
    return metric + w1 * values.pt - w2 * values.ftr


def stage(progress: float) -> Stage:
    """The third of training of a step; a boundary belongs to the later third.

    Exact for every step u of U: 3 * (u/U) in floats is 1 or 2 only at a boundary.
    """
    if 3 * progress < 1:
        return "exploration"
    return "balanced" if 3 * progress < 2 else "conservative"


def adaptive_metric(
    values: TurnValues,
    progress: float,
    *,
    w1: float = 0.8,
    w2: float = 0.6,
    w3: float = 0.3,
    w4: float = 0.6,
) -> float:
    """A metric with weights for each third of training (equation 10).

    exploration: w1 MaxRAC + (1 - w1) PT; balanced: w2 RAC + w3 PT - (1 - w2 - w3) FTR;
    conservative: w4 RAC - (1 - w4) FTR.

    Args:
        values: Of the turn.
        progress: The progress of training, in [0, 1].
        w1: In [0, 1].
        w2: In [0, 1].
        w3: In [0, 1 - w2].
        w4: In [0, 1].

    Returns:
        From 0 to 1; from w2 + w3 - 1 to w2 + w3; from w4 - 1 to w4. The range falls from third to
        third, which does not matter within a group of one step.
    """
    match stage(progress):
        case "exploration":
            return w1 * values.max_rac + (1 - w1) * values.pt
        case "balanced":
            return w2 * values.rac + w3 * values.pt - (1 - w2 - w3) * values.ftr
        case "conservative":
            return w4 * values.rac - (1 - w4) * values.ftr


def hybrid(metric: float, ruler: float, lam: float) -> float:
    """R = (1 - lambda) F + lambda RULER, with F one of RAC and Max RAC (equation 11, section G.4).

    Args:
        metric: F, in [0, 1].
        ruler: A judge's score, in [0, 1].
        lam: In [0, 1].

    Returns:
        From 0 to 1.
    """
    return (1 - lam) * metric + lam * ruler


def scheduled(progress: float, lambda_max: float) -> float:
    """The lambda of a step: linear from 0 to lambda_max (equation 11; linear is **chosen**)."""
    return progress * lambda_max
