"""The settings of the embedded run, as data.

Choices were made on other seeds and problems than those of the tables (docs/experiments.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from timeful.core.units import in_seconds, milliseconds
from timeful.errors import SettingsError, check_known
from timeful.models.pace import Pace
from timeful.training.tiny.language import Language
from timeful.training.tiny.settings import Phase, Shape

Split = Literal["train", "validation", "test"]

PACE = Pace(per_token=milliseconds(100))
"""What a token costs: budgets are told with two decimals of a second, and must differ in them."""

BASE = "base"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What is learnt from the common start.

    Attributes:
        name: What tables call it.
        reward: A name of `timeful.rewards`.
        cap: The most tokens of a thought while it learns.
        is_relative: Whether its budgets are multiples of the time that the cold start takes for
            each problem by itself, unhurried.
    """

    name: str
    reward: str
    cap: int
    is_relative: bool = False

    @property
    def folder(self) -> str:
        """Its name as that of a folder."""
        return self.name.replace(", ", "-").replace(" ", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A whole run.

    Attributes:
        language: Problems and budgets.
        shape: The decoder.
        phases: The cold start.
        arms: What is learnt from it, each by itself.
        updates: Of each arm.
        rate: The learning rate.
        entropy: The weight of the entropy bonus.
        cases: Problems of an update; each has one budget, all budgets (and devices) as often as
            each other.
        samples: Episodes of a problem: a group.
        problems: How many are graded under each budget.
        exam: On which side they are; "validation" for whoever chooses a recipe.
        limit: The most tokens of a graded answer: more than anything needs.
        seeds: The seeds of the table, none of which was used in choosing.
        save_every: Updates between two checkpoints.
        factors: The multiples for relative budgets, the one of the table first.
        lies: What timers that are wrong multiply the time by, where there is a timer.
    """

    language: Language
    shape: Shape
    phases: tuple[Phase, ...]
    arms: tuple[Arm, ...]
    updates: int
    rate: float
    entropy: float
    cases: int = 16
    samples: int = 8
    problems: int = 300
    exam: Split = "test"
    limit: int = 64
    seeds: tuple[int, ...]
    save_every: int = 20
    factors: tuple[float, ...] = (0.75, 1.0, 2.0, 3.0)
    lies: tuple[float, ...] = (0.5, 2.0)

    def budget(self, tokens: int) -> str:
        """A budget of so many tokens as Timely-Eval writes it."""
        return f"{in_seconds(self.language.pace(tokens)):g}s"

    def with_follow(self, share: float) -> "Recipe":
        """The same with another cold start fraction, where there was one."""
        if not any(phase.follow for phase in self.phases):
            raise SettingsError("this recipe hands out no sense of time that could be changed")
        return replace(
            self,
            phases=tuple(replace(p, follow=share) if p.follow else p for p in self.phases),
        )


_LANGUAGE = Language(
    levels=10, events=24, strides=(24, 4, 2, 1, 0), budgets=(4, 8, 16, 32), pace=PACE
)

QUICK = Recipe(
    language=_LANGUAGE,
    shape=Shape(width=64, layers=2, heads=4),
    phases=(
        Phase(steps=1200, batch=32, rate=4e-3, floor=0.03, mix=(1, 4, 3, 2.5, 2), follow=0.2),
        Phase(steps=80, batch=64, rate=1e-3, floor=0.1, mix=(1, 1, 1, 1, 3), follow=0.2),
    ),
    arms=(
        Arm(name="correct, long cap", reward="correctness", cap=64),
        Arm(name="correct, short cap", reward="correctness", cap=32),
        Arm(name="EP-aware", reward="ep_aware", cap=32),
        Arm(name="Timely-RL", reward="timely", cap=32, is_relative=True),
    ),
    updates=100,
    rate=3e-4,
    entropy=0.01,
    seeds=(11, 12, 13, 14, 15),
)
"""docs/experiments.md has what was tried before, and on which seeds."""

SMOKE = Recipe(
    language=Language(levels=10, events=6, strides=(6, 2, 0), budgets=(4, 8), pace=PACE),
    shape=Shape(width=16, layers=1, heads=1, context=64),
    phases=(Phase(steps=6, batch=16, rate=1e-2, floor=1.0, mix=(1, 1, 1), follow=0.25),),
    arms=(
        Arm(name="correct, long cap", reward="correctness", cap=16),
        Arm(name="EP-aware", reward="ep_aware", cap=8),
        Arm(name="Timely-RL", reward="timely", cap=8, is_relative=True),
    ),
    updates=3,
    rate=3e-3,
    entropy=0.01,
    cases=4,
    samples=4,
    problems=6,
    limit=16,
    seeds=(1, 2),
    save_every=1,
    factors=(0.75, 2.0),
)
"""All parts in seconds, for tests: nothing is learnt."""

TIMER = Recipe(
    language=Language(
        levels=10,
        events=24,
        strides=(20, 4, 2, 1, 0),
        budgets=(5, 7, 10, 14, 20, 28, 40, 56, 112),
        pace=PACE,
        opening=4,
        rooms=(10, 14, 20, 28, 56),
        devices=(0.5, 1.0, 2.0),
    ),
    shape=Shape(width=64, layers=2, heads=4),
    phases=(
        Phase(
            steps=1200, batch=32, rate=4e-3, floor=0.03, mix=(1, 4, 3, 2.5, 2), follow=0.2, asks=0.7
        ),
        Phase(steps=80, batch=64, rate=1e-3, floor=0.1, mix=(1, 1, 1, 1, 3), follow=0.2, asks=0.7),
    ),
    arms=(
        Arm(name="GRPO", reward="correctness", cap=64),
        Arm(name="Timely-RL", reward="timely", cap=64),
    ),
    updates=100,
    rate=3e-4,
    entropy=0.01,
    cases=15,
    seeds=(11, 12, 13, 14, 15),
)
"""With a timer on the way: each way after the opening is the longest that a room has room for."""

TIMER_SMOKE = Recipe(
    language=Language(
        levels=10,
        events=6,
        strides=(4, 1, 0),
        budgets=(5, 7, 10, 14, 20, 28),
        pace=PACE,
        opening=2,
        rooms=(10, 14),
        devices=(0.5, 1.0, 2.0),
    ),
    shape=Shape(width=16, layers=1, heads=1, context=64),
    phases=(Phase(steps=6, batch=16, rate=1e-2, floor=1.0, mix=(1, 1, 1), follow=0.25, asks=0.7),),
    arms=(
        Arm(name="GRPO", reward="correctness", cap=16),
        Arm(name="Timely-RL", reward="timely", cap=16),
    ),
    updates=3,
    rate=3e-3,
    entropy=0.01,
    cases=6,
    samples=4,
    problems=6,
    limit=16,
    seeds=(1, 2),
    save_every=1,
    factors=(0.75, 2.0),
)

RECIPES: Mapping[str, Recipe] = {"quick": QUICK, "smoke": SMOKE}
TIMERS: Mapping[str, Recipe] = {"quick": TIMER, "smoke": TIMER_SMOKE}
"""The same with a timer on the way."""


def find_recipe(name: str, *, timer: bool = False) -> Recipe:
    """A recipe by its name.

    Args:
        name: How large it is.
        timer: Whether a timer is asked on the way.

    Raises:
        SettingsError: If there is none.
    """
    check_known("recipe", name, RECIPES)
    return (TIMERS if timer else RECIPES)[name]
