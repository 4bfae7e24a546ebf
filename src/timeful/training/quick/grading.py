"""Grading: a model at problems that it has not seen, as in the papers' tables.

Played like any other episode of Timely-Eval with a soft budget, and kept as its rows, from which
all tables are made.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from timeful.records.events import Entry
from timeful.records.store import write_atomically
from timeful.tasks.rows import TaskRow, summarize
from timeful.training.rollout_tasks import RolloutTask
from timeful.training.rollouts import Player, sampling_seed


def grade(
    player: Player,
    scenes: Sequence[RolloutTask],
    *,
    seed: int,
    out: Path,
    row: Callable[[Sequence[Entry]], TaskRow] = summarize,
) -> None:
    """Play scenes once and write a row of each, whole or not at all.

    Args:
        player: Whose model is graded.
        scenes: The problems.
        seed: Of what is sampled.
        out: A file of JSON lines, a row each.
        row: Makes one of a record.
    """
    tasks = [(scene, sampling_seed(seed, 0, scene.key, 0)) for scene in scenes]
    rows = [row(one.events) for one in player.play(tasks)]
    write_atomically(out, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
