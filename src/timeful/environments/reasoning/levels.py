"""Exercises with a level between a floor and a ceiling, which rises and falls event by event.

What the floor and the ceiling swallow depends on the way, so that several events cannot be added
up: whoever does them in one step must know more than whoever does them one by one. Now and then
the tank is turned upside down, after which what came before counts the other way round: without
that, a small model can learn to answer most problems at once. This is the task by which such models
learn to be on time (`training/tiny/`).
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from timeful.environments.reasoning.exercise import Exercise

TOP = 9
TURN = 0
"""The event that turns the tank upside down."""

TURNS = 0.025
"""How probable a turn is; of 0.08, no model of a hundred thousand weights learnt more than to guess
who did not go event by event."""

SIGNS = {1: "+", -1: "-", TURN: "!"}


@dataclass(frozen=True, slots=True)
class Course:
    """A problem.

    Attributes:
        start: The level at the beginning, from 0 to `top`.
        events: What happens: +1, -1 or `TURN` each.
        top: The ceiling; the floor is 0.
    """

    start: int
    events: tuple[int, ...]
    top: int = TOP

    @property
    def levels(self) -> tuple[int, ...]:
        """The level after each event."""
        return tuple(accumulate(self.events, self._after, initial=self.start))[1:]

    def _after(self, level: int, event: int) -> int:
        return self.top - level if event == TURN else min(max(level + event, 0), self.top)

    @property
    def question(self) -> str:
        """It in words."""
        signs = " ".join(SIGNS[event] for event in self.events)
        return (
            f"The level of a tank starts at {self.start}. A + raises it by 1 and a - lowers it by "
            f"1, but it is never above {self.top} and never below 0: what goes beyond is lost. "
            f"A ! turns the tank over, so that a level L becomes {self.top} - L. "
            f"What is the level in the end, after {signs} ?"
        )


def draw(rng: np.random.Generator, events: int) -> Course:
    """Draw a problem: any start as probable as another, and ups as probable as downs."""
    signs = rng.choice((1, -1, TURN), size=events, p=((1 - TURNS) / 2, (1 - TURNS) / 2, TURNS))
    return Course(int(rng.integers(0, TOP + 1)), tuple(int(sign) for sign in signs))


def levels(rng: np.random.Generator, terms: int) -> Exercise:
    """The level after so many events, worked out event by event."""
    course = draw(rng, terms)
    before = (course.start, *course.levels)
    return Exercise(
        question=course.question,
        answer=str(before[-1]),
        worked=tuple(
            _step(i, event, before[i - 1], before[i]) for i, event in enumerate(course.events, 1)
        ),
    )


def _step(number: int, event: int, before: int, after: int) -> str:
    if event == TURN:
        done = f"{TOP} - {before} = {after}"
    elif before == after:
        done = f"nothing, it stays at {after}"
    else:
        done = f"{before} {SIGNS[event]} 1 = {after}"
    return f"Event {number} is {SIGNS[event]}: {done}."
