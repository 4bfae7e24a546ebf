"""The cases of the kitchen experiments, drawn from the published ranges.

Engagement Process, appendix E, "One-dish setting" and "Multi-dish setting". The paper leaves open
which families background dishes come from, and how two signals can follow each other within a
few ticks; see `_follow`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from timeful.core.units import NO_TIME, Duration
from timeful.environments.kitchen.settings import Case, Dish, Problem, ticks
from timeful.errors import SettingsError, check_range
from timeful.seeding import child

Range = tuple[int, int]
"""Whole ticks or tokens, both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DishFamily:
    """The ranges of a family of dishes, in ticks; `slack` is None if they are critical."""

    prep: Range
    offset: Range
    finish: Range
    window: Range
    slack: Range | None = None


DISHES = {
    "critical_narrow": DishFamily(prep=(10, 16), offset=(140, 240), finish=(6, 9), window=(20, 28)),
    "critical_medium": DishFamily(
        prep=(12, 18), offset=(190, 320), finish=(7, 10), window=(30, 48)
    ),
    "critical_wide": DishFamily(prep=(16, 24), offset=(280, 520), finish=(8, 12), window=(60, 100)),
    "soft_keepwarm": DishFamily(
        prep=(12, 18), offset=(140, 280), finish=(12, 18), window=(16, 28), slack=(220, 380)
    ),
}

PROBLEMS: dict[str, Range] = {
    "xs": (80, 100),
    "short": (120, 200),
    "medium": (220, 380),
    "long": (520, 900),
}

ONE_DISH_SEEDS = (7, 11, 17, 23)
MULTI_DISH_SEEDS = (7, 11)
STRUCTURES = 2
"""Randomized structures for each cell of the one-dish setting."""

CASE_FAMILIES = ("resume_pressure", "soft_vs_critical_conflict", "staggered_criticals")

_TEXTS = (
    ("Fractions", "Why dividing by a fraction is multiplying by its reciprocal."),
    ("Quadratic equations", "How completing the square leads to the quadratic formula."),
    ("Slope", "What the slope of a line says, and how two points determine it."),
    ("Primes", "Why there is no largest prime number."),
    ("Pythagoras", "Why the squares over the legs add up to the square over the hypotenuse."),
    ("Percentages", "Why a rise by ten percent and a fall by ten percent do not cancel."),
    ("Logarithms", "How logarithms turn products into sums."),
    ("Probability", "How likely it is that two dice add up to seven."),
    ("Sequences", "How to sum the first hundred whole numbers without adding each."),
    ("Derivatives", "Why the derivative of a square is twice its side."),
)

_PAIRS = {"soft_vs_critical_conflict": (8, 28), "staggered_criticals": (10, 35)}
"""How many ticks the second signal of a pair comes after the first."""

_ANCHORS = {
    "soft_vs_critical_conflict": ("short", "long"),
    "staggered_criticals": ("medium", "long"),
    "resume_pressure": ("long", "medium"),
}

_BACKGROUND = ("soft_keepwarm", "critical_wide")
_URGENT = ("critical_narrow", "critical_medium")

_CALL = 12
"""What a controller's call is taken to cost where one signal is laid after another, in ticks."""


def one_dish_cases(
    *, sample: int = 0, seeds: Sequence[int] = ONE_DISH_SEEDS, structures: int = STRUCTURES
) -> list[Case]:
    """One dish, one problem, one slot: 4 dish families x 4 lengths x structures x seeds.

    Args:
        sample: Which set of draws, from 0; another one is a fresh set of cases like these.
        seeds: The seeds of a set; four in the paper.
        structures: Draws for each family, length and seed, at least 1; two in the paper.

    Raises:
        SettingsError: If a number is too small, or a seed is given twice.
    """
    _check(sample, seeds)
    check_range("the number of structures", structures, least=1)
    cases = []
    for family, length, structure, seed in product(DISHES, PROBLEMS, range(structures), seeds):
        rng = child(seed, "kitchen", "one-dish", sample, family, length, structure)
        cases.append(
            Case(
                name=f"{family}-{length}-{structure}-seed{seed}",
                family=family,
                dishes=(_dish(rng, "D1", family),),
                problems=_problems(rng, (length,)),
                stoves=1,
            )
        )
    return cases


