"""A kitchen at an instant: all that it shows, and what it hides (when dishes will signal)."""

from dataclasses import dataclass, replace
from typing import Any

from timeful.core.units import Instant
from timeful.environments.kitchen.actions import Action
from timeful.environments.kitchen.view import DishView, KitchenView, ProblemView
from timeful.errors import IllegalActionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """An action under way; one that takes no time ends at the instant at which it began."""

    action: Action
    start: Instant
    end: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """A problem that the world writes on by itself, and until when."""

    problem: str
    since: Instant
    until: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A kitchen at an instant.

    `view` is what can be seen, `rings` when each dish on the stove will signal, in the order of
    the dishes, and `timer` when a wait is over; `earned` is the reward without costs.
    """

    view: KitchenView
    rings: tuple[Instant | None, ...]
    activity: Doing | None = None
    writing: Writing | None = None
    timer: Instant | None = None
    earned: float = 0.0
    is_over: bool = False

    @property
    def is_anything_to_come(self) -> bool:
        """Whether a dish will signal, or a problem that writes itself will be complete."""
        return any(ring is not None for ring in self.rings) or self.writing is not None

    def dish(self, name: str) -> DishView:
        """A dish by its name.

        Raises:
            IllegalActionError: If there is none.
        """
        for dish in self.view.dishes:
            if dish.name == name:
                return dish
        raise IllegalActionError.named(name, (dish.name for dish in self.view.dishes))

    def problem(self, name: str) -> ProblemView:
        """A problem by its name.

        Raises:
            IllegalActionError: If there is none.
        """
        for problem in self.view.problems:
            if problem.name == name:
                return problem
        raise IllegalActionError.named(name, (problem.name for problem in self.view.problems))

    def progress(self, name: str) -> dict[str, Any]:
        """How far a problem has come, for the record."""
        problem = self.problem(name)
        return {"problem": name, "written": problem.written, "complete": problem.is_complete}

    def after(self, at: Instant) -> "State":
        """The same with one more event, at an instant."""
        return replace(self, view=replace(self.view, at=at, turn=self.view.turn + 1))

    def with_dish(self, dish: DishView) -> "State":
        """The same with another state of a dish."""
        dishes = tuple(dish if old.name == dish.name else old for old in self.view.dishes)
        return replace(self, view=replace(self.view, dishes=dishes))

    def with_problem(self, problem: ProblemView) -> "State":
        """The same with another state of a problem."""
        problems = [problem if old.name == problem.name else old for old in self.view.problems]
        return replace(self, view=replace(self.view, problems=tuple(problems)))

    def written_on(self, name: str, count: int) -> "State":
        """The same with so many more tokens of a problem."""
        problem = self.problem(name)
        return self.with_problem(replace(problem, written=problem.written + count))
