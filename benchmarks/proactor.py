"""ProActor's metrics: turns per CPU second, on arrays and in plain Python, of the same turns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from timeful.core.clock import cpu_seconds
from timeful.dialogues.opportunity import STATUSES, Input, Inputs, Opportunity
from timeful.metrics.proactor.arrays import turn_arrays
from timeful.metrics.proactor.turns import MeanScores, mean_scores, score_turn
from timeful.seeding import child

ROUNDS = 5
TURNS = 30_000
TARGET = 100_000
"""Turns per second that are asked for, of AC, PT, FTR and RAR together."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn to be scored."""

    turn: int
    predictions: Sequence[Opportunity]
    references: Sequence[Opportunity]
    ready_ranges: Mapping[str, Sequence[int]]


def opportunity(rng: np.random.Generator) -> Opportunity:
    """One of thirty actions with up to three inputs, half of them provided."""
    inputs = tuple(
        Input(
            name=f"slot {slot}",
            provided=bool(rng.random() < 0.5),
            value=f"Value {rng.integers(0, 5_000)}",
        )
        for slot in rng.choice(8, size=rng.integers(0, 4), replace=False)
    )
    return Opportunity(
        name=f"action {rng.integers(0, 30)}",
        status=STATUSES[rng.integers(0, len(STATUSES))],
        inputs=Inputs(required=inputs),
    )


def made(count: int) -> list[Turn]:
    """Turns with up to four predictions, references as often their equals as not."""
    rng = child(0, "benchmark")
    pool = [opportunity(rng) for _ in range(20_000)]
    turns = []
    for _ in range(count):
        predictions = [pool[i] for i in rng.integers(0, len(pool), size=rng.integers(0, 5))]
        others = [pool[i] for i in rng.integers(0, len(pool), size=rng.integers(0, 3))]
        ranges = {one.name: sorted(rng.integers(1, 22, size=4).tolist()) for one in others}
        turns.append(Turn(int(rng.integers(1, 22)), predictions, predictions[:2] + others, ranges))
    return turns


def timed(job: Callable[[], MeanScores]) -> tuple[float, MeanScores]:
    """Turns per CPU second, and what was found."""
    begin = cpu_seconds()
    found = job()
    return TURNS / (cpu_seconds() - begin), found


def main() -> None:
    """Take turns, so that a busy machine slows all alike, and print medians."""
    turns = made(TURNS)
    arrays = turn_arrays(turns)
    jobs: dict[str, Callable[[], MeanScores]] = {
        "plain": lambda: mean_scores(
            score_turn(one.turn, one.predictions, one.references, one.ready_ranges) for one in turns
        ),
        "to arrays, scored": lambda: turn_arrays(turns).mean(),
        "arrays scored": arrays.mean,
    }
    rounds = [{name: timed(job) for name, job in jobs.items()} for _ in range(ROUNDS)]
    for outcomes in rounds:
        assert len({str(found) for _, found in outcomes.values()}) == 1, "the ways differ"
    print(f"{'all ten metrics':<20}{'turns/CPU s':>14}{'target':>12}")
    for name in jobs:
        rate = median(outcomes[name][0] for outcomes in rounds)
        print(f"{name:<20}{rate:>14,.0f}{TARGET:>12,}")


if __name__ == "__main__":
    main()
