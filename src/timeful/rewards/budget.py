"""Rewards of tasks under a time budget (Engagement Process, appendix F; Timely Machine, 4.3, A.2).

`correctness` ignores time. For `ep_aware` and `timely` an episode that ends exactly at the budget
is in time.
"""

from collections.abc import Mapping

from timeful.errors import RecordError
from timeful.metrics.budgets import utilisation
from timeful.rewards.outcome import Outcome

R_F, LAMBDA = 0.1, 0.4
"""For problems (Timely Machine, A.2.2). The paper has no values for games and machine learning,
which use the same **(chosen)**."""

WEIGHTS = {"reasoning": 0.5, "fiction": 1.0, "coding": 0.5}
"""The weights of a right answer (0.5, A.2.2), all points of a game (r, equation 13) and an accuracy
of 1 (0.5 r, A.2.4)."""


def correctness(outcome: Outcome) -> float:
    """1 for the right answer, else 0: the RLVR baselines (Engagement Process, appendix F).

    The budget does not count, but a hard deadline prevents late answers.

    Returns:
        0 or 1.

    Raises:
        RecordError: If the task has no right and wrong answers.
    """
    if outcome.correct is None:
        raise RecordError(f"{outcome.kind} has no right and wrong answers; use the reward 'timely'")
    return float(outcome.correct)


def ep_aware(outcome: Outcome) -> float:
    """1 for the right answer within the requested budget, else 0 (appendix F).

    The budget is of time or, as in the paper, of tokens; if both exist, both must be kept.

    Returns:
        0 or 1, never more than `correctness`.

    Raises:
        RecordError: If the task has no right and wrong answers, or the episode no budget: the
            reward would be `correctness`.
    """
    reward = correctness(outcome)
    if outcome.budget is None and outcome.budget_tokens is None:
        raise RecordError("this episode has no budget, so ep_aware does not apply")
    return reward if outcome.is_within else 0.0


def timely(
    outcome: Outcome,
    *,
    r_f: float = R_F,
    lam: float = LAMBDA,
    weights: Mapping[str, float] = WEIGHTS,
) -> float:
    """The reward of Timely-RL (equations 9 and 10; in the appendix 11 to 13).

    0 when late; else r_f, plus r + lambda U(t) if r > 0, with U the sine of the used share of the
    budget. r_f is for "correct formatting and timely completion", so an episode that is not well
    formed does not get it **(chosen)**; the equations do not cover this case.

    Args:
        outcome: The outcome of the episode.
        r_f: The reward of a well-formed end in time, in [0, 1].
        lam: The weight of the used time, in [0, 1].
        weights: The weight of r by kind of task, in [0, 1].

    Returns:
        From 0 to r_f + weight + lam, that is 1 for reasoning and coding, and 1.5 for fiction; of a
        right answer in time at least r_f + weight.

    Raises:
        RecordError: If the episode has no time budget, or the game no maximum score.
    """
    if outcome.budget is None:
        raise RecordError("this episode has no time budget, so timely does not apply")
    if outcome.is_late:
        return 0.0
    quality = _quality(outcome)
    reward = r_f if outcome.is_formed else 0.0
    if quality > 0:
        reward += weights[outcome.kind] * quality
        reward += lam * utilisation(outcome.counted, outcome.budget)
    return reward


def _quality(outcome: Outcome) -> float:
    """The quality r in [0, 1]; for a game (s / s_max)^(1/3) (equation 13).

    s is "the score gained", without the initial score **(chosen)**: otherwise inaction would be
    rewarded in a game with an initial score. s / s_max is clipped to [0, 1] **(chosen)**.
    """
    if outcome.kind != "fiction":
        return outcome.score
    if not outcome.max_score or outcome.max_score < 0:
        raise RecordError("the game has no maximum score, so r is undefined")
    return float(min(1.0, max(0.0, outcome.score / outcome.max_score)) ** (1 / 3))
