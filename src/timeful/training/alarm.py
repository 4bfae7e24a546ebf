"""The alarm of collapse: a policy that answers at one length, whatever the time it has.

A mean reward does not show it, and may even be high: who always answers at once is always in time.
So lengths are compared by budget.
"""

from collections.abc import Mapping

LEAST_SPREAD = 1.5
"""From the shortest to the longest budget, answers become at least so many times as long."""

LEAST_RANGE = 2.0
"""Budgets that differ by less than this ask for no difference."""


def collapse(tokens: Mapping[float, float]) -> str:
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
