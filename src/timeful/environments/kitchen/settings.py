"""The settings of the kitchen: its dishes, its tutoring problems and its laws.

Engagement Process, appendix E; what it leaves out stands in the fields' words. Spans are
durations in nanoseconds; people and prompts count ticks, one to each generated token.
"""

from dataclasses import dataclass, field
from typing import Literal

from timeful.core.units import NO_TIME, Duration, Instant, milliseconds
from timeful.errors import SettingsError, check_known, check_range

TICK = milliseconds(1)
"""One tick: the length of a token in token time."""

Judged = Literal["end", "start"]


def ticks(count: int) -> Duration:
    """So many ticks as a duration.

    Raises:
        SettingsError: If the count is negative.
    """
    check_range("a span in ticks", count, least=0)
    return count * TICK


def in_ticks(span: int) -> float:
    """A span or instant in ticks; a whole number in token time."""
    return span / TICK


@dataclass(frozen=True, slots=True, kw_only=True)
class Dish:
    """A dish: prepared, staged on a stove slot, and finished after its signal.

    Attributes:
        name: Such as "D1".
        family: What it was drawn from, such as "critical_narrow".
        prep: How long its preparation takes.
        offset: From the end of its staging to its signal, jitter apart.
        finish: How long finishing takes, above 0.
        window: From its signal to the end of its ideal window, above 0.
        slack: How long it keeps warm after its ideal window; None for a critical dish.
        is_whistle: Whether its signal jitters; else it is a timer's.

    Raises:
        SettingsError: If one of them cannot be.
    """

    name: str
    family: str
    prep: Duration
    offset: Duration
    finish: Duration
    window: Duration
    slack: Duration | None = None
    is_whistle: bool = False

    def __post_init__(self) -> None:
        for name in ("prep", "offset", "slack"):
            check_range(f"{name} of {self.name}, in ns,", getattr(self, name) or 0, least=0)
        for name in ("finish", "window"):
            check_range(f"{name} of {self.name}, in ns,", getattr(self, name), above=0)

    @property
    def is_critical(self) -> bool:
        """Whether it is lost after its ideal window, since it does not keep warm."""
        return self.slack is None

    def deadline(self, signal: Instant) -> Instant:
        """Until when it counts: the end of its ideal window or, if soft, of keeping warm."""
        return signal + self.window + (self.slack or NO_TIME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A tutoring problem: a text of a given length that is to be written.

    `family` is what its length was drawn from, and `length` counts tokens.

    Raises:
        SettingsError: If its length is below 1.
    """

    name: str
    family: str
    title: str
    brief: str
    length: int

    def __post_init__(self) -> None:
        check_range(f"the length of {self.name}, in tokens,", self.length, least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What there is to do in one episode.

    Attributes:
        name: A name that no other case has.
        family: Its case family or, with one dish, that of the dish.
        dishes: At least one, each with a name of its own.
        problems: Maybe none, each with a name of its own.
        stoves: How many dishes can be on the stove at once, at least 1.

    Raises:
        SettingsError: If one of them cannot be.
    """

    name: str
    family: str
    dishes: tuple[Dish, ...]
    problems: tuple[Problem, ...]
    stoves: int

    def __post_init__(self) -> None:
        check_range("the number of stove slots", self.stoves, least=1)
        if not self.dishes:
            raise SettingsError("a kitchen needs at least 1 dish")
        names = [*(dish.name for dish in self.dishes), *(problem.name for problem in self.problems)]
        if len(set(names)) < len(names):
            raise SettingsError(f"each dish and problem needs a name of its own, got {names}")


_MOST = 1e6
"""Beyond any use, and sums of it are still numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility:
    """The weights of the utility (appendix E, equation of U), none below 0.

    U = dish * sum of q + problem * N_tutor - tick * T - switch * N_switch - check * C_check.

    Raises:
        SettingsError: If one is negative or beyond a million.
    """

    dish: float = 5.0
    problem: float = 5.0
    tick: float = 0.003
    switch: float = 0.75
    check: float = 0.05

    def __post_init__(self) -> None:
        for name in ("dish", "problem", "tick", "switch", "check"):
            check_range(f"the weight of a {name}", getattr(self, name), least=0, most=_MOST)


_BUDGET = ticks(8000)


def read_ticks(text: str) -> Duration:
    """Read a number of ticks, as it is given on the command line."""
    return ticks(int(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class KitchenSettings:
    """The laws of the kitchen.

    Attributes:
        staging: How long staging takes; the paper gives no time for it.
        jitter: The standard deviation of a whistle's signal, in ticks.
        budget: When the episode ends at the latest, above 0.
        judged: Whether a finish action must end, or only start, before the deadline.
        writes_itself: Whether a problem is written by the world, a token a tick, for as long as
            tutoring goes on; otherwise whoever tutors tells how far they came.
        utility: The weights.

    Raises:
        SettingsError: If one of them cannot be.
    """

    staging: Duration = field(default=NO_TIME, metadata={"read": read_ticks})
    jitter: float = 3.0
    budget: Duration = field(default=_BUDGET, metadata={"read": read_ticks})
    judged: Judged = "end"
    writes_itself: bool = False
    utility: Utility = Utility()

    def __post_init__(self) -> None:
        check_range("staging, in ns,", self.staging, least=0)
        check_range("the jitter", self.jitter, least=0, most=_MOST)
        check_range("the time budget, in ns,", self.budget, above=0)
        check_known("judgement", self.judged, ("end", "start"))
