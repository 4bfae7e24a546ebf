"""Which episodes there are: the settings of the paper's experiments, as values.

Section 4: load varies at 8k tokens a step with N_i = 8k; pressure varies at medium load with
N_i = 4k. The cell that both share is played once, with 8k. Each setting is played for 8 game
seeds and 4 sampling seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf
from typing import Any, Literal, get_args

from timeful.agents.session import Transcripts
from timeful.core.units import Duration, milliseconds
from timeful.environments.game import DIFFICULTIES, MODES, Difficulty, Mode
from timeful.environments.registry import GAME_NAMES
from timeful.errors import SettingsError, check_known
from timeful.interfaces.compatibility import check_fits
from timeful.models.model_spec import ModelSpec, Role
from timeful.models.pace import TOKEN, TOKEN_TIME, Pace
from timeful.suites.realtime.conditions import AGENTS, BASE_PRESSURE, PRESSURES

Clock = Literal["token", "paced", "wall"]
CLOCKS = ("token", "paced", "wall")
LAWS = ("fixed-rate", "frozen", "event-driven", "loop", "polling:SPAN")
TWO_THREADS = ("agile", "agile-concurrent", "agile-reduced")
BUDGETED = ("reactive", "reactive-budget")
RESERVE = 2048
RESERVES = (512, 1024, 2048, 4096, 8192)
"""Figure 7 sweeps the reactor's budget from 0.5k to 8k tokens."""
EXPERIMENTS = ("load", "pressure", "reserve", "grid")
LOW_BUDGET = 4096
MOST_SEEDS = 100_000


