"""The settings of the embedded run; `recipes.toml` has their values."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from timeful.core.units import in_seconds
from timeful.errors import SettingsError, check_known
from timeful.training.tiny.language import Language
from timeful.training.tiny.settings import Phase, Shape

Split = Literal["train", "validation", "test"]

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


def find_recipe(name: str = "quick", *, timer: bool = False) -> Recipe:
    """A recipe of `recipes.toml` by its name.

    Args:
        name: How large it is.
        timer: Whether a timer is asked on the way.

    Raises:
        SettingsError: If there is none.
    """
    path = Path(__file__).with_name("recipes.toml")
    recipes = tomllib.loads(path.read_text(encoding="utf-8"))["timer" if timer else "plain"]
    check_known("recipe", name, recipes)
    return msgspec.convert(recipes[name], Recipe)
