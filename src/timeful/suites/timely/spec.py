"""The episodes of Timely-Eval: cases, who works on them, budgets, latencies; what they share."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import product
from pathlib import PurePath
from typing import Any, Literal, get_args

from timeful.agents.session import Transcripts
from timeful.agents.tool_user import MOST_ROUNDS, Calls
from timeful.core.units import Duration
from timeful.environments.reasoning.split import Split
from timeful.environments.timed.latency import Constant, read_latency
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.world import TimeSettings
from timeful.errors import SettingsError, check_known
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.suites.timely.baselines import Baselines, key_of
from timeful.suites.timely.budgets import NO_LIMIT, Baseline, Budget

NAME = "timely"

_NAMED = 3
"""So many cases without a baseline are named, and the others counted."""

Family = Literal["fiction", "coding", "reasoning"]
Clock = Literal["virtual", "wall"]
FAMILIES: tuple[Family, ...] = get_args(Family)

BASELINE_ROUNDS: Mapping[str, int] = {"fiction": 60, "coding": 20, "reasoning": MOST_ROUNDS}
"""How long an unhurried run goes on at most, in thoughts: enough to know the mean step."""


def most_rounds(family: str, *, is_unhurried: bool) -> int:
    """The most thoughts of an episode."""
    return BASELINE_ROUNDS[family] if is_unhurried else MOST_ROUNDS


def latency_name(law: str) -> str:
    """A latency as records and tables name it, however it was written.

    Raises:
        SettingsError: If it is none.
    """
    read = read_latency(law)
    return "none" if read == Constant() else str(read)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where cases come from that are not built in, and how code is kept in its box.

    Attributes:
        sets: Sets of problems.
        size: How many problems of each set or file; None takes a set's usual number, and all of a
            file.
        split: Only problems that are on this side, `size` of them; None takes all.
        problems: A JSONL file of problems.
        benchmark: The name of its field map.
        fields: Fields that it has beside or instead, as pairs of what one holds and its name.
        is_private: Whether no word of its problems may stand in a record.
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
class Rig:
    """What all episodes of a run have in common.

    Attributes:
        source: Where cases come from.
        tool_latencies: Laws of single tools, as pairs of a tool and a law.
        is_soft: Whether a budget is told and measured, but cuts nobody off.
        alpha: How much the agent's own thinking counts, above 0.
        timer: What timers say.
        calls: How tools are offered.
        most_tokens: The most tokens of a thought; None leaves it to the model.
        clock: "virtual" counts tokens at their pace, "wall" lets time pass.
        pace: What tokens cost; None is a stand-in's own pace, and for a language model token
            time, or in wall time the time at which tokens arrive.
        seed: Of all chance.
        transcripts: "full" keeps every chunk and prompt in the records.

    Raises:
        SettingsError: If one of them cannot be.
    """

    source: Source = field(default_factory=Source)
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
        for _, law in self.tool_latencies:
            read_latency(law)
        TimeSettings(alpha=self.alpha)
        if self.most_tokens is not None and self.most_tokens < 1:
            raise SettingsError(f"a thought has at least 1 token, got {self.most_tokens}")
        if self.source.is_private and self.transcripts == "full":
            raise SettingsError("private problems must not stand in records: no full transcripts")

    def settings(self) -> dict[str, Any]:
        """It as plain JSON values, without credentials."""
        plain = asdict(self)
        if self.source.split is None:  # so where nobody asked for a side, no record speaks of one
            del plain["source"]["split"]
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelySpec:
    """One episode: somebody's run number so and so at a case, with a budget.

    `span` is how long the budget is, in nanoseconds; None if no limit is named.
    """

    family: Family
    case: str
    voice: ModelRole
    run: int
    latency: str
    rig: Rig
    budget: Budget = NO_LIMIT
    span: Duration | None = None

    @property
    def key(self) -> str:
        """A name that no other episode of a run has, fit for a file.

        Several models may work in one run folder; where one is reached, and how it samples, is
        part of who it is.
        """
        who = self.who
        if self.voice.is_sampled:
            settings = json.dumps(self.voice.settings(), sort_keys=True)
            who += f"-{sha256(settings.encode()).hexdigest()[:6]}"
        return _joined(who, self.scope)

    @property
    def scope(self) -> str:
        """Whose requests a cassette holds: the episode, whoever works."""
        return _joined(self.family, self.case, self.latency, str(self.budget), f"run{self.run}")

    @property
    def who(self) -> str:
        """Who works, as tables name it."""
        return self.voice.spec

    @property
    def group(self) -> str:
        """The column of a table that its case belongs to."""
        return group_of(self.family, self.case)

    @property
    def time(self) -> TimeSettings:
        """The time that the case has, and what costs how much of it."""
        rig = self.rig
        return TimeSettings(
            budget=self.span,
            is_soft=rig.is_soft,
            alpha=rig.alpha,
            timer=TimerSettings() if self.is_unhurried else rig.timer,
            latency=read_latency(self.latency),
            of_tools={tool: read_latency(law) for tool, law in rig.tool_latencies},
        )

    @property
    def is_unhurried(self) -> bool:
        """Whether no limit is named; timers are then true, whatever they are elsewhere."""
        return self.budget == NO_LIMIT

    @property
    def most_rounds(self) -> int:
        """The most thoughts."""
        return most_rounds(self.family, is_unhurried=self.is_unhurried)

    @property
    def conditions(self) -> dict[str, Any]:
        """All that changes how long an unhurried run takes, beside the case."""
        rig = self.rig
        return {
            "family": self.family,
            "who": self.voice.settings(),
            "latency": latency_name(self.latency),
            "tool_latencies": {tool: latency_name(law) for tool, law in rig.tool_latencies},
            "alpha": rig.alpha,
            "calls": rig.calls,
            "most_tokens": rig.most_tokens,
            "clock": rig.clock,
            "pace": None if rig.pace is None else [rig.pace.first, rig.pace.per_token],
            "seed": rig.seed,
        }

    def settings(self) -> dict[str, Any]:
        """What stands in the episode's record."""
        return {
            "suite": f"{NAME}/{self.family}",
            "episode": {
                "family": self.family,
                "case": self.case,
                "who": self.who,
                "stand_in": self.voice.is_stand_in,
                "run": self.run,
                "budget": str(self.budget),
                "budget_ns": self.span,
                "latency": self.latency,
            },
            "voice": self.voice.settings(),
            **self.rig.settings(),
        }


