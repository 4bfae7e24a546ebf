"""A task episode: one run of a player at a case, under a budget of time."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Literal, get_args

from timeful.agents.prompts.timely import Calls
from timeful.agents.session import Transcripts
from timeful.agents.tool_user import MOST_ROUNDS
from timeful.core.units import Duration
from timeful.environments.reasoning.split import Split
from timeful.environments.timed.latency import Constant, read_latency
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.world import TimeSettings
from timeful.errors import SettingsError, check_known
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.tasks.budgets import NO_LIMIT, Budget

Family = Literal["fiction", "coding", "reasoning"]
Clock = Literal["virtual", "wall"]
FAMILIES: tuple[Family, ...] = get_args(Family)

_UNHURRIED_ROUNDS: Mapping[str, int] = {"fiction": 60, "coding": 20, "reasoning": MOST_ROUNDS}
"""The most thoughts of an unhurried run: enough to estimate the mean step."""


def most_rounds(family: str, *, is_unhurried: bool) -> int:
    """The most thoughts of an episode."""
    return _UNHURRIED_ROUNDS[family] if is_unhurried else MOST_ROUNDS


def latency_name(latency: str) -> str:
    """The canonical name of a latency in records and tables.

    Raises:
        SettingsError: If the text is no latency.
    """
    model = read_latency(latency)
    return "none" if model == Constant() else str(model)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSource:
    """The source of cases that are not built in, and the sandbox of their code.

    Attributes:
        sets: Sets of problems.
        size: The number of problems of each set or file; None takes a set's default, and all of a
            file.
        split: The split of the problems, `size` of them; None takes all.
        problems: A JSONL file of problems.
        benchmark: The name of its field map.
        fields: Additional or other fields of the file, as pairs of a meaning and a field name.
        is_private: Whether records must not hold the words of the problems.
        data: The folder of prepared ML tasks.
        is_unsafe: Whether code may run without a sandbox.
        sandbox: The name of the sandbox's backend; empty where no code runs.
    """

    sets: tuple[str, ...] = ()
    size: int | None = None
    split: Split | None = None
    problems: str | None = None
    benchmark: str = "file"
    fields: tuple[tuple[str, str], ...] = ()
    is_private: bool = False
    data: str | None = None
    is_unsafe: bool = False
    sandbox: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSettings:
    """The settings that all episodes of a run have in common.

    Attributes:
        source: The source of the cases.
        tool_latencies: Latencies of single tools, as pairs of a tool and a latency.
        is_soft: Whether a budget is announced and measured, but does not end the episode.
        alpha: The weight of the agent's own thinking time, above 0.
        timer: What timers report.
        calls: How tools are offered.
        most_tokens: The most tokens of a thought; None leaves it to the model.
        clock: "virtual" counts tokens at their pace, "wall" lets time pass.
        pace: The time of tokens; None is a stand-in's own pace, and for a language model token
            time, or in wall time the time at which tokens arrive.
        seed: Of all randomness.
        transcripts: "full" keeps every chunk and prompt in the records.

    Raises:
        SettingsError: If a value is out of range or two do not fit together.
    """

    source: TaskSource = field(default_factory=TaskSource)
    tool_latencies: tuple[tuple[str, str], ...] = ()
    is_soft: bool = False
    alpha: float = 1.0
    timer: TimerSettings = field(default_factory=TimerSettings)
    calls: Calls = "text"
    most_tokens: int | None = None
    clock: Clock = "virtual"
    pace: Pace | None = None
    seed: int = 0
    transcripts: Transcripts = "answers"

    def __post_init__(self) -> None:
        check_known("kind of calls", self.calls, get_args(Calls))
        check_known("clock", self.clock, get_args(Clock))
        check_known("transcripts", self.transcripts, get_args(Transcripts))
        if len(dict(self.tool_latencies)) < len(self.tool_latencies):
            raise SettingsError("a tool was given two latencies")
        for _, latency in self.tool_latencies:
            read_latency(latency)
        TimeSettings(alpha=self.alpha)
        if self.most_tokens is not None and self.most_tokens < 1:
            raise SettingsError(f"a thought has at least 1 token, got {self.most_tokens}")
        if self.source.is_private and self.transcripts == "full":
            raise SettingsError("records must not hold private problems: no full transcripts")

    def settings(self) -> dict[str, Any]:
        """The settings as plain JSON values, without credentials."""
        values = asdict(self)
        if self.source.split is None:  # a record names the split only if one was selected
            del values["source"]["split"]
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEpisode:
    """One run of a player at a case, under a budget.

    `span` is the length of the budget in nanoseconds; None if there is no limit.
    """

    family: Family
    case: str
    role: ModelRole
    run: int
    latency: str
    shared: SharedSettings
    budget: Budget = NO_LIMIT
    span: Duration | None = None

    @property
    def key(self) -> str:
        """A name that is unique in a run, fit for a file.

        Several models may work in one run folder, so a model's endpoint and temperature are part
        of its name.
        """
        player = self.player
        if self.role.is_sampled:
            settings = json.dumps(self.role.settings(), sort_keys=True)
            player += f"-{sha256(settings.encode()).hexdigest()[:6]}"
        return _join(player, self.scope)

    @property
    def scope(self) -> str:
        """The name of the episode without its player: the key of its requests on a cassette."""
        return _join(self.family, self.case, self.latency, str(self.budget), f"run{self.run}")

    @property
    def player(self) -> str:
        """The name of the model or stand-in in tables."""
        return self.role.spec

    @property
    def group(self) -> str:
        """The column of a table that its case belongs to."""
        return group_of(self.family, self.case)

    @property
    def time(self) -> TimeSettings:
        """The budget and latencies of the case."""
        shared = self.shared
        return TimeSettings(
            budget=self.span,
            is_soft=shared.is_soft,
            alpha=shared.alpha,
            timer=TimerSettings() if self.is_unhurried else shared.timer,
            latency=read_latency(self.latency),
            of_tools={tool: read_latency(latency) for tool, latency in shared.tool_latencies},
        )

    @property
    def is_unhurried(self) -> bool:
        """Whether there is no limit; timers are then exact, whatever the timer settings are."""
        return self.budget == NO_LIMIT

    @property
    def most_rounds(self) -> int:
        """The most thoughts."""
        return most_rounds(self.family, is_unhurried=self.is_unhurried)

    @property
    def conditions(self) -> dict[str, Any]:
        """All settings that change the time of an unhurried run, except the case."""
        shared = self.shared
        return {
            "family": self.family,
            "who": self.role.settings(),
            "latency": latency_name(self.latency),
            "tool_latencies": {tool: latency_name(law) for tool, law in shared.tool_latencies},
            "alpha": shared.alpha,
            "calls": shared.calls,
            "most_tokens": shared.most_tokens,
            "clock": shared.clock,
            "pace": None if shared.pace is None else [shared.pace.first, shared.pace.per_token],
            "seed": shared.seed,
        }

    def settings(self) -> dict[str, Any]:
        """The settings in the episode's record."""
        return {
            "suite": f"timely/{self.family}",
            "episode": {
                "family": self.family,
                "case": self.case,
                "who": self.player,
                "stand_in": self.role.is_stand_in,
                "run": self.run,
                "budget": str(self.budget),
                "budget_ns": self.span,
                "latency": self.latency,
            },
            "voice": self.role.settings(),
            **self.shared.settings(),
        }


def group_of(family: str, case: str) -> str:
    """The column of a table that a case belongs to: a game, an ML task, or a set of problems.

    A story file has its file name, wherever it is.
    """
    if family == "fiction":
        return PurePath(case).name
    return case.partition("/")[0] if family == "reasoning" else case


def _join(*names: str) -> str:
    """Join names, with only the characters that are safe in a file name."""
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-") for name in names)
