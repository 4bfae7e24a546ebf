"""Tasks with deadlines as a world on the timeline: nobody is waited for.

To think is the agent's affair, and takes it time; the world sees answers, and the mode in which
each was thought of. Under an event-driven interface thinking eats up slack, which is EP in the
paper's tables; under a frozen one the world's time stands still, which is Step.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from timeful.core.units import START, Instant
from timeful.environments.deliberation.dynamics import (
    TIMED_OUT,
    draw_chances,
    draw_deadlines,
    outcome,
    reward_of,
)
from timeful.environments.deliberation.settings import DeliberationSettings
from timeful.environments.deliberation.view import DeliberationView, Outcome, Task
from timeful.environments.environment import Observation
from timeful.errors import IllegalActionError

_BECAME: tuple[Outcome, ...] = get_args(Outcome)[1:]
"""The outcomes in words, in the order of their numbers in the dynamics."""


def answer(task: int, mode: int) -> str:
    """The action that answers a task, from 1, after thinking in a mode, from 1: "3:5"."""
    return f"{task}:{mode}"


class Deliberation:
    """An `Environment` of tasks that are open from the start until their deadlines.

    Events are "answered", "expired" and "late": an answer to a task that has expired meanwhile.

    Args:
        settings: The tasks and the modes; their durations are the agent's to spend.
        rng: Draws the tasks of the one episode.
    """

    def __init__(self, settings: DeliberationSettings, rng: np.random.Generator) -> None:
        self._rules = settings.rules()
        deadlines = draw_deadlines(rng, self._rules)
        chances = draw_chances(rng, self._rules)
        self._luck = [float(luck) for luck in chances[:, 1]]
        self._given = tuple(
            Task(number=number, deadline=Instant(int(deadline)), difficulty=float(difficulty))
            for number, (deadline, difficulty) in enumerate(
                zip(deadlines, chances[:, 0], strict=True), start=1
            )
        )
        self._answers = {
            answer(task.number, mode + 1): (task.number - 1, mode)
            for task in self._given
            for mode in range(settings.modes)
        }
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        self._view = DeliberationView(at=START, turn=0, tasks=self._given)
        self._waiting: list[Observation] = []
        self._score = 0.0

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        """Answer tasks, in this order.

        Raises:
            IllegalActionError: If one of them is no answer, or the task had one before.
        """
        closed = {task.number for task in self._view.tasks if task.outcome in _BECAME[:2]}
        for action in actions:
            if action not in self._answers:
                raise IllegalActionError.named(action, self._answers)
            number = self._answers[action][0] + 1
            if number in closed:
                raise IllegalActionError(f"illegal action {action!r}; task {number} has an answer")
            closed.add(number)
        for action in actions:
            self._answer(action, at)

    def _answer(self, action: str, at: Instant) -> None:
        index, mode = self._answers[action]
        task = self._view.tasks[index]
        data = {"task": task.number, "mode": mode + 1}
        if task.outcome == "open":
            slack = task.deadline - at
            became = outcome(self._rules, mode, slack, task.difficulty, self._luck[index])
            self._happens("answered", at, index=index, became=became, data=data)
        else:
            self._view = replace(self._view, at=at, turn=self._view.turn + 1)
            self._waiting.append(Observation(at=at, event="late", view=self._view, data=data))

    def _happens(
        self, event: str, at: Instant, *, index: int, became: int, data: dict[str, int]
    ) -> None:
        tasks = list(self._view.tasks)
        tasks[index] = replace(tasks[index], outcome=_BECAME[became])
        self._view = DeliberationView(at=at, turn=self._view.turn + 1, tasks=tuple(tasks))
        reward = reward_of(self._rules, became)
        self._score += reward
        self._waiting.append(
            Observation(at=at, event=event, view=self._view, reward=reward, data=data)
        )

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Give out what answers came to, and let tasks expire."""
        while (task := self._view.next_open) is not None and task.deadline <= to:
            data = {"task": task.number}
            self._happens(
                "expired", task.deadline, index=task.number - 1, became=TIMED_OUT, data=data
            )
        observations, self._waiting = tuple(self._waiting), []
        return observations

    def next_change(self) -> Instant | None:
        """Now, if an answer was given; else the next deadline; None when all is done."""
        if self._waiting:
            return self._waiting[0].at
        task = self._view.next_open
        return None if task is None else task.deadline

    def view(self) -> DeliberationView:
        """All tasks as they are."""
        return self._view

    @property
    def next_tick(self) -> None:
        """Nobody knows when the world changes next: a task that is answered does not expire."""
        return

    @property
    def busy(self) -> bool:
        """Never: an answer takes no time, only finding it does."""
        return False

    @property
    def score(self) -> float:
        """The return so far."""
        return self._score
