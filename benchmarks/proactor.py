"""ProActor's metrics: turns per CPU second, all ten of them, of the same turns, on one core.

What is timed of each way: "JSON lines" is the whole of `timeful metrics proactor-turns`, from a
file of a kilobyte a turn; "objects" begins with opportunities in memory, as agents and records
have them.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from timeful.core.clock import cpu_seconds
from timeful.dialogues.opportunity import STATUSES, Input, Inputs, Opportunity
from timeful.metrics.proactor.files import PredictedTurn, read_turns
from timeful.metrics.proactor.turns import MeanScores, mean_scores
from timeful.seeding import child

ROUNDS = 5
TURNS = 30_000
TARGET = 100_000
"""Turns per second that are asked for, of AC, PT, FTR and RAR together."""


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


def made(count: int) -> list[PredictedTurn]:
    """Turns with up to four predictions, references as often their equals as not."""
    rng = child(0, "benchmark")
    pool = [opportunity(rng) for _ in range(20_000)]
    turns = []
    for number in range(count):
        predictions = [pool[i] for i in rng.integers(0, len(pool), size=rng.integers(0, 5))]
        others = [pool[i] for i in rng.integers(0, len(pool), size=rng.integers(0, 3))]
        turns.append(
            PredictedTurn(
                dialogue=number // 20,
                turn=int(rng.integers(1, 22)),
                predictions=tuple(predictions),
                references=(*predictions[:2], *others),
                ready_ranges={
                    one.name: tuple(sorted(rng.integers(1, 22, size=4).tolist())) for one in others
                },
            )
        )
    return turns


def timed(job: Callable[[], MeanScores]) -> tuple[float, MeanScores]:
    """Turns per CPU second, and what was found."""
    begin = cpu_seconds()
    found = job()
    return TURNS / (cpu_seconds() - begin), found


def main() -> None:
    """Take turns, so that a busy machine slows all alike, and print medians."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "turns.jsonl")
        path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in made(TURNS)))
        report(path)


def report(path: Path) -> None:
    """Time each way to score the turns of a file."""
    # Read again, so that no two of them share an object.
    turns = list(read_turns(path))
    jobs: dict[str, Callable[[], MeanScores]] = {
        "JSON lines": lambda: mean_scores(turn.scores() for turn in read_turns(path)),
        "objects": lambda: mean_scores(turn.scores() for turn in turns),
    }
    rounds = [{name: timed(job) for name, job in jobs.items()} for _ in range(ROUNDS)]
    for outcomes in rounds:
        assert len({str(found) for _, found in outcomes.values()}) == 1, "the ways differ"
    print(f"{'all ten metrics of':<20}{'turns/CPU s':>14}{'target':>12}")
    for name in jobs:
        rate = median(outcomes[name][0] for outcomes in rounds)
        print(f"{name:<20}{rate:>14,.0f}{f'{TARGET:,}' if name == 'objects' else '':>12}".rstrip())


if __name__ == "__main__":
    main()
