"""What can be seen of a deliberation world: its tasks, and what has become of them."""

from dataclasses import dataclass
from typing import Any, Literal

from timeful.core.units import Duration, Instant, in_seconds

Outcome = Literal["open", "failed", "succeeded", "timed out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task by its number, from 1; `difficulty` lies between 0 and 1."""

    number: int
    deadline: Instant
    difficulty: float
    outcome: Outcome = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliberationView:
    """All tasks, as they were at an instant: that of the latest event, or the start."""

    at: Instant
    turn: int
    tasks: tuple[Task, ...]

    @property
    def next_open(self) -> Task | None:
        """The first task that has not been answered and has not expired."""
        return next((task for task in self.tasks if task.outcome == "open"), None)

    def slack(self, task: Task) -> Duration:
        """How long there is until the deadline of an open task."""
        return task.deadline - self.at

    def text(self) -> str:
        """One line for each task."""
        lines = [f"{in_seconds(self.at):.1f} s"]
        lines += [
            f"task {task.number}: due at {in_seconds(task.deadline):.1f} s, "
            f"difficulty {task.difficulty:.2f}, {task.outcome}"
            for task in self.tasks
        ]
        return "\n".join(lines)

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values, times in nanoseconds."""
        return {
            "at": self.at,
            "tasks": [
                {
                    "number": task.number,
                    "deadline": task.deadline,
                    "difficulty": task.difficulty,
                    "outcome": task.outcome,
                }
                for task in self.tasks
            ],
        }
