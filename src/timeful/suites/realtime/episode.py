"""One episode of the suite: its settings, and how they are completed.

Section 4 of Real-Time Reasoning Gym: load varies at 8k tokens a step with N_i = 8k; pressure varies
at medium load with N_i = 4k. The cell that both share is played once, with 8k.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from timeful.agents.session import Transcripts
from timeful.core.units import Duration, milliseconds
from timeful.environments.game import Difficulty, Mode
from timeful.environments.registry import GAME_NAMES
from timeful.errors import SettingsError, check_range
from timeful.experiments.options import option
from timeful.interfaces.compatibility import check_fits
from timeful.models.calibrate import load_calibration
from timeful.models.counting import counting_settings
from timeful.models.model_spec import ModelSpec, Role
from timeful.models.pace import TOKEN, TOKEN_TIME, Pace
from timeful.registry import is_program
from timeful.suites.names import check_name, short_name
from timeful.suites.realtime.conditions import AGENTS, BASE_PRESSURE

Clock = Literal["token", "paced", "wall"]
INTERFACES = ("fixed-rate", "frozen", "event-driven", "loop", "polling")
TWO_THREADS = ("agile", "agile-concurrent", "agile-reduced")
BUDGETED = ("reactive", "reactive-budget")
RESERVE = 2048
LOW_BUDGET = 4096


def roles(agent: str) -> tuple[Role, ...]:
    """The models that an agent uses."""
    if agent == "reactive":
        return ("reactor",)
    return ("planner",) if agent in AGENTS and agent not in TWO_THREADS else ("planner", "reactor")


def _read_pace(path: str) -> Pace:
    return load_calibration(Path(path)).pace


@dataclass(frozen=True, slots=True, kw_only=True)
class RealtimeEpisode:
    """Freeway, Snake and Overcooked under cognitive load and time pressure.

    EXPERIMENTS are load, pressure, reserve and grid; load and pressure by default.

    Everything runs offline with the built-in search reasoner. With --model openai:NAME and
    --base-url the same runs on a language model; the key is read from OPENAI_API_KEY. Lengths are
    tokens in token time, and milliseconds otherwise.

    Raises:
        SettingsError: If a value is unknown or does not fit.
    """

    game: str = "snake"
    """Game, or FILE.py:NAME for a world of your own."""
    agent: str = "agile"
    """Agent, or FILE.py:NAME for an agent of your own."""
    difficulty: Difficulty = "medium"
    """Cognitive load."""
    step: int = BASE_PRESSURE
    """Length of a turn: the time pressure."""
    game_seed: int = option(0, flag="seeds")
    """Seed of the game."""
    sample: int = option(0, flag="samples")
    """Seed of sampling."""
    seed: int = 0
    """Seed of all sampling."""
    mode: Mode = "compat"
    """Rules of the games: as published (compat) or as the paper says (paper)."""
    interface: str = "fixed-rate"
    """Interface: fixed-rate, frozen, event-driven, loop or polling:LENGTH."""
    reserve: int | None = option(None, hidden=True)
    """Reactor's share of a turn."""
    usual_reserve: int | None = option(
        None,
        flag="reserve",
        needs=(lambda e: e.agent in TWO_THREADS, "an agile agent, outside of the reserve sweep"),
    )
    """Reactor's share of a turn, at most the turn; 2048 by default."""
    budget: int | None = option(None, hidden=True)
    """Budget of a reactive agent (N_i)."""
    usual_budget: int | None = option(
        None, flag="budget", needs=(lambda e: e.agent in BUDGETED, "a reactive agent")
    )
    """Budget of a reactive agent, at most the turn; 8k at 8k and 4k otherwise by default."""
    planner: ModelSpec = option(
        factory=ModelSpec,
        main_model=True,
        needs=(lambda e: "planner" in roles(e.agent), "an agent that plans"),
    )
    """Model that plans."""
    reactor: ModelSpec = option(
        factory=ModelSpec,
        main_model=True,
        needs=(lambda e: "reactor" in roles(e.agent), "an agent that reacts with its own model"),
    )
    """Model that reacts."""
    clock: Clock = "token"
    """Clock: token (time is tokens), paced (virtual seconds) or wall."""
    pace: Pace | None = option(None, read=_read_pace)
    """File with the price of tokens, from `timeful calibrate`; needed by --clock paced."""
    time_scale: float = 1.0
    """Speed of a wall clock."""
    transcripts: Transcripts = option("")
    """Content of records: answers for the search reasoner and full otherwise by default."""

    def __post_init__(self) -> None:
        check_name("game", "world", self.game, GAME_NAMES)
        check_name("agent", "agent", self.agent, AGENTS)
        self._check_interface()
        check_range(f"the length of a turn in {self.unit}s", self.step, least=1)
        for name in ("budget", "reserve", "usual_budget", "usual_reserve"):
            span = getattr(self, name)
            check_range(f"the {name.removeprefix('usual_')}", 1 if span is None else span, least=1)
        check_range("the time scale", self.time_scale, above=0)
        if self.time_scale != 1 and self.clock != "wall":
            raise SettingsError(f"--time-scale requires --clock wall, not {self.clock}")
        if self.clock == "token" and self.pace not in (None, TOKEN_TIME):
            raise SettingsError("token time has its own pace; use --clock paced")

    def _check_interface(self) -> None:
        name, has_span, span = self.interface.partition(":")
        if name == "reflex":
            raise SettingsError("a reflex needs a rule, and the agents of this suite have none")
        if self.game in GAME_NAMES:
            check_fits(self.game, name, among=INTERFACES)
        if (name == "polling") != bool(has_span):
            raise SettingsError(
                f"polling needs an interval, as in polling:512, and other interfaces have none; "
                f"got {self.interface!r}"
            )
        if has_span and not (span.isascii() and span.isdigit() and int(span) > 0):
            raise SettingsError(
                f"the interval of polling must be a number of {self.unit}s above 0, got {span!r}"
            )

    @property
    def interval(self) -> Duration:
        """The span between two polls."""
        return self.span(int(self.interface.partition(":")[2]))

    @property
    def unit(self) -> str:
        """The unit of spans."""
        return "token" if self.clock == "token" else "millisecond"

    @property
    def label(self) -> str:
        """The agent's name in tables, with its interface if it is not the paper's."""
        agent = short_name(self.agent)
        return agent if self.interface == "fixed-rate" else f"{agent}@{self.interface}"

    @property
    def key(self) -> str:
        """The episode's name: unique in a run, and fit for a file."""
        return f"{self.clock}-{self.scope}"

    @property
    def scope(self) -> str:
        """The name of the episode's requests on a cassette; the clock does not matter."""
        reserve = "" if self.reserve is None else f"-r{self.reserve}"
        return (
            f"{short_name(self.game)}-{self.difficulty}-{short_name(self.agent)}-{self.step}"
            f"{reserve}-seed{self.game_seed}-sample{self.sample}"
        )

    def span(self, amount: int) -> Duration:
        """Convert an amount of this episode's unit to a span."""
        return Duration(amount * TOKEN) if self.clock == "token" else milliseconds(amount)

    @property
    def models(self) -> tuple[ModelSpec, ...]:
        """The models that the agent uses."""
        both = {"planner": self.planner, "reactor": self.reactor}
        return tuple(both[role] for role in roles(self.agent))

    def settings(self) -> dict[str, Any]:
        """All that identifies the episode, as its record begins."""
        token = self.clock == "token"
        return {
            "episode": {
                "suite": "realtime",
                "game": short_name(self.game),
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
            **counting_settings([m.counting for m in self.models]),
            "seed": self.seed,
            **({"program": self.agent} if is_program(self.agent) else {}),
        }


def resolve(episode: RealtimeEpisode) -> RealtimeEpisode | None:
    """Complete an episode: pace, reserve, budget and transcripts by its agent and clock.

    An episode with a reserve of its own, whose agent has no two threads, is dropped.
    """
    if episode.reserve is not None and episode.agent not in TWO_THREADS:
        return None
    models_cost = any(not model.is_stand_in for model in episode.models)
    if episode.clock == "paced" and episode.pace is None:
        raise SettingsError("--clock paced requires --pace; measure one with `timeful calibrate`")
    return replace(
        episode,
        pace=TOKEN_TIME if episode.clock == "token" else episode.pace,
        reserve=_reserve(episode),
        budget=_budget(episode),
        # Texts of paid models are kept; those of the search reasoner can be computed again.
        transcripts=episode.transcripts or ("full" if models_cost else "answers"),
    )


def _budget(episode: RealtimeEpisode) -> int | None:
    if episode.agent not in BUDGETED:
        return None
    is_full = episode.clock != "token" or episode.step == BASE_PRESSURE
    return min(episode.step, episode.usual_budget or (episode.step if is_full else LOW_BUDGET))


def _reserve(episode: RealtimeEpisode) -> int | None:
    if episode.agent not in TWO_THREADS:
        return None
    # Outside token time a turn has any length, so the default is the usual share of the turn.
    is_token = episode.clock == "token"
    usual = RESERVE if is_token else max(1, episode.step * RESERVE // BASE_PRESSURE)
    return min(episode.step, episode.reserve or episode.usual_reserve or usual)
