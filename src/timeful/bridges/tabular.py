"""Finite Engagement Processes as Gymnasium environments, and Gymnasium's tables as processes.

Gymnasium's toy environments publish their transitions as a table `P`; that table is a process
in which one action is taken at each tick and the state is seen, so it can be solved exactly. The
other way, any learner for Gymnasium can be trained on a process: it is given the number of the
event set, never the state.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeful.errors import SettingsError
from timeful.theory.process import Process, named

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise SettingsError(
        "the bridges to Gymnasium need it installed: pip install 'timeful[gymnasium]'"
    ) from error


class ProcessEnv(gymnasium.Env[np.int64, np.int64]):
    """A finite process as a Gymnasium environment.

    Action k is the k-th intervention set, and observation k the k-th event set; the last
    observation, one more, is what `reset` gives, since no tick has passed. The rewards are the
    expected utilities of the states that are passed through.

    Args:
        process: The process.
        horizon: After how many ticks an episode is cut off; never if None.

    Raises:
        SettingsError: If the horizon is below 1.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self, process: Process, *, horizon: int | None = None) -> None:
        if horizon is not None and horizon < 1:
            raise SettingsError(f"a horizon must be at least 1 tick, got {horizon}")
        self.process = process
        self.horizon = horizon
        self.action_space = spaces.Discrete(len(process.interventions))
        self.observation_space = spaces.Discrete(len(process.event_sets) + 1)
        self._over = process.over

    def action_masks(self) -> NDArray[np.bool_]:
        """Which interventions are admissible now, for learners that ask (sb3-contrib's name)."""
        return self.process.admissible[:, self._state]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Draw a first state; nothing is seen of it."""
        super().reset(seed=seed)
        self._state = self._draw(self.process.start)
        self._ticks = 0
        return np.int64(len(self.process.event_sets)), {}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Make an intervention and let a tick pass.

        One that is not admissible in the state is told of under "illegal" in the info, and the
        first that is admissible is made in its place.
        """
        choice = int(action)
        info: dict[str, Any] = {}
        if not self.process.admissible[choice, self._state]:
            info["illegal"] = named(self.process.interventions[choice])
            choice = int(self.process.admissible[:, self._state].argmax())
        reward = float(self.process.utility[choice, self._state])
        self._state = self._draw(self.process.transition[choice, self._state])
        events = self._draw(self.process.observation[self._state])
        self._ticks += 1
        truncated = self._ticks == self.horizon
        labels = sorted(map(repr, self.process.event_sets[events]))
        return (
            np.int64(events),
            reward,
            bool(self._over[self._state]),
            truncated,
            {"events": labels, **info},
        )

    def _draw(self, chances: Any) -> int:
        return int(self.np_random.choice(len(chances), p=chances / chances.sum()))


def from_table(env: gymnasium.Env[Any, Any], discount: float) -> Process:
    """A tabular Gymnasium environment as a process.

    Its states are the numbers of the table, and ("over", number) for a state in which an episode
    has ended; the event at each tick is the number. An environment's time limit is no part of it.

    Args:
        env: An environment with a table `P[state][action]` of (probability, next state, reward,
            terminated), such as FrozenLake, Taxi and CliffWalking, and `initial_state_distrib`.
        discount: Per tick, in (0, 1].

    Raises:
        SettingsError: If the environment has no such table.
    """
    table = getattr(env.unwrapped, "P", None)
    start = getattr(env.unwrapped, "initial_state_distrib", None)
    if table is None or start is None:
        raise SettingsError(
            f"{env} has no table `P` with an `initial_state_distrib`; only a tabular environment "
            "is a finite process"
        )

    def transition(state: Any, intervention: frozenset[Any]) -> dict[Any, float]:
        if isinstance(state, tuple):
            return {state: 1.0}
        [action] = intervention
        after: dict[Any, float] = {}
        for chance, number, _, terminated in table[state][action]:
            to = ("over", int(number)) if terminated else int(number)
            after[to] = after.get(to, 0.0) + float(chance)
        return after

    def utility(state: Any, intervention: frozenset[Any]) -> float:
        if isinstance(state, tuple):
            return 0.0
        [action] = intervention
        return float(sum(chance * reward for chance, _, reward, _ in table[state][action]))

    actions = range(int(env.action_space.n))  # type: ignore[attr-defined] # a table has numbers
    return Process.from_functions(
        {number: float(chance) for number, chance in enumerate(start) if chance > 0},
        [frozenset({action}) for action in actions],
        transition=transition,
        observation=lambda state: {
            frozenset({state[1] if isinstance(state, tuple) else state}): 1.0
        },
        utility=utility,
        discount=discount,
    )
