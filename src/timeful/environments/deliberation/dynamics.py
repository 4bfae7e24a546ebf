"""What happens to tasks, as plain functions of numbers that numba can compile.

Engagement Process, section 5.1.1; what the paper leaves open was identified by trial. All tasks
are open from the start. Thinking in a mode always takes its full duration, also beyond the
deadline; a task whose deadline has come before anybody thought about it times out by itself.
The step abstraction is the same world with durations of 0: its clock never moves, so a task's
slack is the whole span to its deadline, and nothing times out.
"""

import math

import numpy as np
from numpy.typing import NDArray

from timeful.environments.deliberation.settings import Rules

FAILED = 0
SUCCEEDED = 1
TIMED_OUT = 2


def draw_deadlines(rng: np.random.Generator, rules: Rules) -> NDArray[np.int64]:
    """Draw the deadlines of an episode, in nanoseconds from its start: the gaps, summed up."""
    deadlines = np.empty(rules.tasks, dtype=np.int64)
    due = 0
    for task in range(rules.tasks):
        due += rules.gaps[int(rng.random() * len(rules.gaps))]
        deadlines[task] = due
    return deadlines


def draw_chances(rng: np.random.Generator, rules: Rules) -> NDArray[np.float64]:
    """Draw the difficulty and the luck of each task, between 0 and 1.

    Luck decides how a task comes out, and is drawn ahead: what was done about one task shifts
    no other.

    Returns:
        A row for each task: difficulty, luck.
    """
    chances = np.empty((rules.tasks, 2))
    for task in range(rules.tasks):
        chances[task, 0] = rng.random()
        chances[task, 1] = rng.random()
    return chances


def success_probability(rules: Rules, mode: int, difficulty: float) -> float:
    """How likely thinking in a mode solves a task in time: sigma(alpha_m - beta u)."""
    return 1.0 / (1.0 + math.exp(rules.beta * difficulty - rules.qualities[mode]))


def outcome(rules: Rules, mode: int, slack: int, difficulty: float, luck: float) -> int:
    """What becomes of a task that is answered after thinking in a mode.

    Args:
        rules: The settings.
        mode: Which mode, from 0.
        slack: The nanoseconds from the answer to the deadline; at the very deadline, 0, it counts.
        difficulty: Of the task.
        luck: Of the task.
    """
    if slack < 0:
        return TIMED_OUT
    if luck < success_probability(rules, mode, difficulty):
        return SUCCEEDED
    return FAILED


def reward_of(rules: Rules, became: int) -> float:
    """What an outcome is worth."""
    return rules.reward if became == SUCCEEDED else rules.penalty


def bin_of(value: float, edges: NDArray[np.float64]) -> int:
    """The bin of a value: how many of the sorted edges it has reached."""
    number = 0
    while number < len(edges) and edges[number] <= value:
        number += 1
    return number