def roles(agent: str) -> tuple[Role, ...]:
    """For what an agent uses a model."""
    if agent == "reactive":
        return ("reactor",)
    return ("planner", "reactor") if agent in TWO_THREADS else ("planner",)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSpec:
    """One episode. Spans are tokens in token time and milliseconds otherwise.

    Args:
        step: The length of a turn.
        budget: The longest a reactive agent may think about a turn (N_i); None is all of it.
        reserve: The reactor's share of a turn (T_R), for agents of two threads.
        interface: The law that joins the agent's time to the world's, one of `LAWS`. In a world
            of turns, event-driven is fixed-rate by another name; polling has an interval.
        pace: What tokens cost, of both models. On a wall clock it may be None, and says nothing
            about an endpoint's tokens, which come when they come.
        time_scale: How much faster than real time a wall clock runs.
        transcripts: Whether the record keeps prompts, chunks and states, or answers only.

    Raises:
        SettingsError: If something is unknown or does not fit.
    """

    game: str
    difficulty: Difficulty
    agent: str
    step: int
    game_seed: int
    sample: int
    mode: Mode = "compat"
    clock: Clock = "token"
    budget: int | None = None
    reserve: int | None = None
    interface: str = "fixed-rate"
    planner: ModelSpec = field(default_factory=ModelSpec)
    reactor: ModelSpec = field(default_factory=ModelSpec)
    pace: Pace | None = TOKEN_TIME
    time_scale: float = 1.0
    seed: int = 0
    transcripts: Transcripts = "answers"

    def __post_init__(self) -> None:
        check_known("game", self.game, GAME_NAMES)
        check_known("difficulty", self.difficulty, DIFFICULTIES)
        check_known("agent", self.agent, AGENTS)
        check_known("mode", self.mode, MODES)
        check_known("clock", self.clock, CLOCKS)
        self._check_interface()
        check_known("kind of transcripts", self.transcripts, get_args(Transcripts))
        if self.step < 1:
            raise SettingsError(f"a turn must last at least 1 {self.unit}, got {self.step}")
        for name, span in (("budget", self.budget), ("reserve", self.reserve)):
            if span is not None and not 0 < span <= self.step:
                raise SettingsError(
                    f"the {name} must be above 0 and fit into a turn of {self.step} "
                    f"{self.unit}s, got {span}"
                )
        if self.clock == "paced" and self.pace is None:
            raise SettingsError("paced time needs a pace: calibrate the model first")
        if self.clock == "token" and self.pace != TOKEN_TIME:
            raise SettingsError("token time has a pace of its own; use paced time")
        if not 0 < self.time_scale < inf:
            raise SettingsError(f"the time scale must be above 0, got {self.time_scale}")
        if self.time_scale != 1 and self.clock != "wall":
            raise SettingsError(f"the time scale is for clock 'wall', not for {self.clock!r}")
        if self.sample < 0:
            raise SettingsError(f"a sampling seed must not be negative, got {self.sample}")

    def _check_interface(self) -> None:
        law, has_span, span = self.interface.partition(":")
        if law == "reflex":
            raise SettingsError("a reflex needs a rule of its own; the agents of this suite plan")
        check_fits(self.game, law, among=[name.partition(":")[0] for name in LAWS])
        if (law == "polling") != bool(has_span):
            raise SettingsError(
                f"polling needs an interval, as in polling:512, and nothing else has one; "
                f"got {self.interface!r}"
            )
        if has_span and not (span.isascii() and span.isdigit() and int(span) > 0):
            raise SettingsError(
                f"the interval of polling is a whole number of {self.unit}s above 0, got {span!r}"
            )

    @property
    def law(self) -> str:
        """The name of the interface, without the interval of polling."""
        return self.interface.partition(":")[0]

    @property
    def interval(self) -> Duration:
        """The span between two looks; for polling."""
        return self.span(int(self.interface.partition(":")[2]))

    @property
    def unit(self) -> str:
        """What spans are counted in."""
        return "token" if self.clock == "token" else "millisecond"

    @property
    def label(self) -> str:
        """The agent as tables name it: under another law than the paper's it is another one."""
        return self.agent if self.law == "fixed-rate" else f"{self.agent}@{self.interface}"

    @property
    def key(self) -> str:
        """The episode's name: unique in a run, and fit for a file."""
        return f"{self.clock}-{self.scope}"

    @property
    def scope(self) -> str:
        """Whose requests a cassette holds: the episode, whatever its tokens cost."""
        reserve = "" if self.reserve is None else f"-r{self.reserve}"
        return (
            f"{self.game}-{self.difficulty}-{self.agent}-{self.step}{reserve}"
            f"-seed{self.game_seed}-sample{self.sample}"
        )

    def span(self, amount: int) -> Duration:
        """Convert an amount of this episode's unit to a span."""
        return (amount * TOKEN) if self.clock == "token" else milliseconds(amount)

    @property
    def models(self) -> tuple[ModelSpec, ...]:
        """The models that the agent uses."""
        both = {"planner": self.planner, "reactor": self.reactor}
        return tuple(both[role] for role in roles(self.agent))

    def settings(self) -> dict[str, Any]:
        """All that makes the episode what it is, as its record begins."""
        token = self.clock == "token"
        return {
            "episode": {
                "suite": "realtime",
                "game": self.game,
                "difficulty": self.difficulty,
                "mode": self.mode,
                "agent": self.label,
                "model": " + ".join(dict.fromkeys(m.spec for m in self.models)),
                "stand_in": any(m.is_stand_in for m in self.models),
                "clock": self.clock,
                "tokens_per_step": self.step if token else None,
                "seconds_per_step": None if token else self.step / 1000,
                "reserve": self.reserve,
                "game_seed": self.game_seed,
                "sample": self.sample,
            },
            "budget": self.budget,
            "interface": self.interface,
            "pace": None if self.pace is None else [self.pace.first, self.pace.per_token],
            "temperature": [m.temperature for m in self.models],
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Which part of the suite to run. The defaults are the paper's two main experiments.

    Args:
        experiments: Any of `EXPERIMENTS`; none, to run just `difficulties` x `steps`.
        difficulties: Only these; none given means all that the experiments have.
        steps: Only these lengths of a turn; none given means all that the experiments have.
        seeds: How many game seeds.
        samples: How many sampling seeds for each game seed.
        reserve: The reactor's share of a turn; capped by the turn.
        budget: What a reactive agent may think about a turn; capped by the turn. None is the
            paper's 8k at 8k and 4k elsewhere in token time, and the whole turn otherwise.

    Raises:
        SettingsError: If a part is unknown or empty.
    """

    experiments: Sequence[str] = ("load", "pressure")
    games: Sequence[str] = GAME_NAMES
    agents: Sequence[str] = ("reactive", "planning", "agile")
    difficulties: Sequence[str] = ()
    steps: Sequence[int] = ()
    seeds: int = 8
    samples: int = 4
    reserve: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        for kind, given, known in (
            ("experiment", self.experiments, EXPERIMENTS),
            ("game", self.games, GAME_NAMES),
            ("agent", self.agents, AGENTS),
            ("difficulty", self.difficulties, DIFFICULTIES),
        ):
            for name in given:
                check_known(kind, name, known)
        if self.seeds < 1 or self.samples < 1:
            raise SettingsError("a sweep needs at least one game seed and one sampling seed")
        if self.seeds * self.samples > MOST_SEEDS:
            raise SettingsError(
                f"{self.seeds} game seeds with {self.samples} sampling seeds each are too many; "
                f"at most {MOST_SEEDS} in all"
            )
        if any(step < 1 for step in self.steps):
            raise SettingsError(f"the length of a turn must be above 0, got {min(self.steps)}")
        for name, span in (("reserve", self.reserve), ("budget", self.budget)):
            longest = max((step for _, step in self.conditions()), default=span)
            if span is not None and longest is not None and span > longest:
                raise SettingsError(
                    f"a {name} of {span} fits into no turn; the longest is {longest}"
                )

    def conditions(self) -> list[tuple[str, int]]:
        """Difficulties with lengths of a turn, each pair once, in order of appearance."""
        pairs: list[tuple[str, int]] = []
        if "load" in self.experiments:
            pairs += [(d, BASE_PRESSURE) for d in DIFFICULTIES]
        if "pressure" in self.experiments:
            pairs += [("medium", t) for t in PRESSURES]
        if "grid" in self.experiments:
            pairs += product(DIFFICULTIES, (PRESSURES[0], BASE_PRESSURE, PRESSURES[-1]))
        if not self.experiments:
            pairs += product(self.difficulties or DIFFICULTIES, self.steps or (BASE_PRESSURE,))
        return list(dict.fromkeys(pair for pair in pairs if self.is_chosen(*pair)))

    def is_chosen(self, difficulty: str, step: int) -> bool:
        """Whether a difficulty and a length of a turn are among those asked for."""
        return (not self.difficulties or difficulty in self.difficulties) and (
            not self.steps or step in self.steps
        )


def episodes(sweep: Sweep, like: EpisodeSpec) -> list[EpisodeSpec]:
    """Spell out a sweep; what it does not vary is taken from `like`.

    Raises:
        SettingsError: If nothing is left to run, or a span does not fit.
    """
    if like.clock != "token" and (sweep.experiments or not sweep.steps):
        raise SettingsError(
            f"the paper's experiments count tokens; in {like.clock} time give --step, "
            "the length of a turn in milliseconds, and no experiment"
        )
    cells = [
        (game, difficulty, agent, step, _reserve(sweep, like, agent, step))
        for game, agent, (difficulty, step) in product(
            sweep.games, sweep.agents, sweep.conditions()
        )
    ]
    if "reserve" in sweep.experiments and sweep.is_chosen("medium", BASE_PRESSURE):
        cells += [
            (game, "medium", agent, BASE_PRESSURE, reserve)
            for game, agent, reserve in product(sweep.games, sweep.agents, RESERVES)
            if agent in TWO_THREADS
        ]
    specs = [
        _spec(like, sweep, cell, game_seed, sample)
        for cell in dict.fromkeys(cells)
        for game_seed, sample in product(range(sweep.seeds), range(sweep.samples))
    ]
    if not specs:
        raise SettingsError(
            "nothing to run: the chosen parts have no setting in common (load is played at 8192 "
            "tokens a turn, pressure at medium load, reserve by agents of two threads)"
        )
    return specs


def _spec(
    like: EpisodeSpec,
    sweep: Sweep,
    cell: tuple[str, str, str, int, int | None],
    game_seed: int,
    sample: int,
) -> EpisodeSpec:
    game, difficulty, agent, step, reserve = cell
    changes: dict[str, Any] = {
        "game": game,
        "difficulty": difficulty,
        "agent": agent,
        "step": step,
        "reserve": reserve,
        "budget": _budget(sweep, like, agent, step),
        "game_seed": game_seed,
        "sample": sample,
    }
    return replace(like, **changes)


def _budget(sweep: Sweep, like: EpisodeSpec, agent: str, step: int) -> int | None:
    if agent not in BUDGETED:
        return None
    usual = step if like.clock != "token" or step == BASE_PRESSURE else LOW_BUDGET
    return min(step, usual if sweep.budget is None else sweep.budget)


def _reserve(sweep: Sweep, like: EpisodeSpec, agent: str, step: int) -> int | None:
    if agent not in TWO_THREADS:
        return None
    # Outside token time a turn has any length, so the usual reserve is the usual share of it.
    usual = RESERVE if like.clock == "token" else max(1, step * RESERVE // BASE_PRESSURE)
    return min(step, usual if sweep.reserve is None else sweep.reserve)
