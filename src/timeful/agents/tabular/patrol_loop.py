"""The loop that learns when to respond to an alarm, for numba to compile.

Q-learning over the options {go on, respond}: a decision is backed up when the next one is due,
with everything that came in between, tick by tick (SMDP Q-learning; Engagement Process,
section 5.1.2). The last decision of an episode is backed up with what came in until the end.
That end is the clock's and no situation foretells it, so it adds noise, and a paper-like learner
needs it: without this back-up the spread over seeds is a third of what reproduces the paper.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeful.environments.patrol.dynamics import (
    Rules,
    State,
    begin,
    can_respond,
    goes_off,
    set_off,
    situation,
    tick,
)


class Numbers(NamedTuple):
    """A learner's settings as numbers; `rate` 0 stands for 1/N."""

    rate: float
    epsilon_decay: float
    least_epsilon: float
    discount: float


def learn(
    rules: Rules,
    state: State,
    learner: Numbers,
    bins: NDArray[np.int64],
    is_loop: bool,
    rng: np.random.Generator,
    episodes: int,
    values: NDArray[np.float64],
) -> None:
    """Learn for some episodes, into `values[bin, 0 to go on or 1 to respond]`.

    Args:
        rules: The settings of the world.
        state: Room to work in.
        learner: How to learn.
        bins: The row of `values` for every situation.
        is_loop: Whether decisions wait for a boundary.
        rng: Draws alarms and exploration.
        episodes: How many.
        values: What is known before, and then what was learned.
    """
    visits = np.zeros(values.shape, dtype=np.int64)
    for episode in range(episodes):
        epsilon = max(learner.least_epsilon, learner.epsilon_decay**episode)
        begin(rules, state)
        last, choice = -1, 0
        earned, weight = 0.0, 1.0
        for _ in range(rules.horizon):
            respond = False
            if can_respond(state, is_loop):
                row = bins[situation(state)]
                if last >= 0:
                    ahead = max(values[row, 0], values[row, 1])
                    _back_up(values, visits, last, choice, learner.rate, earned + weight * ahead)
                last, choice = row, _choose(values[row], epsilon, rng)
                earned, weight = 0.0, 1.0
                respond = choice == 1
            earned += weight * tick(rules, state, respond)
            weight *= learner.discount
            if goes_off(rules, state, rng):
                set_off(rules, state, rng)
        if last >= 0:
            _back_up(values, visits, last, choice, learner.rate, earned)


def _choose(values: NDArray[np.float64], epsilon: float, rng: np.random.Generator) -> int:
    """The better choice, a random one of equals, or a random one anyway."""
    if rng.random() < epsilon or values[0] == values[1]:
        return 1 if rng.random() < 0.5 else 0
    return 1 if values[1] > values[0] else 0


def _back_up(
    values: NDArray[np.float64],
    visits: NDArray[np.int64],
    row: int,
    choice: int,
    rate: float,
    target: float,
) -> None:
    visits[row, choice] += 1
    step = rate if rate > 0 else 1.0 / visits[row, choice]
    values[row, choice] += step * (target - values[row, choice])
