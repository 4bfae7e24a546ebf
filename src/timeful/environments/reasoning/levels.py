"""Exercises with a level between a floor and a ceiling, which rises and falls event by event.

What the floor and the ceiling swallow depends on the way, so that several events cannot be added
up: whoever does them in one step must know more than whoever does them one by one. This is the
task by which small models learn to be on time (`training/tiny/`).
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from timeful.environments.reasoning.exercise import Exercise

TOP = 9


@dataclass(frozen=True, slots=True)
class Course:
    """A problem.

    Attributes:
        start: The level at the beginning, from 0 to `top`.
        events: What happens, +1 or -1 each.
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
        return min(max(level + event, 0), self.top)

    @property
    def question(self) -> str:
        """It in words."""
        signs = " ".join("+" if one > 0 else "-" for one in self.events)
        return (
            f"The level of a tank starts at {self.start}. A + raises it by 1 and a - lowers it by "
            f"1, but it is never above {self.top} and never below 0: what goes beyond is lost. "
            f"What is the level in the end, after {signs} ?"
        )


def draw(rng: np.random.Generator, events: int) -> Course:
    """Draw a problem: a start and events that are all as probable as each other."""
    signs = rng.integers(0, 2, size=events) * 2 - 1
    return Course(int(rng.integers(0, TOP + 1)), tuple(int(one) for one in signs))


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
    sign = "+" if event > 0 else "-"
    done = f"{before} {sign} 1 = {after}" if before != after else f"nothing, it stays at {after}"
    return f"Event {number} is {sign}: {done}."
