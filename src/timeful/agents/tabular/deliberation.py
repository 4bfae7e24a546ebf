"""Tabular Q-learning of how long to think (Engagement Process, section 5.1.1).

The same function learns in the world and in its step abstraction, which is a world too: one in
which thinking takes no time (`DeliberationSettings.as_step`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from timeful.agents.session import Session
from timeful.agents.tabular import deliberation_loop as loop
from timeful.compiled import compiled
from timeful.core.units import Duration, in_seconds
from timeful.environments.deliberation.dynamics import bin_of
from timeful.environments.deliberation.settings import DeliberationSettings
from timeful.environments.deliberation.view import DeliberationView
from timeful.environments.deliberation.world import answer
from timeful.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliberationLearner:
    """How a table of values is learnt.

    Attributes:
        slack_edges: Where one bin of slack ends and the next begins, rising.
        difficulty_edges: The same for difficulty.
        rate: The learning rate, above 0 and not above 1; None for 1/N, N the visits so far.
        epsilon: How likely a random mode is, at first and at last.
        decay: The share of the training in which epsilon falls from one to the other.
        task_discount: What the next decision counts for.
        second_discount: The same for each second that thinking took.

    Raises:
        SettingsError: If one of them cannot be.
    """

    slack_edges: tuple[Duration, ...]
    difficulty_edges: tuple[float, ...] = (0.33, 0.66)
    rate: float | None = None
    epsilon: tuple[float, float] = (0.1, 0.1)
    decay: float = 0.0
    task_discount: float = 0.95
    second_discount: float = 0.995

    def __post_init__(self) -> None:
        for kind, edges in (("slack", self.slack_edges), ("difficulty", self.difficulty_edges)):
            if any(later <= earlier for earlier, later in pairwise(edges)):
                raise SettingsError(f"the edges of {kind} bins must rise, got {edges}")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise SettingsError(f"a learning rate is above 0 and at most 1, got {self.rate}")
        shares = {
            "the first epsilon": self.epsilon[0],
            "the last epsilon": self.epsilon[1],
            "the share of training": self.decay,
            "the discount by task": self.task_discount,
            "the discount by second": self.second_discount,
        }
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise SettingsError(f"{name} must lie between 0 and 1, got {share}")

    def numbers(self, world: DeliberationSettings, episodes: int) -> loop.Numbers:
        """The settings as numbers, for so many episodes of training in a world."""
        spans = [in_seconds(span) for span in world.durations]
        return loop.Numbers(
            slack_edges=np.array(self.slack_edges, dtype=np.float64),
            difficulty_edges=np.array(self.difficulty_edges, dtype=np.float64),
            rate=0.0 if self.rate is None else float(self.rate),
            first_epsilon=float(self.epsilon[0]),
            last_epsilon=float(self.epsilon[1]),
            decay=round(self.decay * episodes),
            discounts=np.array([self.task_discount * self.second_discount**s for s in spans]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliberationPolicy:
    """A learned table: `values[slack bin, difficulty bin, mode]`, and who learned it."""

    learner: DeliberationLearner
    values: NDArray[np.float64] = field(repr=False)

    def mode(self, slack: Duration, difficulty: float) -> int:
        """The best mode for a task, from 0."""
        row = bin_of(slack, np.array(self.learner.slack_edges, dtype=np.float64))
        column = bin_of(difficulty, np.array(self.learner.difficulty_edges, dtype=np.float64))
        return loop.greedy(self.values[row, column])


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliberationPlayed:
    """What evaluation episodes came to.

    Attributes:
        counts: A column for each name of `deliberation_loop.COLUMNS`, a value an episode.
        modes: How often each mode (columns) was chosen at each slack bin (rows).
    """

    counts: dict[str, NDArray[np.float64]]
    modes: NDArray[np.int64]


def train(
    world: DeliberationSettings,
    learner: DeliberationLearner,
    *,
    episodes: int,
    rng: np.random.Generator,
) -> DeliberationPolicy:
    """Learn in a world from nothing.

    Args:
        world: Where to learn.
        learner: How to learn.
        episodes: For how long, at least 1.
        rng: Draws tasks and exploration.
    """
    shape = (len(learner.slack_edges) + 1, len(learner.difficulty_edges) + 1, world.modes)
    values = np.zeros(shape)
    numbers = learner.numbers(world, episodes)
    compiled(loop).learn(rng, world.rules(), numbers, values, episodes)
    return DeliberationPolicy(learner=learner, values=values)


def evaluate(
    world: DeliberationSettings,
    policy: DeliberationPolicy,
    *,
    episodes: int,
    rng: np.random.Generator,
) -> DeliberationPlayed:
    """Play a policy greedily in a world.

    Args:
        world: Where to play, which need not be where it was learned.
        policy: What to play.
        episodes: How often.
        rng: Draws the tasks.
    """
    numbers = policy.learner.numbers(world, episodes)
    counts, modes = compiled(loop).evaluate(rng, world.rules(), numbers, policy.values, episodes)
    columns: Sequence[str] = loop.COLUMNS
    return DeliberationPlayed(
        counts={name: counts[:, index] for index, name in enumerate(columns)}, modes=modes
    )


async def deliberate(
    session: Session, policy: DeliberationPolicy, durations: Sequence[Duration]
) -> None:
    """Play a policy on the timeline: task by task, think for as long as the mode takes, answer.

    Args:
        session: In a `Deliberation` world.
        policy: Chooses the mode for each task.
        durations: How long thinking takes in each mode; nothing interrupts it.
    """
    while not session.over:
        view = session.view
        assert isinstance(view, DeliberationView)
        task = view.next_open
        if task is None:
            return
        mode = policy.mode(view.slack(task), task.difficulty)
        await session.sleep(durations[mode])
        session.act(answer(task.number, mode + 1))
        # Only the event that the answer caused says where time and tasks are now.
        while not session.over and not any("mode" in event.data for event in session.observe()):
            await session.wait_for_tick()
