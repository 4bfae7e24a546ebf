"""The loops that learn and evaluate how long to think about a task, for numba to compile.

Q-learning over (slack bin, difficulty bin, mode): one decision for each task that is still open
when it comes up, backed up when the next decision is due.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeful.environments.deliberation.dynamics import (
    SUCCEEDED,
    TIMED_OUT,
    bin_of,
    draw_chances,
    draw_deadlines,
    outcome,
    reward_of,
)
from timeful.environments.deliberation.settings import Rules

COLUMNS = ("return", "tasks", "succeeded", "timed out", "chosen", "deepest")
"""What `evaluate` counts in each episode: `chosen` tasks got a mode, `deepest` the last one."""


class Numbers(NamedTuple):
    """A learner's settings as numbers; `rate` 0 stands for 1/N, `discounts` are by mode."""

    slack_edges: NDArray[np.float64]
    difficulty_edges: NDArray[np.float64]
    rate: float
    first_epsilon: float
    last_epsilon: float
    decay: int
    discounts: NDArray[np.float64]


def learn(
    rng: np.random.Generator,
    rules: Rules,
    learner: Numbers,
    values: NDArray[np.float64],
    episodes: int,
) -> None:
    """Learn for some episodes, into `values[slack bin, difficulty bin, mode]`.

    What a decision earned is its own reward and, discounted, the penalties of tasks that expired
    before the next decision.
    """
    visits = np.zeros(values.shape, dtype=np.int64)
    for episode in range(episodes):
        deadlines, chances = draw_deadlines(rng, rules), draw_chances(rng, rules)
        clock, earned = 0, 0.0
        slack_bin = difficulty_bin = mode = -1
        for task in range(rules.tasks):
            slack = deadlines[task] - clock
            difficulty, luck = chances[task]
            if slack <= 0:
                earned += learner.discounts[mode] * rules.penalty
                continue
            before, before_bin, last_mode = slack_bin, difficulty_bin, mode
            slack_bin = bin_of(slack, learner.slack_edges)
            difficulty_bin = bin_of(difficulty, learner.difficulty_edges)
            if last_mode >= 0:
                ahead = values[slack_bin, difficulty_bin].max()
                _back_up(
                    values[before, before_bin],
                    visits[before, before_bin],
                    last_mode,
                    learner.rate,
                    earned + learner.discounts[last_mode] * ahead,
                )
            mode = greedy(values[slack_bin, difficulty_bin])
            if rng.random() < _epsilon(learner, episode):
                mode = int(rng.random() * len(rules.durations))
            remaining = slack - rules.durations[mode]
            earned = reward_of(rules, outcome(rules, mode, remaining, difficulty, luck))
            clock += rules.durations[mode]
        _back_up(
            values[slack_bin, difficulty_bin],
            visits[slack_bin, difficulty_bin],
            mode,
            learner.rate,
            earned,
        )


def evaluate(
    rng: np.random.Generator,
    rules: Rules,
    learner: Numbers,
    values: NDArray[np.float64],
    episodes: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Play greedily by a table.

    Returns:
        A row for each episode, a column for each of `COLUMNS`; and how often each mode was
        chosen at each slack bin.
    """
    counts = np.zeros((episodes, 6))
    mode_counts = np.zeros((values.shape[0], values.shape[2]), dtype=np.int64)
    deepest = len(rules.durations) - 1
    for episode in range(episodes):
        deadlines, chances = draw_deadlines(rng, rules), draw_chances(rng, rules)
        row = counts[episode]
        clock = 0
        for task in range(rules.tasks):
            slack = deadlines[task] - clock
            difficulty, luck = chances[task]
            became = TIMED_OUT
            if slack > 0:
                slack_bin = bin_of(slack, learner.slack_edges)
                difficulty_bin = bin_of(difficulty, learner.difficulty_edges)
                mode = greedy(values[slack_bin, difficulty_bin])
                remaining = slack - rules.durations[mode]
                became = outcome(rules, mode, remaining, difficulty, luck)
                clock += rules.durations[mode]
                mode_counts[slack_bin, mode] += 1
                row[4] += 1
                row[5] += mode == deepest
            row[0] += reward_of(rules, became)
            row[1] += 1
            row[2] += became == SUCCEEDED
            row[3] += became == TIMED_OUT
    return counts, mode_counts


def greedy(values: NDArray[np.float64]) -> int:
    """The mode of the highest value; of equals, the first."""
    return int(np.argmax(values))


def _epsilon(learner: Numbers, episode: int) -> float:
    """How likely a random mode is: it falls in a line, then stays."""
    if episode >= learner.decay:
        return learner.last_epsilon
    progress = episode / learner.decay
    return learner.first_epsilon + progress * (learner.last_epsilon - learner.first_epsilon)


def _back_up(
    values: NDArray[np.float64], visits: NDArray[np.int64], mode: int, rate: float, target: float
) -> None:
    visits[mode] += 1
    step = rate if rate > 0 else 1.0 / visits[mode]
    values[mode] += step * (target - values[mode])
