"""What can be seen of the kitchen: dishes, problems, the stove, and what they have come to."""

from dataclasses import dataclass
from typing import Any, Literal

from timeful.core.units import NO_TIME, START, Duration, Instant
from timeful.environments.kitchen.settings import Dish, Problem, in_ticks

Stage = Literal["raw", "prepared", "staged", "signalled", "finished"]
Mode = Literal["kitchen", "tutor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DishView:
    """A dish as it is seen: when it will signal is nobody's to know.

    `signal` is when it did, and `quality`, once it is finished, 1 or 0.
    """

    name: str
    is_critical: bool
    prep: Duration
    finish: Duration
    window: Duration
    slack: Duration
    stage: Stage = "raw"
    signal: Instant | None = None
    quality: int | None = None

    @classmethod
    def of(cls, dish: Dish) -> "DishView":
        """A dish at the start."""
        return cls(
            name=dish.name,
            is_critical=dish.is_critical,
            prep=dish.prep,
            finish=dish.finish,
            window=dish.window,
            slack=dish.slack or NO_TIME,
        )

    @property
    def window_end(self) -> Instant:
        """The end of its ideal window, once it has signalled."""
        return (self.signal or START) + self.window

    @property
    def deadline(self) -> Instant:
        """Until when it counts, once it has signalled: for a soft dish, while it keeps warm."""
        return self.window_end + self.slack


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemView:
    """A problem, and how many of its tokens have been written."""

    name: str
    title: str
    brief: str
    length: int
    written: int = 0
    is_complete: bool = False

    @classmethod
    def of(cls, problem: Problem) -> "ProblemView":
        """A problem at the start."""
        return cls(
            name=problem.name, title=problem.title, brief=problem.brief, length=problem.length
        )

    @property
    def left(self) -> int:
        """How many tokens it still takes; 0 once it is complete."""
        return 0 if self.is_complete else max(self.length - self.written, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KitchenView:
    """All that can be seen, as it was at an instant: that of the latest event, or the start.

    Attributes:
        at: When.
        turn: How many events there have been.
        mode: Whether the cook was last busy with the kitchen or with tutoring.
        doing: The kitchen action that was under way, if any.
        stoves: How many slots the stove has.
        dishes: All dishes.
        problems: All problems.
        switches: How often the mode has changed.
        checks: How often the cook has checked.
    """

    at: Instant
    turn: int
    mode: Mode
    doing: str | None
    stoves: int
    dishes: tuple[DishView, ...]
    problems: tuple[ProblemView, ...]
    switches: int
    checks: int

    @property
    def free_slots(self) -> int:
        """How many slots of the stove are free."""
        return self.stoves - sum(dish.stage in ("staged", "signalled") for dish in self.dishes)

    @property
    def signalled(self) -> tuple[DishView, ...]:
        """The dishes that wait to be finished."""
        return tuple(dish for dish in self.dishes if dish.stage == "signalled")

    @property
    def open_problems(self) -> tuple[ProblemView, ...]:
        """The problems that are not complete."""
        return tuple(problem for problem in self.problems if not problem.is_complete)

    def text(self) -> str:
        """One line for each dish and each problem, times in ticks."""
        lines = [
            f"tick {in_ticks(self.at):g}: {self.doing or self.mode}, "
            f"{self.free_slots} of {self.stoves} slots free",
            *(_dish_line(dish) for dish in self.dishes),
            *(
                f"{problem.name} {problem.title}: "
                + ("complete" if problem.is_complete else f"{problem.written} of {problem.length}")
                for problem in self.problems
            ),
        ]
        return "\n".join(lines)

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values, times in nanoseconds."""
        return {
            "at": self.at,
            "mode": self.mode,
            "doing": self.doing,
            "free_slots": self.free_slots,
            "dishes": [
                {
                    "name": dish.name,
                    "kind": "critical" if dish.is_critical else "soft",
                    "stage": dish.stage,
                    "signal": dish.signal,
                    "deadline": None if dish.signal is None else dish.deadline,
                    "quality": dish.quality,
                }
                for dish in self.dishes
            ],
            "problems": [
                {"name": p.name, "written": p.written, "complete": p.is_complete}
                for p in self.problems
            ],
            "switches": self.switches,
            "checks": self.checks,
        }


def _dish_line(dish: DishView) -> str:
    kind = "critical" if dish.is_critical else "soft"
    line = f"{dish.name} {kind}: {dish.stage}"
    if dish.stage == "signalled":
        return f"{line}, due at {in_ticks(dish.deadline):g}"
    if dish.quality is not None:
        return f"{line}, {'in time' if dish.quality else 'too late'}"
    return line
