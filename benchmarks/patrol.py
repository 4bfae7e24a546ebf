"""Patrol: ticks per CPU second of one definition at two speeds, compiled and plain."""

from statistics import median

import numpy as np

from timeful.compiled import compiled
from timeful.core.clock import cpu_seconds
from timeful.environments.patrol import episodes as loop
from timeful.environments.patrol.episodes import COUNTS, fresh_state
from timeful.environments.patrol.policies import patch_pro, tabulate
from timeful.environments.patrol.settings import DEPTH_3
from timeful.seeding import child

ROUNDS = 5
EPISODES = {"plain": 40, "compiled": 2_000}

TARGETS = {"plain": 200_000, "compiled": 10_000_000}
"""Ticks per CPU second that are asked for: a run of all tables has 780 million."""


def played(speed: str, episodes: int) -> tuple[float, bytes]:
    """Ticks per CPU second, and what became of the first episodes."""
    kernels = compiled(loop) if speed == "compiled" else loop
    counts, room = np.zeros((episodes, len(COUNTS))), fresh_state(kernels)
    rules, table, rng = DEPTH_3.rules(), tabulate(patch_pro, DEPTH_3), child(0, "benchmark")
    begin = cpu_seconds()
    kernels.play(rules, room, table, False, rng, counts)
    spent = cpu_seconds() - begin
    return episodes * DEPTH_3.horizon / spent, counts[: EPISODES["plain"]].tobytes()


def main() -> None:
    """Take turns, so that a busy machine slows both alike, and print medians."""
    played("compiled", 1)  # compiles
    rounds = [[played(speed, count) for speed, count in EPISODES.items()] for _ in range(ROUNDS)]
    assert len({outcome for round_ in rounds for _, outcome in round_}) == 1, "speeds differ"
    print(f"{'patrol':<14}{'ticks/CPU s':>14}{'target':>12}")
    for speed, results in zip(EPISODES, zip(*rounds, strict=True), strict=True):
        rate = median(rate for rate, _ in results)
        print(f"{speed:<14}{rate:>14,.0f}{TARGETS[speed]:>12,}")
    ratio = median(fast / slow for (slow, _), (fast, _) in rounds)
    print(f"compiled is {ratio:.0f} times as fast, and plays the same episodes bit for bit")


if __name__ == "__main__":
    main()
