"""Problems of the embedded run: drawn by a seed, divided by a hash of their words."""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from timeful.core.units import Duration
from timeful.environments.reasoning.levels import Course, draw
from timeful.environments.reasoning.split import SHARES, Split, split_of
from timeful.models.choice import ModelChoice
from timeful.seeding import child
from timeful.suites.timely.budgets import NO_LIMIT, Budget, read_budget
from timeful.suites.timely.families import problems
from timeful.suites.timely.spec import Rig, Source, TimelySpec
from timeful.suites.voices import Voice
from timeful.training.quick.recipe import Recipe
from timeful.training.scenes import TimelyScene

Limit = tuple[Budget, Duration | None]
"""A budget as tables write it, and how long it is."""

UNHURRIED: Limit = (NO_LIMIT, None)


def lessons(recipe: Recipe, rng: np.random.Generator) -> Iterator[Course]:
    """Problems to be taught by, without end; none of them is for choosing or for the table."""
    while True:
        course = draw(rng, recipe.language.events)
        if split_of(course.question) == "train":
            yield course


def in_turn(recipe: Recipe, count: int) -> list[Limit]:
    """The steps of the budget in turn."""
    steps = [read_budget(recipe.budget(tokens)) for tokens in recipe.language.budgets]
    return [(step, step.span(None)) for step in islice(cycle(steps), count)]


def relative(recipe: Recipe, tokens: Sequence[int], factors: Sequence[float]) -> list[Limit]:
    """Multiples of what each problem took unhurried, in turn, each cut to a step of the budget.

    The model has words for these steps only: it could not know of more.

    Args:
        recipe: Whose steps.
        tokens: What each took.
        factors: The multiples.
    """
    found: list[Limit] = []
    for took, factor in zip(tokens, cycle(factors), strict=False):
        step = recipe.language.reached(int(factor * took))
        found.append((Budget("times", factor), recipe.language.pace(step)))
    return found


def scenes(
    recipe: Recipe,
    split: Split,
    limits: Sequence[Limit],
    *,
    model: Path,
    seed: int,
    cap: int,
) -> list[TimelyScene]:
    """Different problems, one for each limit; as many limits have the same problems.

    Args:
        recipe: Which problems.
        split: On which side.
        limits: The time for each.
        model: The checkpoint, as records name who acted.
        seed: Of the problems.
        cap: The most tokens of a thought.
    """
    share: float = getattr(SHARES, split)
    count = len(limits)
    # More than enough are made: what falls on a side is as good as never 40 % below its share.
    source = Source(
        sets=(f"levels:{recipe.language.events}",), size=round(count / share * 1.4) + 200
    )
    world = child_of_split(seed, split)
    known = problems(source.sets, source, world)
    names = [name for name, one in known.items() if split_of(one.question) == split]
    assert len(names) >= count, f"{len(names)} problems for {split}, and {count} are needed"
    rig = Rig(source=source, is_soft=True, most_tokens=cap, pace=recipe.language.pace, seed=world)
    voice = Voice(stand_in="policy", choice=ModelChoice(spec=f"local:{model}"))
    return [
        TimelyScene(
            TimelySpec(
                family="reasoning",
                case=name,
                voice=voice,
                run=0,
                latency="none",
                rig=rig,
                budget=budget,
                span=span,
            )
        )
        for name, (budget, span) in zip(names, limits, strict=False)
    ]


def child_of_split(seed: int, split: Split) -> int:
    """The seed of the problems of a side."""
    return int(child(seed, "problems", split).integers(0, 2**31))
