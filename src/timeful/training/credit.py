"""Credit by turn: what each thought of a live episode brought, beside the same turn of others.

GRPO gives all tokens of an episode one advantage, which is TRL's. In a long episode that blames
the first thought for the last one's mistake. Here a thought is credited with what came after it
began, discounted, less the mean of that over the group at the same turn, and scaled by its
standard deviation as GRPO scales. Rewards that come at the end alone, undiscounted, give back
GRPO's own advantages, for episodes of equal length.
"""

from collections.abc import Sequence
from math import sqrt

EPSILON = 1e-4
"""What is added to a standard deviation, as TRL adds it."""


def returns(rewards: Sequence[float], discount: float = 1.0) -> tuple[float, ...]:
    """What came from each turn on: G_t = r_t + discount * G_{t+1}.

    Args:
        rewards: Of each turn.
        discount: From 0 to 1, a turn.
    """
    so_far, found = 0.0, list[float]()
    for reward in reversed(rewards):
        so_far = reward + discount * so_far
        found.append(so_far)
    return tuple(reversed(found))


def turn_advantages(
    group: Sequence[Sequence[float] | None], *, discount: float = 1.0, scale: bool = True
) -> tuple[tuple[float, ...], ...]:
    """The advantage of each turn of each episode of a group.

    Args:
        group: The rewards of each episode's turns; None for one that failed, which is compared
            with nobody and gets no advantage.
        discount: From 0 to 1, a turn.
        scale: Whether to divide by the standard deviation (n - 1) over the group at that turn.

    Returns:
        As many numbers for each episode as it has turns; 0 at a turn that it alone reached.
    """
    found = [None if one is None else returns(one, discount) for one in group]
    longest = max((len(one) for one in found if one is not None), default=0)
    reached = [[one[t] for one in found if one and t < len(one)] for t in range(longest)]
    centres = [_centre(values) for values in reached]
    return tuple(
        ()
        if one is None
        else tuple(
            (value - mean) / (deviation + EPSILON if scale else 1.0)
            for value, (mean, deviation) in zip(one, centres, strict=False)
        )
        for one in found
    )


def shared_out(reward: float, world: Sequence[float]) -> tuple[float, ...]:
    """Share an episode's reward out among its turns, as the world gave its own.

    Args:
        reward: That of the episode, such as one that knows its budget.
        world: What the world gave at each turn, such as points; losses count as nothing.

    Returns:
        As many numbers, which add up to the reward; all of it is the last turn's where the world
        gave nothing.
    """
    gains = [max(0.0, one) for one in world]
    total = sum(gains)
    if not total:
        return (*(0.0 for _ in world[:-1]), reward) if world else ()
    return tuple(reward * gain / total for gain in gains)


def _centre(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the standard deviation with n - 1; 0 for a single value."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, 0.0
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
