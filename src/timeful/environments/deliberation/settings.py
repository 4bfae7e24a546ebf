"""The settings of the deliberation worlds, and the same as numbers for a compiled loop.

Engagement Process, section 5.1.1 and Tables 6 and 7. A single task is a sequence of one.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeful.core.units import NO_TIME, Duration, seconds
from timeful.errors import SettingsError, check_range


class Rules(NamedTuple):
    """The settings as numbers and arrays, times in nanoseconds: what the dynamics take."""

    tasks: int
    gaps: NDArray[np.int64]
    durations: NDArray[np.int64]
    qualities: NDArray[np.float64]
    beta: float
    reward: float
    penalty: float


def _spans(*values: float) -> tuple[Duration, ...]:
    return tuple(seconds(value) for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliberationSettings:
    """A number of tasks with deadlines, and the modes in which one can think about each.

    Attributes:
        tasks: Tasks per episode, at least 1; all can be worked on from the start.
        gaps: The choices for the span from one deadline to the next, above 0. The first counts
            from the start, so for a single task they are its slack.
        durations: How long thinking takes in each mode, rising with the mode.
        qualities: How good thinking is in each mode (alpha in the paper).
        beta: How much difficulty, uniform between 0 and 1, takes from quality.
        reward: For a task that succeeds.
        penalty: For a task that fails or times out; not above 0.

    Raises:
        SettingsError: If one of them cannot be.
    """

    tasks: int
    gaps: tuple[Duration, ...]
    durations: tuple[Duration, ...] = _spans(0.2, 0.8, 1.6, 3.0, 5.0)
    qualities: tuple[float, ...] = (0.0, 0.8, 1.6, 2.4, 3.2)
    beta: float = 3.5
    reward: float = 4.0
    penalty: float = -2.0

    def __post_init__(self) -> None:
        check_range("the number of tasks", self.tasks, least=1)
        check_range("the least gap between deadlines, in ns,", min(self.gaps, default=0), above=0)
        check_range("the least duration, in ns,", min(self.durations, default=-1), least=0)
        if any(later < earlier for earlier, later in pairwise(self.durations)):
            raise SettingsError(f"sort the modes by their durations; got {self.durations}")
        if len(self.qualities) != len(self.durations):
            raise SettingsError(
                f"every mode has a duration and a quality, got {len(self.durations)} durations "
                f"and {len(self.qualities)} qualities"
            )
        for number in (*self.qualities, self.beta):
            check_range("a quality, or beta,", number)
        check_range("reward", self.reward, least=0)
        check_range("penalty", self.penalty, most=0)

    @property
    def modes(self) -> int:
        """How many modes of thinking there are."""
        return len(self.durations)

    def as_step(self) -> "DeliberationSettings":
        """The step abstraction of this world: the same, but that thinking takes no time."""
        return replace(self, durations=(NO_TIME,) * self.modes)

    def rules(self) -> Rules:
        """The settings as numbers, for the dynamics."""
        return Rules(
            tasks=self.tasks,
            gaps=np.array(self.gaps, dtype=np.int64),
            durations=np.array(self.durations, dtype=np.int64),
            qualities=np.array(self.qualities, dtype=np.float64),
            beta=float(self.beta),
            reward=float(self.reward),
            penalty=float(self.penalty),
        )


SINGLE = DeliberationSettings(tasks=1, gaps=_spans(0.3, 1.0, 2.0, 4.0, 8.0))
"""One task (Table 6)."""

SEQUENTIAL = DeliberationSettings(tasks=10, gaps=_spans(0.4, 0.9, 1.6, 3.5, 5.5))
"""Ten tasks whose deadlines follow each other (Table 7)."""
