"""What is claimed, counted: who is best, whose length follows the budget, what one way would do."""

from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from timeful.training.quick.asked import Asked
from timeful.training.quick.scores import Score, Standing, graded, model_of, standings
from timeful.training.quick.stages import Stage

AWARE = "ep_aware"
LEAST = 0.05
"""The share of a model's answers that a way needs to say how often it is right."""


class OneWay(msgspec.Struct, frozen=True, kw_only=True):
    """What always answering in one way would come to, for a seed: the best of all ways.

    How often a way is right is taken from the model of the seed that is best at it, so that no
    policy that keeps to one way is underrated.
    """

    seed: int
    tokens: int
    accuracy: float
    success: float


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the claim over the seeds in which all models were graded.

    `best`, `follows` and `beats` are the seeds of which it holds: that the aware model has the best
    mean budgeted success, that its length follows the budget, that it beats the best single way.
    `others` counts for each other model in how many seeds its length follows.
    """

    aware: str
    seeds: tuple[int, ...]
    best: tuple[int, ...]
    follows: tuple[int, ...]
    beats: tuple[int, ...]
    others: dict[str, int]
    success: float
    one_way: float
    missing: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether it does, in every seed."""
        return self.seeds == self.best == self.follows == self.beats


def one_ways(asked: Asked, out: Path) -> list[OneWay]:
    """The best single way of each seed."""
    language = asked.recipe.language
    lengths = {language.length(stride) for stride in language.strides}
    shares = {n: fmean(n <= budget for budget in language.budgets) for n in lengths}
    right: dict[tuple[int, int], list[float]] = {}
    for _, rows, stage in graded(asked, out, exams=("grade",)):
        for tokens in lengths:
            told = [row.value for row in rows if row.status == "ok" and row.tokens == tokens]
            if told and len(told) >= LEAST * len(rows):
                right.setdefault((stage.seed, tokens), []).append(fmean(told))
    found = []
    for seed in asked.seeds:
        each = [
            OneWay(seed=seed, tokens=n, accuracy=max(all_of), success=max(all_of) * shares[n])
            for (whose, n), all_of in right.items()
            if whose == seed
        ]
        if each:
            found.append(max(each, key=lambda one: (one.success, -one.tokens)))
    return found


def verdict(asked: Asked, out: Path, scores: Sequence[Score]) -> Verdict | None:
    """Count; None if there is nothing to compare."""
    aware = next((arm.name for arm in asked.learnt if arm.reward == AWARE), None)
    if aware is None or asked.fractions:
        return None
    wanted = [stage for stage in asked.stages(out) if stage.kind == "grade"]
    names = list(dict.fromkeys(map(model_of, wanted)))
    by_seed = {
        seed: {one.model: one for one in standings(scores) if one.seed == seed}
        for seed in asked.seeds
    }
    seeds = tuple(seed for seed, found in by_seed.items() if len(found) == len(names))
    alone = {one.seed: one.success for one in one_ways(asked, out)}
    if not seeds:
        return None
    return Verdict(
        aware=aware,
        seeds=seeds,
        best=tuple(s for s in seeds if _best(by_seed[s]) == aware),
        follows=tuple(s for s in seeds if not by_seed[s][aware].alarm),
        beats=tuple(s for s in seeds if by_seed[s][aware].success > alone.get(s, 0.0)),
        others={
            name: sum(not by_seed[s][name].alarm for s in seeds) for name in names if name != aware
        },
        success=fmean(by_seed[s][aware].success for s in seeds),
        one_way=fmean(alone.get(s, 0.0) for s in seeds),
        missing=tuple(_missing(wanted)),
    )


def _best(found: dict[str, Standing]) -> str:
    return max(found.values(), key=lambda one: one.success).model


def _missing(wanted: Sequence[Stage]) -> list[str]:
    return [f"seed {one.seed}, {model_of(one)}" for one in wanted if not one.is_done]


def sentences(told: Verdict) -> list[str]:
    """The claim in words, as the numbers have it."""
    n = len(told.seeds)
    others = ", ".join(f"{name}: {count}" for name, count in told.others.items())
    said = [in_short(n, told.others, holds=told.holds)]
    said.append(
        f"{told.aware} has the best mean budgeted success in {len(told.best)} of {n} seeds, and "
        f"its length follows the budget in {len(told.follows)} of {n} ({others})."
    )
    said.append(
        f"It beats always answering in the best single way in {len(told.beats)} of {n} seeds: "
        f"{told.success:.3f} against {told.one_way:.3f}, each a mean over budgets and seeds."
    )
    if told.missing:
        said.append(f"Left out are seeds that lack a model: {'; '.join(told.missing)}.")
    return said


def in_short(seeds: int, others: Collection[str], *, holds: bool) -> str:
    """Whether a claim holds, of how many seeds and against whom: arms may have been left out."""
    how = "holds in each" if holds else "does not hold in each"
    return f"The claim {how} of the seeds ({seeds}), against {' and '.join(others) or 'nobody'}."
