"""Grading: a model at problems that it has not seen, as in the papers' tables.

Played like any other episode of Timely-Eval with a soft budget, and summed up by its rows: what is
within the budget, what is right whenever it came, and how long it took.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from timeful.metrics.budgets import right_in_time
from timeful.metrics.statistics import Estimate, bootstrap_grand_mean
from timeful.models.local.request import Style
from timeful.seeding import child
from timeful.suites.timely.rows import TimelyRow, summarize
from timeful.training.rollouts import Player, sampling_seed
from timeful.training.scenes import Scene

STYLE = Style(temperature=0.6, top_p=0.95, top_k=20)
"""How graded answers are sampled (Engagement Process, appendix F)."""

RESAMPLES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """Under one budget.

    Attributes:
        success: Budgeted success: right and within the budget.
        accuracy: Right, whenever it came.
        on_time: Within the budget, right or not.
        tokens: Of an answer, mean.
        count: How many problems.
    """

    success: Estimate
    accuracy: Estimate
    on_time: Estimate
    tokens: Estimate
    count: int


def grade(player: Player, scenes: Sequence[Scene], *, seed: int, out: Path) -> None:
    """Play scenes once and write a row of each, whole or not at all.

    Args:
        player: Whose model is graded.
        scenes: The problems.
        seed: Of what is sampled.
        out: A file of JSON lines, a `TimelyRow` each.
    """
    tasks = [(scene, sampling_seed(seed, 0, scene.key, 0)) for scene in scenes]
    rows = [summarize(one.events) for one in player.play(tasks)]
    partial = out.with_suffix(".part")
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    partial.replace(out)


def read_rows(path: Path) -> list[TimelyRow]:
    """The rows of a grading."""
    return [msgspec.json.decode(one, type=TimelyRow) for one in path.read_bytes().splitlines()]


def by_budget(rows: Iterable[TimelyRow]) -> dict[str, Graded]:
    """What rows come to under each budget, the shortest first; failed episodes are left out."""
    groups: dict[int, list[TimelyRow]] = {}
    for row in rows:
        if row.status == "ok":
            groups.setdefault(row.budget_ns or 0, []).append(row)
    return {groups[ns][0].budget: _graded(groups[ns]) for ns in sorted(groups)}


def _graded(rows: Sequence[TimelyRow]) -> Graded:
    return Graded(
        success=_mean("success", [right_in_time(row) for row in rows]),
        accuracy=_mean("accuracy", [row.value for row in rows]),
        on_time=_mean("on time", [float(row.is_on_time) for row in rows]),
        tokens=_mean("tokens", [float(row.tokens) for row in rows]),
        count=len(rows),
    )


def _mean(name: str, values: Sequence[float]) -> Estimate:
    rng = child(0, "training", "bootstrap", name)
    return bootstrap_grand_mean([[[value] for value in values]], rng=rng, resamples=RESAMPLES)


def lengths(graded: Mapping[str, Graded]) -> dict[str, float]:
    """The mean tokens of an answer by budget."""
    return {budget: one.tokens.mean for budget, one in graded.items()}
