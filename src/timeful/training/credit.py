"""Credit by turn: the advantage of each thought over the same turn of the other episodes.

GRPO gives all tokens of an episode one advantage. In a long episode that blames the first thought
for the mistake of the last. Here the advantage of a thought is its discounted return, less the mean
return of the group at the same turn, divided by its standard deviation. For episodes of equal
length with one undiscounted reward at the end these are GRPO's own advantages.
"""

from collections.abc import Sequence
from math import sqrt

EPSILON = 1e-4
"""The addend to a standard deviation, as in TRL."""


def returns(rewards: Sequence[float], discount: float = 1.0) -> tuple[float, ...]:
    """The return from each turn on: G_t = r_t + discount * G_{t+1}."""
    total, values = 0.0, list[float]()
    for reward in reversed(rewards):
        total = reward + discount * total
        values.append(total)
    return tuple(reversed(values))


def turn_advantages(
    group: Sequence[Sequence[float] | None], *, discount: float = 1.0, scale: bool = True
) -> tuple[tuple[float, ...], ...]:
    """The advantage of each turn of each episode of a group.

    Args:
        group: The rewards of each episode's turns; None for an episode that failed, which gets no
            advantage and is left out of the mean.
        discount: The discount of later rewards, from 0 to 1, a turn.
        scale: Whether to divide by the standard deviation (n - 1) over the group at that turn.

    Returns:
        As many numbers for each episode as it has turns; 0 at a turn that it alone reached.
    """
    episodes = [() if rewards is None else returns(rewards, discount) for rewards in group]
    longest = max(map(len, episodes), default=0)
    by_turn = [[values[t] for values in episodes if t < len(values)] for t in range(longest)]
    centres = [_centre(values) for values in by_turn]
    return tuple(
        tuple(
            (value - mean) / (deviation + EPSILON if scale else 1.0)
            for value, (mean, deviation) in zip(values, centres, strict=False)
        )
        for values in episodes
    )


def divide_reward(reward: float, world: Sequence[float]) -> tuple[float, ...]:
    """Divide an episode's reward among its turns, in proportion to the world's own rewards.

    Args:
        reward: The reward of the episode.
        world: The world's reward at each turn, such as points; losses count as 0.

    Returns:
        As many numbers, which add up to the reward; the last turn gets all of it where the world
        gave none.
    """
    gains = [max(0.0, value) for value in world]
    total = sum(gains)
    if not total:
        return (*(0.0 for _ in world[:-1]), reward) if world else ()
    return tuple(reward * gain / total for gain in gains)


def _centre(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, 0.0
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
