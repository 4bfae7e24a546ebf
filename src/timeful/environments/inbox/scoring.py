"""What an episode was worth: equations (1) to (4) of Appendix D."""

from collections.abc import Iterable
from dataclasses import dataclass

from timeful.environments.inbox.settings import URGENCIES, Scoring, Urgency


@dataclass(slots=True, kw_only=True)
class Tally:
    """What counts in the utility, as it adds up."""

    progress: int = 0
    on_time: int = 0
    late: int = 0
    timed_out: int = 0
    switches: int = 0
    interruptions: int = 0


def utility(scoring: Scoring, tally: Tally) -> float:
    """The additive score of an episode, equation (1)."""
    return (
        scoring.progress_reward * tally.progress
        + scoring.completion_bonus * (tally.progress >= scoring.target)
        + scoring.on_time_reward * tally.on_time
        + scoring.late_reward * tally.late
        - scoring.timeout_penalty * tally.timed_out
        - scoring.switch_penalty * tally.switches
        - scoring.interruption_penalty * tally.interruptions
    )


def main_score(scoring: Scoring, progress: int) -> float:
    """How much of the main task is done, from 0 to 1, equation (2)."""
    return min(1.0, progress / scoring.target)


def email_score(scoring: Scoring, emails: Iterable[tuple[Urgency, bool]]) -> float:
    """The share of emails handled on time, by weight, equation (3); 1 if none arrived.

    Args:
        scoring: The weights.
        emails: The urgency of each email that arrived, and whether it was handled on time.
    """
    weights = dict(zip(URGENCIES, scoring.urgency_weights, strict=True))
    weighed = [(weights[urgency], on_time) for urgency, on_time in emails]
    whole = sum(weight for weight, _ in weighed)
    return sum(weight for weight, on_time in weighed if on_time) / whole if whole else 1.0


def balanced_score(scoring: Scoring, *, main: float, email: float) -> float:
    """Both scores in one, less a penalty for the gap between them, equation (4)."""
    share = scoring.main_weight
    return share * main + (1 - share) * email - scoring.gap_penalty * abs(main - email)
