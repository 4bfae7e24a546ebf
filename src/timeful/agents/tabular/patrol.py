"""Tabular Q-learning of when to leave everything for an alarm (Engagement Process, section 5.1.2).

Learned and hand-written policies alike come to a table: whether to respond, for every situation.
Who plays by it may be asked in every tick (EP) or at boundaries only (Loop).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from timeful.agents.session import Session
from timeful.agents.tabular import patrol_loop
from timeful.compiled import compiled
from timeful.environments.patrol import episodes as patrol_episodes
from timeful.environments.patrol.episodes import COUNTS, fresh_state
from timeful.environments.patrol.policies import look_up
from timeful.environments.patrol.settings import PatrolSettings
from timeful.environments.patrol.view import PatrolView
from timeful.environments.patrol.world import RESPOND
from timeful.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """What a learner tells apart beside the phase: edges where one bin ends and the next begins.

    Attributes:
        deadline: In ticks, rising.
        distance: In cells, rising.
    """

    deadline: tuple[int, ...]
    distance: tuple[int, ...]

    def __post_init__(self) -> None:
        for kind, edges in (("deadline", self.deadline), ("distance", self.distance)):
            if any(later <= earlier for earlier, later in pairwise(edges)):
                raise SettingsError(f"the edges of {kind} bins must rise, got {edges}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatrolLearner:
    """How a table of values is learned.

    Attributes:
        bins: What it tells apart; None for every tick and every cell, and the ticks that are
            left of a phase besides.
        rate: The learning rate, above 0 and not above 1; None for 1/N, N the visits so far.
        epsilon_decay: Random choices have probability `epsilon_decay` to the power of the
            episode's number,
        least_epsilon: but at least this.
        discount: What the next tick counts for.

    Raises:
        SettingsError: If one of them cannot be.
    """

    bins: Bins | None
    rate: float | None = None
    epsilon_decay: float = 0.9995
    least_epsilon: float = 0.05
    discount: float = 0.99

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 < self.rate <= 1:
            raise SettingsError(f"a learning rate is above 0 and at most 1, got {self.rate}")
        for name in ("epsilon_decay", "least_epsilon", "discount"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name} must lie between 0 and 1, got {getattr(self, name)}")

    def numbers(self) -> patrol_loop.Numbers:
        """The settings as numbers."""
        return patrol_loop.Numbers(
            rate=0.0 if self.rate is None else float(self.rate),
            epsilon_decay=float(self.epsilon_decay),
            least_epsilon=float(self.least_epsilon),
            discount=float(self.discount),
        )

    def rows(self, world: PatrolSettings) -> NDArray[np.int64]:
        """The row of the table of values for every situation."""
        if self.bins is None:
            return np.arange(np.prod(world.situations)).reshape(world.situations)
        kind, _, deadline, distance = np.indices(world.situations)
        deadlines, distances = self.bins.deadline, self.bins.distance
        row = kind * (len(deadlines) + 1) + np.digitize(deadline, deadlines)
        rows: NDArray[np.int64] = row * (len(distances) + 1) + np.digitize(distance, distances)
        return rows


def train(
    world: PatrolSettings,
    learner: PatrolLearner,
    *,
    is_loop: bool,
    episodes: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Learn in a world from nothing.

    Args:
        world: Where to learn.
        learner: How to learn.
        is_loop: Whether decisions wait for a boundary.
        episodes: For how long.
        rng: Draws alarms and exploration.

    Returns:
        Whether to respond, for every `dynamics.situation`; not where both are worth the same.
    """
    rows = learner.rows(world)
    values = np.zeros((int(rows.max()) + 1, 2))
    kernels = compiled(patrol_loop)
    kernels.learn(
        world.rules(),
        fresh_state(kernels),
        learner.numbers(),
        rows,
        is_loop,
        rng,
        episodes,
        values,
    )
    table: NDArray[np.bool_] = (values[:, 1] > values[:, 0])[rows]
    return table


def evaluate(
    world: PatrolSettings,
    table: NDArray[np.bool_],
    *,
    is_loop: bool,
    episodes: int,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.float64]]:
    """Play by a table.

    Args:
        world: Where to play.
        table: Whether to respond, for every `dynamics.situation`.
        is_loop: Whether decisions wait for a boundary.
        episodes: How often.
        rng: Draws the alarms.

    Returns:
        A column for each name of `episodes.COUNTS`, a value an episode.
    """
    counts = np.zeros((episodes, len(COUNTS)))
    kernels = compiled(patrol_episodes)
    kernels.play(world.rules(), fresh_state(kernels), table, is_loop, rng, counts)
    return {name: counts[:, index] for index, name in enumerate(COUNTS)}


async def patrol(session: Session, table: NDArray[np.bool_]) -> None:
    """Play by a table on the timeline, whenever the interface lets one decide.

    Args:
        session: In a `Patrol` world.
        table: Whether to respond, for every `dynamics.situation`.
    """
    while not session.over:
        view = session.view
        assert isinstance(view, PatrolView)
        if view.choice is not None and look_up(table, view.choice):
            session.act(RESPOND)
        await session.run_until_event()
