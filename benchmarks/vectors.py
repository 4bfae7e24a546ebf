"""Games as a vector environment beside Gymnasium's own, in CPU time a step of one game.

The first episodes of a seed work out its level or road; the tables of 1,000 seeds are kept.
`seeds` are few here, so that both have seen them all.
"""

from time import process_time
from typing import Any

import gymnasium

COUNT = 64
GOAL = 10.0


def measure(game: str, mode: str, steps: int) -> float:
    """The microseconds of CPU time that a step of one game takes."""
    env: Any = gymnasium.make_vec(
        f"timeful.bridges.envs:timeful/{game}-array-v0",
        num_envs=COUNT,
        vectorization_mode=mode,
        seeds=range(32),
    )
    env.reset(seed=1)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(50)]
    for turn in range(2_000 if mode == "vector_entry_point" else 100):
        env.step(actions[turn % 50])
    start = process_time()
    for turn in range(steps):
        env.step(actions[turn % 50])
    return (process_time() - start) / steps / COUNT * 1e6


def main() -> None:
    """Print a line for each game."""
    for game in ("Snake", "Freeway"):
        ours = measure(game, "vector_entry_point", 2_000)
        sync = measure(game, "sync", 200)
        ratio = sync / ours
        print(
            f"  {game}, {COUNT} games: {ours:.1f} us a step, SyncVectorEnv {sync:.1f} us: "
            f"{ratio:.1f} times as fast (goal {GOAL:.0f})"
        )


if __name__ == "__main__":
    main()
