"""What the best possible policy gets: the yardstick beside learned ones.

Exact up to the resolution of difficulty, by backward induction. The best policy sees what a
learner may see and more: the exact slack and difficulty, and how many tasks are left.
"""

from math import exp, gcd, log1p

import numpy as np
from numpy.typing import NDArray

from timeful.environments.deliberation.settings import DeliberationSettings

_POINTS = 400
"""Difficulties at which a choice is weighed; the mean over them is exact to six digits."""


def mean_success(world: DeliberationSettings, mode: int) -> float:
    """How often a mode succeeds in time, over difficulties uniform between 0 and 1.

    The integral of sigma(alpha - beta u): (softplus(alpha) - softplus(alpha - beta)) / beta.
    """
    quality = world.qualities[mode]
    if world.beta == 0:
        return 1 / (1 + exp(-quality))
    return (_softplus(quality) - _softplus(quality - world.beta)) / world.beta


def _softplus(value: float) -> float:
    return max(value, 0.0) + log1p(exp(-abs(value)))


def best_return(world: DeliberationSettings) -> float:
    """The mean return of the best policy.

    Time is cut at the greatest span of which all gaps and durations are multiples, so nothing is
    rounded; a second with spans in tenths makes ten cells.
    """
    unit = gcd(*world.gaps, *world.durations)
    gaps = [gap // unit for gap in world.gaps]
    spans: list[int] = [span // unit for span in world.durations]
    late, early = world.tasks * max(spans), world.tasks * max(gaps)
    slack = np.arange(-late, early + 1)
    chances = _chances(world)
    ahead = np.zeros(slack.size)  # what the tasks that follow are worth, by slack after this one
    for _ in range(world.tasks):
        now = _worth(world, slack, spans, ahead, chances)
        # Slack grows by a gap from one task to the next; beyond the grid nothing is reached.
        ahead = np.mean([_shifted(now, gap) for gap in gaps], axis=0)
    return float(ahead[late])


def _chances(world: DeliberationSettings) -> NDArray[np.float64]:
    """The success probability of each mode (rows) at each difficulty (columns)."""
    difficulty = (np.arange(_POINTS) + 0.5) / _POINTS
    qualities = np.array(world.qualities)[:, np.newaxis]
    chances: NDArray[np.float64] = 1 / (1 + np.exp(world.beta * difficulty - qualities))
    return chances


def _worth(
    world: DeliberationSettings,
    slack: NDArray[np.int64],
    spans: list[int],
    ahead: NDArray[np.float64],
    chances: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What a task and those that follow are worth, by the slack when it comes up."""
    best = np.full((slack.size, chances.shape[1]), -np.inf)
    for span, chance in zip(spans, chances, strict=True):
        gain = np.where((slack >= span)[:, np.newaxis], chance * (world.reward - world.penalty), 0)
        np.maximum(best, gain + _shifted(ahead, -span)[:, np.newaxis], out=best)
    values = best.mean(axis=1)
    worth: NDArray[np.float64] = np.where(slack > 0, values, ahead) + world.penalty
    return worth


def _shifted(values: NDArray[np.float64], by: int) -> NDArray[np.float64]:
    """The values that lie `by` cells further on; at the ends the last one is repeated."""
    return values[np.clip(np.arange(values.size) + by, 0, values.size - 1)]