def group_of(family: str, case: str) -> str:
    """The column of a table that a case belongs to: a game, an ML task, or a set of problems.

    A story file is called by its name, wherever it lies.
    """
    if family == "fiction":
        return PurePath(case).name
    return case.partition("/")[0] if family == "reasoning" else case


def _joined(*parts: str) -> str:
    """Parts of a name with what is fit for the name of a file only."""
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-") for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Which episodes of a family to run.

    Attributes:
        family: Which.
        cases: Their names.
        voices: Who works.
        budgets: Under each of them.
        latencies: With each law, as it is written.
        runs: How often, with other chance.

    Raises:
        SettingsError: If a part is unknown, empty or named twice.
    """

    family: Family
    cases: Sequence[str]
    voices: Sequence[ModelRole]
    budgets: Sequence[Budget]
    latencies: Sequence[str] = ("none",)
    runs: int = 1

    def __post_init__(self) -> None:
        check_known("family", self.family, FAMILIES)
        laws = [latency_name(law) for law in self.latencies]
        for kind, given in (
            ("case", self.cases),
            ("player", [voice.spec for voice in self.voices]),
            ("budget", [str(budget) for budget in self.budgets]),
            ("latency", laws),
        ):
            if len(set(given)) < len(given):
                raise SettingsError(f"a {kind} was named twice: {', '.join(given)}")
            if not given:
                raise SettingsError(f"a run needs at least one {kind}")
        for budget in self.budgets:
            if budget.whose:
                who = [voice.spec for voice in self.voices]
                check_known(f"player of the run, in the budget {budget}:", budget.whose, who)
        if self.runs < 1:
            raise SettingsError(f"a case needs at least 1 run, got {self.runs}")


def unhurried(sweep: Sweep, rig: Rig, *, runs: int = 1) -> list[TimelySpec]:
    """The runs without a limit from which the baselines of a sweep are made."""
    laws = map(latency_name, sweep.latencies)
    return [
        TimelySpec(family=sweep.family, case=case, voice=voice, run=run, latency=law, rig=rig)
        for law, case, voice in product(laws, sweep.cases, sweep.voices)
        for run in range(runs)
    ]


def episodes(sweep: Sweep, rig: Rig, baselines: Baselines, *, remedy: str) -> list[TimelySpec]:
    """Spell out a sweep.

    Args:
        sweep: What to run.
        rig: What its episodes share.
        baselines: What unhurried runs took.
        remedy: The command that makes baselines, for who has none.

    Raises:
        SettingsError: If a relative budget has no baseline; the first such cases are named.
    """
    missing = list(dict.fromkeys(_missing(sweep, rig, baselines)))
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise SettingsError(
            f"no baseline is known for {', '.join(missing[:_NAMED])}{more}; budgets such as 0.75x "
            f"and 30steps are multiples of it. Make it with: {remedy}"
        )
    return list(_episodes(sweep, rig, baselines))


def _missing(sweep: Sweep, rig: Rig, baselines: Baselines) -> Iterator[str]:
    for spec, budget in product(unhurried(sweep, rig), sweep.budgets):
        whose = _whose(spec, budget, sweep)
        if budget.is_relative and _baseline(whose, baselines) is None:
            latency = "" if len(sweep.latencies) == 1 else f" with latency {spec.latency}"
            yield f"{spec.case} by {whose.who}{latency}"


def _whose(spec: TimelySpec, budget: Budget, sweep: Sweep) -> TimelySpec:
    """The unhurried run that a budget is a multiple of."""
    if not budget.whose:
        return spec
    return replace(spec, voice=next(v for v in sweep.voices if v.spec == budget.whose))


def _baseline(spec: TimelySpec, baselines: Baselines) -> Baseline | None:
    kept = baselines.get(key_of(spec.case, spec.conditions))
    return None if kept is None else kept.baseline


def _episodes(sweep: Sweep, rig: Rig, baselines: Baselines) -> Iterator[TimelySpec]:
    for like in unhurried(sweep, rig):
        for budget, run in product(sweep.budgets, range(sweep.runs)):
            span = budget.span(_baseline(_whose(like, budget, sweep), baselines))
            yield replace(like, run=run, budget=budget, span=span)
