"""Rewards of tasks under a time budget (Engagement Process, appendix F; Timely Machine, 4.3, A.2).

`correctness` knows no time. `ep_aware` and `timely` do; for both, what ends at the very instant
of the budget is in time.
"""

from collections.abc import Mapping

from timeful.errors import RecordError
from timeful.metrics.budgets import utilisation
from timeful.rewards.outcome import Outcome

R_F, LAMBDA = 0.1, 0.4
"""Of problems (Timely Machine, A.2.2); for games and machine learning the paper has none, and
these are taken **(chosen)**."""

WEIGHTS = {"reasoning": 0.5, "fiction": 1.0, "coding": 0.5}
"""What a right answer, all points of a game, and an accuracy of 1 are worth: 0.5 (A.2.2), r as it
is (equation 13), 0.5 r (A.2.4)."""


def correctness(outcome: Outcome) -> float:
    """1 for the right answer, else 0: the RLVR baselines (Engagement Process, appendix F).

    A budget does not count here. Where the deadline cuts, though, an answer that comes later is
    none, and none is right; a soft budget lets it come.

    Returns:
        0 or 1.

    Raises:
        RecordError: If the task has no right and wrong.
    """
    if outcome.correct is None:
        raise RecordError(
            f"{outcome.kind} has no right and wrong answer; the reward for it is 'timely'"
        )
    return float(outcome.correct)


def ep_aware(outcome: Outcome) -> float:
    """1 for the right answer within the requested budget, else 0 (appendix F).

    The budget is of time or, as in the paper, of tokens; where both are named, both must be kept.

    Returns:
        0 or 1, never more than `correctness`.

    Raises:
        RecordError: If the task has no right and wrong, or no budget was named: the reward would
            silently be `correctness`.
    """
    right = correctness(outcome)
    if outcome.budget is None and outcome.budget_tokens is None:
        raise RecordError("no budget was named in this episode, so that nothing can be within it")
    return right if outcome.is_within else 0.0


def timely(
    outcome: Outcome,
    *,
    r_f: float = R_F,
    lam: float = LAMBDA,
    weights: Mapping[str, float] = WEIGHTS,
) -> float:
    """The reward of Timely-RL (equations 9 and 10; in the appendix 11 to 13).

    0 when late; else r_f, and beside it r + lambda U(t) where r > 0, with U the sine of the share
    of the budget that was used. r_f is for "correct formatting and timely completion", so an
    episode that is not well formed goes without **(chosen)**; the equations do not have this case.

    Args:
        outcome: What became of the episode.
        r_f: What a well-formed end in time is worth, in [0, 1].
        lam: What using the time is worth, in [0, 1].
        weights: What the best r of each kind is worth, in [0, 1].

    Returns:
        From 0 to r_f + weight + lam, that is 1 for reasoning and coding, and 1.5 for fiction; of a
        right answer in time at least r_f + weight.

    Raises:
        RecordError: If no time was named, or the game does not say how many points there are.
    """
    if outcome.budget is None:
        raise RecordError("no time was named in this episode: there is no being in time, or late")
    if outcome.is_late:
        return 0.0
    quality = _quality(outcome)
    earned = r_f if outcome.is_formed else 0.0
    if quality > 0:
        earned += weights[outcome.kind] * quality
        earned += lam * utilisation(outcome.counted, outcome.budget)
    return earned


def _quality(outcome: Outcome) -> float:
    """How well it was done, in [0, 1]; of a game (s / s_max)^(1/3) (equation 13).

    s is "the score gained": what the game began with is not **(chosen)**, or doing nothing would
    pay in a game that begins with points. Lost points are 0, and nothing is above 1 **(chosen)**.
    """
    if outcome.kind != "fiction":
        return outcome.score
    if not outcome.max_score or outcome.max_score < 0:
        raise RecordError("the game does not say how many points there are, so r is not defined")
    return float(min(1.0, max(0.0, outcome.score / outcome.max_score)) ** (1 / 3))
