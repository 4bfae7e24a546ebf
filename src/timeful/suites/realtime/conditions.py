"""Under which condition an episode was played, and which experiments it serves.

A condition is a game, its cognitive load and its time pressure (Real-Time Reasoning Gym,
section 4). An experiment is a family of conditions that belong in one table; one episode may
serve several of them, and one that serves none of the paper's is "custom".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from timeful.environments.game import DIFFICULTIES
from timeful.records.rows import EpisodeRow
from timeful.reports.cube import level_order
from timeful.suites.realtime.scores import GAMES

Experiment = Literal[
    "load",
    "pressure",
    "pressure-hard",
    "reserve",
    "wall",
    "paced",
    "throughput",
    "reduced",
    "custom",
]

TITLES: dict[Experiment, str] = {
    "load": "Cognitive load, at 8192 tokens/step",
    "pressure": "Time pressure, at medium load",
    "pressure-hard": "Time pressure, at hard load",
    "reserve": "Reactor's budget, at medium load and 8192 tokens/step",
    "wall": "Wall-clock time",
    "paced": "Paced time: virtual seconds at a measured pace",
    "throughput": "Limited throughput, at medium load and 8192 tokens/step",
    "reduced": "Reduced design (only finished plans are shown), Freeway, medium load",
    "custom": "Other settings, which the paper does not have",
}
"""The experiments in the order of the report."""

AGENTS: tuple[str, ...] = (
    "code-policy",
    "reactive-budget",
    "reactive",
    "planning",
    "agile",
    "agile-concurrent",
    "agile-reduced",
)
"""The agents in the order of the paper's tables; others follow."""

MEAN = "mean of games"
"""Stands in for a game where the three games are averaged, as in the paper's Figure 1."""

LEVELS = {"game": (*GAMES, MEAN), "difficulty": DIFFICULTIES, "agent": AGENTS}
"""The order of values in tables; others follow."""

BASE_PRESSURE = 8192
PRESSURES = (32768, 16384, 8192, 4096)
"""Tokens per step, from low to high pressure."""

USUAL_RESERVE = 2048
"""The reactor's budget that a table shows where only a sweep of it was run."""

_SPECIAL: dict[Experiment, str] = {"throughput": "agile-concurrent", "reduced": "agile-reduced"}
_COMPARED = ("reactive-budget", "reactive", "planning", "agile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A game, a load and a pressure; `reserve` only where the reactor's budget is what varies.

    `is_paced` tells virtual seconds from those of a wall clock.
    """

    game: str
    difficulty: str
    tokens_per_step: int | None = None
    seconds_per_step: float | None = None
    is_paced: bool = False
    reserve: int | None = None

    @property
    def text(self) -> str:
        """The condition in words, such as "snake, hard, 8192 tokens/step"."""
        unit = "" if self.tokens_per_step is not None else " ms"
        reserve = "" if self.reserve is None else f", reserve {self.reserve}{unit}"
        return f"{self.game}, {self.difficulty}, {self.pressure}{reserve}"

    @property
    def pressure(self) -> str:
        """The time pressure in words."""
        if self.tokens_per_step is not None:
            return f"{self.tokens_per_step} tokens/step"
        paced = "paced " if self.is_paced else ""
        return f"{self.seconds_per_step or 0:g} {paced}s/step"

    def label(self, experiment: Experiment) -> str:
        """What tells this condition from the others of its experiment and game, in short."""
        pressure = f"{self.seconds_per_step or 0:g}s"
        if self.tokens_per_step is not None:
            pressure = short_tokens(self.tokens_per_step)
        if experiment == "load":
            return self.difficulty
        if experiment in ("pressure", "pressure-hard", "reduced", "throughput"):
            return pressure
        if experiment == "reserve":
            return str(self.reserve)
        reserve = "" if self.reserve is None else f" r{self.reserve}"
        return f"{self.difficulty} {pressure}{reserve}"

    @property
    def order(self) -> tuple[object, ...]:
        """The place in a table: by game, load, pressure (low first) and reserve."""
        return (
            level_order(LEVELS, "game", self.game),
            level_order(LEVELS, "difficulty", self.difficulty),
            -(self.tokens_per_step or 0),
            -(self.seconds_per_step or 0),
            self.reserve or 0,
        )


def condition_of(row: EpisodeRow, reserve: int | None = None) -> Condition:
    """The condition that an episode was played under; its reserve only if one is given."""
    is_token = row.clock == "token"
    return Condition(
        game=row.game,
        difficulty=row.difficulty,
        tokens_per_step=row.tokens_per_step if is_token else None,
        seconds_per_step=None if is_token else row.seconds_per_step,
        is_paced=row.clock == "paced",
        reserve=reserve,
    )


def short_tokens(tokens: int) -> str:
    """A number of tokens as the paper writes it: 8192 is "8k"."""
    return f"{tokens // 1024}k" if tokens and tokens % 1024 == 0 else str(tokens)


def agent_order(agent: str) -> tuple[int, float, str]:
    """The place of an agent in a table."""
    return level_order(LEVELS, "agent", agent)


def present_experiments(rows: Iterable[EpisodeRow]) -> tuple[Experiment, ...]:
    """Which of the experiments of conditions these episodes are about, in report order.

    The setting at 8192 tokens and medium load belongs to nearly all of them. An experiment is
    present when an episode speaks for it alone; "reserve" and "custom" depend on what else was
    run, and are decided where cells are made.
    """
    marked = {experiment for row in rows for experiment in _marks(row)}
    return tuple(experiment for experiment in TITLES if experiment in marked)


def _marks(row: EpisodeRow) -> list[Experiment]:
    """The experiments that an episode speaks for."""
    if row.clock != "token":
        return [row.clock]
    special: list[Experiment] = [e for e, agent in _SPECIAL.items() if agent == row.agent]
    marks = [experiment for experiment in special if is_part(row, experiment)]
    if row.tokens_per_step == BASE_PRESSURE:
        return ["load", *marks]
    pressures: tuple[Experiment, ...] = ("pressure", "pressure-hard")
    return marks + [experiment for experiment in pressures if is_part(row, experiment)]


def is_part(row: EpisodeRow, experiment: Experiment) -> bool:
    """Whether an episode belongs in an experiment's table, its reserve apart."""
    if row.clock != "token" or experiment in ("wall", "paced"):
        return row.clock == experiment
    is_medium, is_base = row.difficulty == "medium", row.tokens_per_step == BASE_PRESSURE
    is_swept = row.tokens_per_step in PRESSURES
    is_compared = row.agent in (*_COMPARED, _SPECIAL.get(experiment))
    parts: dict[Experiment, bool] = {
        "load": is_base,
        "pressure": is_swept and is_medium,
        "pressure-hard": is_swept and row.difficulty == "hard",
        "reserve": is_base and is_medium and row.reserve is not None,
        "throughput": is_base and is_medium and is_compared,
        "reduced": is_swept and is_medium and is_compared and row.game == "freeway",
    }
    return parts.get(experiment, False)
