"""Is AgileThinker better than one paradigm alone? Paired tests over game seeds.

Real-Time Reasoning Gym, App. C.2 and Figure 8: for each condition, pairs share the game seed,
each score is the mean over that seed's samples, and H1 says that the mean difference is positive.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from timeful.metrics.statistics import paired_t_test, permutation_test
from timeful.seeding import child
from timeful.suites.realtime.cells import Cell, clusters_of
from timeful.suites.realtime.conditions import Condition, Experiment

BETTER = "agile"
BASELINES = ("reactive", "planning")
ALPHA = 0.05
"""The level of significance (App. C.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One condition's paired tests; a p is None where its test is undefined.

    `difference` is the mean of the paired differences of normalised scores, and `pairs` how
    many game seeds have both. `is_copies` marks pairs whose game seeds are one and the same game
    (Overcooked in compat mode ignores its seed): such pairs are not independent games, and p
    speaks of sampling noise only.
    """

    experiment: Experiment
    condition: Condition
    method: str
    baseline: str
    """The agent that AgileThinker is compared with."""
    difference: float
    pairs: int
    p_t: float | None
    p_permutation: float | None
    stand_in: bool
    is_copies: bool


def compare(cells: Iterable[Cell]) -> list[Comparison]:
    """Compare AgileThinker with each single paradigm, wherever both were run.

    Variants are compared within one mode; with several models, the baseline of the same model
    is taken, or the only one there is.
    """
    run = [cell for cell in cells if cell.rows and cell.score is not None]
    comparisons = []
    for cell in run:
        if cell.agent == BETTER:
            for baseline in BASELINES:
                other = _partner(cell, baseline, run)
                comparison = _compare(cell, other) if other else None
                if comparison:
                    comparisons.append(comparison)
    return comparisons


def _partner(cell: Cell, baseline: str, run: Iterable[Cell]) -> Cell | None:
    """The baseline's cell that belongs beside AgileThinker's."""
    here = [
        other
        for other in run
        if other.agent == baseline
        and (other.experiment, other.condition) == (cell.experiment, cell.condition)
        and other.rows[0].mode == cell.rows[0].mode
    ]
    same = [other for other in here if other.rows[0].model == cell.rows[0].model]
    if same:
        return same[0]
    return here[0] if len(here) == 1 else None


def _compare(cell: Cell, other: Cell) -> Comparison | None:
    """Test one pair of cells; None if they share no game seed."""
    first, second = clusters_of(cell.rows), clusters_of(other.rows)
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    ours = [sum(first[seed]) / len(first[seed]) for seed in shared]
    theirs = [sum(second[seed]) / len(second[seed]) for seed in shared]
    rng = child(0, "permutation", cell.condition.text, cell.method, other.method)
    t_test, flips = paired_t_test(ours, theirs), permutation_test(ours, theirs, rng=rng)
    row = cell.rows[0]
    is_copies = row.game == "overcooked" and row.mode == "compat"
    return Comparison(
        experiment=cell.experiment,
        condition=cell.condition,
        method=f"{cell.method} vs {other.method}",
        baseline=other.agent,
        difference=sum(ours) / len(ours) - sum(theirs) / len(theirs),
        pairs=len(shared),
        p_t=t_test.p,
        # Copies without noise are one pair told several times: no number of them is evidence.
        p_permutation=None if is_copies and t_test.p is None else flips.p,
        stand_in=bool(cell.stand_in or other.stand_in),
        is_copies=is_copies,
    )
