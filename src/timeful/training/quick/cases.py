"""Problems of the embedded run: drawn by a seed, divided by a hash of their words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, product
from pathlib import Path

import numpy as np

from timeful.core.units import Duration
from timeful.environments.reasoning.levels import Course, draw
from timeful.environments.reasoning.split import SHARES, Split, split_of
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.models.model_spec import ModelSpec
from timeful.models.role import ModelRole
from timeful.seeding import child
from timeful.tasks.budgets import NO_LIMIT, Budget, read_budget
from timeful.tasks.episode import SharedSettings, TaskEpisode, TaskSource
from timeful.tasks.library import process_library
from timeful.training.quick.recipe import Recipe
from timeful.training.rollout_tasks import TimelyTask

TRUE = TimerSettings()


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget as tables write it, how long it is, and on which device."""

    budget: Budget
    span: Duration | None
    alpha: float = 1.0


UNHURRIED = Limit(NO_LIMIT, None)


def lessons(recipe: Recipe, rng: np.random.Generator) -> Iterator[Course]:
    """An endless sequence of problems of the training split."""
    while True:
        course = draw(rng, recipe.language.events)
        if split_of(course.question) == "train":
            yield course


def in_turn(recipe: Recipe, count: int) -> list[Limit]:
    """The steps of the budget in turn; with devices, the rooms in turn on each device."""
    language = recipe.language
    steps = []
    for alpha, room in product(language.devices, language.allowed):
        step = read_budget(recipe.budget(int(room * alpha)))
        steps.append(Limit(step, step.span(None), alpha))
    return list(islice(cycle(steps), count))


def relative(recipe: Recipe, tokens: Sequence[int], factors: Sequence[float]) -> list[Limit]:
    """Multiples of the time of each problem without a budget, in turn, each cut to a budget step.

    Without a timer the model has words for these steps only. With a timer nothing is cut, and
    problems have the devices in turn.

    Args:
        recipe: The settings.
        tokens: The tokens of each problem without a budget.
        factors: The multiples.
    """
    language, limits = recipe.language, list[Limit]()
    for took, factor, alpha in zip(tokens, cycle(factors), cycle(language.devices), strict=False):
        if language.opening:
            span = Duration(round(factor * took * alpha * language.pace.per_token))
        else:
            span = language.pace(language.reached(int(factor * took)))
        limits.append(Limit(Budget("times", factor), span, alpha))
    return limits


def scenes(
    recipe: Recipe,
    split: Split,
    limits: Sequence[Limit],
    *,
    model: Path,
    seed: int,
    cap: int,
    timer: TimerSettings = TRUE,
) -> list[TimelyTask]:
    """Different problems, one for each limit; equal numbers of limits have the same problems.

    Args:
        recipe: The settings.
        split: The split of the problems.
        limits: The time for each.
        model: The checkpoint, as records name it.
        seed: The seed of the problems.
        cap: The most tokens of a thought.
        timer: The settings of the timer.
    """
    share: float = getattr(SHARES, split)
    count = len(limits)
    # More than enough are made: a split is practically never 40 % below its share.
    source = TaskSource(
        sets=(f"levels:{recipe.language.events}",), size=round(count / share * 1.4) + 200
    )
    world = child_of_split(seed, split)
    problems = process_library().problems(source, world)
    names = [name for name, problem in problems.items() if split_of(problem.question) == split]
    assert len(names) >= count, f"{len(names)} problems for {split}, and {count} are needed"
    rig = SharedSettings(
        source=source,
        is_soft=True,
        most_tokens=cap,
        pace=recipe.language.pace,
        seed=world,
        timer=timer,
    )
    rigs = {alpha: replace(rig, alpha=alpha) for alpha in {limit.alpha for limit in limits}}
    voice = ModelRole(stand_in="policy", choice=ModelSpec(spec=f"local:{model}"))
    return [
        TimelyTask(
            TaskEpisode(
                family="reasoning",
                case=name,
                role=voice,
                run=0,
                latency="none",
                shared=rigs[limit.alpha],
                budget=limit.budget,
                span=limit.span,
            )
        )
        for name, limit in zip(names, limits, strict=False)
    ]


def child_of_split(seed: int, split: Split) -> int:
    """The seed of the problems of a split."""
    return int(child(seed, "problems", split).integers(0, 2**31))