def multi_dish_cases(*, sample: int = 0, seeds: Sequence[int] = MULTI_DISH_SEEDS) -> list[Case]:
    """3 to 5 dishes x 2 or 3 problems x 1 or 2 slots x 3 case families x seeds.

    Args:
        sample: Which set of draws, from 0; another one is a fresh set of cases like these.
        seeds: The seeds of a set; two in the paper.

    Raises:
        SettingsError: If a number is too small, or a seed is given twice.
    """
    _check(sample, seeds)
    return [
        multi_dish_case(
            family=family, dishes=dishes, problems=problems, stoves=stoves, seed=seed, sample=sample
        )
        for dishes, problems, stoves, family, seed in product(
            (3, 4, 5), (2, 3), (1, 2), CASE_FAMILIES, seeds
        )
    ]


def multi_dish_case(
    *, family: str, dishes: int, problems: int, stoves: int, seed: int, sample: int = 0
) -> Case:
    """One case of a family; at least 3 dishes and 2 problems."""
    rng = child(seed, "kitchen", "multi-dish", sample, family, dishes, problems, stoves)
    lengths = (*_ANCHORS[family], *(str(rng.choice(list(PROBLEMS))) for _ in range(problems - 2)))
    return Case(
        name=f"{family}-{dishes}d{problems}q{stoves}s-seed{seed}",
        family=family,
        dishes=_menu(rng, family, dishes, stoves),
        problems=_problems(rng, lengths),
        stoves=stoves,
    )


def _check(sample: int, seeds: Sequence[int]) -> None:
    check_range("sample", sample, least=0)
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingsError(f"give each seed once, and one at least: {tuple(seeds)}")


def _menu(rng: np.random.Generator, family: str, count: int, stoves: int) -> tuple[Dish, ...]:
    if family == "resume_pressure":
        kinds = ["critical_narrow", "soft_keepwarm", "critical_medium"]
    elif family == "staggered_criticals":
        kinds = [str(rng.choice(_URGENT)), str(rng.choice(_URGENT))]
    else:
        kinds = ["soft_keepwarm", str(rng.choice(_URGENT))]
    kinds += [str(rng.choice(_BACKGROUND)) for _ in range(count - len(kinds))]
    menu = [_dish(rng, f"D{number}", kind) for number, kind in enumerate(kinds, start=1)]
    if family in _PAIRS:
        gap = ticks(_draw(rng, _PAIRS[family]))
        if stoves > 1:
            menu[1] = _follow(menu[0], menu[1], gap)
    return tuple(menu)


def _follow(first: Dish, second: Dish, gap: Duration) -> Dish:
    """Let the second signal come a gap after the first.

    It can only if both are on the stove at once, the second staged after its preparation and two
    more calls; with one slot, its offset stays as drawn.
    """
    staged = second.prep + ticks(2 * _CALL)
    return replace(second, offset=max(first.offset + gap - staged, NO_TIME))


def _dish(rng: np.random.Generator, name: str, family: str) -> Dish:
    ranges = DISHES[family]
    prep, offset, finish, window = (
        ticks(_draw(rng, of)) for of in (ranges.prep, ranges.offset, ranges.finish, ranges.window)
    )
    return Dish(
        name=name,
        family=family,
        prep=prep,
        offset=offset,
        finish=finish,
        window=window,
        slack=None if ranges.slack is None else ticks(_draw(rng, ranges.slack)),
        is_whistle=ranges.slack is None,
    )


def _problems(rng: np.random.Generator, lengths: Sequence[str]) -> tuple[Problem, ...]:
    texts = rng.permutation(len(_TEXTS))
    return tuple(
        Problem(
            name=f"Q{number}",
            family=family,
            title=_TEXTS[texts[number - 1]][0],
            brief=_TEXTS[texts[number - 1]][1],
            length=_draw(rng, PROBLEMS[family]),
        )
        for number, family in enumerate(lengths, start=1)
    )


def _draw(rng: np.random.Generator, of: Range) -> int:
    return int(rng.integers(of[0], of[1], endpoint=True))
