"""Alarms: a policy that ignores the budget, and a training that learns nothing.

The mean reward does not show the first, and may even be high: a policy that always answers at once
is always in time. So lengths are compared by budget. The second is a group in which all rewards are
the same: its advantages are 0.
"""

from collections.abc import Mapping, Sequence
from math import inf
from statistics import fmean

LEAST_SPREAD = 1.5
"""From the shortest to the longest budget, answers become longer by at least this factor."""

LEAST_RANGE = 2.0
"""Budgets that differ by a smaller factor require no difference."""


def span_of(budget: str) -> float:
    """The seconds of a budget as metrics call it; "none" is the longest."""
    return inf if budget == "none" else float(budget.removesuffix("s"))


def find_collapse(tokens: Mapping[float, float]) -> str:
    """Name the collapse of a policy to one length; empty if there is none.

    Args:
        tokens: The mean tokens of an answer, by budget; budgets in any unit of time.
    """
    if not tokens:
        return ""
    tight, loose = min(tokens), max(tokens)
    if loose < LEAST_RANGE * tight:
        return ""
    spread = tokens[loose] / max(tokens[tight], 1e-9)
    if spread >= LEAST_SPREAD:
        return ""
    return (
        f"collapsed to one length: {tokens[tight]:.1f} tokens in the shortest budget and "
        f"{tokens[loose]:.1f} in one {loose / tight:.0f} times as long"
    )


def find_standstill(equal_shares: Sequence[float | None], rewards: Sequence[float | None]) -> str:
    """Name a standstill, with what it may come from; empty if there is something to learn.

    Args:
        equal_shares: The share of groups of equal rewards, by update; None if unknown.
        rewards: The mean reward, by update.
    """
    if any(share != 1 for share in equal_shares):
        return ""
    values = [reward for reward in rewards if reward is not None]
    mean = fmean(values) if values else None
    match mean:
        case None:
            cause = "no group has a reward: see the judge's words in ruler.jsonl"
        case 0:
            cause = (
                "every reward is 0. Budgets too tight, a max_tokens that cuts answers off, or "
                "answers that cannot be read?"
            )
        case 1:
            cause = "every reward is 1. The cases are too easy, or the budgets too loose"
        case _:
            cause = f"their mean is {mean:.3g}. Cases too easy or too hard, or a low temperature?"
    return f"nothing to learn: all rewards of each group were the same, {cause}"
