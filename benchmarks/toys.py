"""Deliberation: episodes of learning per CPU second, compiled and plain, in the same run."""

from statistics import median

import numpy as np

from timeful.agents.tabular import deliberation_loop
from timeful.compiled import compiled
from timeful.core.clock import cpu_seconds
from timeful.environments.deliberation.settings import DeliberationSettings
from timeful.seeding import child
from timeful.suites.engagement.toys.deliberation import LEARNERS, WORLDS, Kind

ROUNDS = 5
EPISODES = {"plain": 300, "compiled": 8_000}

TARGETS = {"single": 500_000, "sequential": 100_000}
"""Compiled episodes per CPU second that are asked for: a run of all tables has 480,000."""


def learned(world: DeliberationSettings, kind: Kind, speed: str) -> tuple[float, bytes]:
    """Episodes per CPU second, and the values that the first of them led to."""
    loop = compiled(deliberation_loop) if speed == "compiled" else deliberation_loop
    learner = LEARNERS[kind]["paper-like"]
    episodes, rules = EPISODES[speed], world.rules()
    numbers = learner.numbers(world, episodes=EPISODES["plain"])
    shape = (len(learner.slack_edges) + 1, len(learner.difficulty_edges) + 1, world.modes)
    first, values = np.zeros(shape), np.zeros(shape)
    loop.learn(child(0, "benchmark"), rules, numbers, first, EPISODES["plain"])
    rng = child(0, "benchmark")
    begin = cpu_seconds()
    loop.learn(rng, rules, numbers, values, episodes)
    return episodes / (cpu_seconds() - begin), first.tobytes()


def main() -> None:
    """Take turns, so that a busy machine slows both alike, and print medians."""
    print(f"{'deliberation':<16}{'plain/CPU s':>14}{'compiled/CPU s':>16}{'target':>10}{'x':>7}")
    for kind, world in WORLDS.items():
        learned(world, kind, "compiled")  # compiles
        rounds = [[learned(world, kind, speed) for speed in EPISODES] for _ in range(ROUNDS)]
        assert len({values for round_ in rounds for _, values in round_}) == 1, "speeds differ"
        plain, fast = (median(rate for rate, _ in column) for column in zip(*rounds, strict=True))
        ratio = median(quick / slow for (slow, _), (quick, _) in rounds)
        print(f"{kind:<16}{plain:>14,.0f}{fast:>16,.0f}{TARGETS[kind]:>10,}{ratio:>7.0f}")


if __name__ == "__main__":
    main()
