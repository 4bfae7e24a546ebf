"""The time that counts against a budget, and what a timer says of it.

While a tool runs, time counts as it is; all other time is the agent's own thinking and counts
`alpha` times, as if it thought on a slower or faster device. (Timely Machine, 4.3 and A.2.3.)
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

import numpy as np

from timeful.core.units import NO_TIME, START, Duration, Instant, in_seconds
from timeful.errors import check_known, check_range


@lru_cache(maxsize=64)
def _read_exactly(number: float) -> Fraction:
    """The decimal number as a fraction; reading it takes longer than all else of a stopwatch."""
    return Fraction(str(number))


@dataclass(slots=True)
class Stopwatch:
    """Counts time; `alpha` is above 0. All is exact to the nanosecond.

    Attributes:
        tools: The time that tools took whose calls are over.
        running_since: When the tool that runs now was called.
    """

    alpha: float = 1.0
    tools: Duration = NO_TIME
    running_since: Instant | None = None
    _alpha: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_range("alpha", self.alpha, above=0)
        self._alpha = _read_exactly(self.alpha)

    def start(self, at: Instant) -> None:
        """A tool begins to run."""
        self.running_since = at

    def stop(self, at: Instant) -> None:
        """The tool is done."""
        if self.running_since is not None:
            self.tools = self.tools + at - self.running_since
            self.running_since = None

    def elapsed(self, at: Instant = START) -> Duration:
        """What counts by an instant, which is not before the last change."""
        tools = self._tools(at)
        return Duration(tools + floor(self._alpha * (at - tools)))

    def reaches(self, budget: Duration) -> Instant:
        """The first instant at which so much counts, if nothing changes until then."""
        since = self.running_since
        if since is not None:
            return since + max(NO_TIME, budget - self.elapsed(since))
        return Instant(self.tools + max(0, ceil((budget - self.tools) / self._alpha)))

    def _tools(self, at: Instant) -> Duration:
        since = self.running_since
        return self.tools if since is None else self.tools + at - since


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerSettings:
    """What timers say: `scale` times what counts, plus noise of a normal law.

    Attributes:
        scale: Above 0; other than 1 makes a timer that is wrong (A.2.1).
        jitter: The standard deviation of the noise, in seconds, 0 or more.
        tells: What every reply of a tool ends with: the time that has passed, the time that is
            left, both, or nothing.
    """

    scale: float = 1.0
    jitter: float = 0.0
    tells: str = "elapsed"

    def __post_init__(self) -> None:
        check_range("the scale of a timer", self.scale, above=0)
        check_range("the jitter of a timer", self.jitter, least=0)
        check_known("timer setting", self.tells, TELLS)

    def read(self, elapsed: Duration, rng: np.random.Generator) -> float:
        """What a timer says, in seconds, never below 0."""
        noise = self.jitter * float(rng.standard_normal()) if self.jitter else 0.0
        return max(0.0, self.scale * in_seconds(elapsed) + noise)


TELLS = ("elapsed", "remaining", "both", "nothing")
