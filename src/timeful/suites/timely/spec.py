"""The episodes of Timely-Eval: cases, players, budgets, latencies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from timeful.errors import SettingsError, check_known
from timeful.models.role import ModelRole
from timeful.suites.timely.baselines import Baselines, key_of
from timeful.tasks.budgets import Baseline, Budget
from timeful.tasks.episode import FAMILIES, Family, SharedSettings, TaskEpisode, latency_name

NAME = "timely"

_NAMED = 3
"""The number of cases without a baseline that an error names."""


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
            if budget.player:
                who = [voice.spec for voice in self.voices]
                check_known(f"player of the run, in the budget {budget}:", budget.player, who)
        if self.runs < 1:
            raise SettingsError(f"a case needs at least 1 run, got {self.runs}")


def unhurried(sweep: Sweep, rig: SharedSettings, *, runs: int = 1) -> list[TaskEpisode]:
    """The runs without a limit from which the baselines of a sweep are made."""
    laws = map(latency_name, sweep.latencies)
    return [
        TaskEpisode(family=sweep.family, case=case, role=voice, run=run, latency=law, shared=rig)
        for law, case, voice in product(laws, sweep.cases, sweep.voices)
        for run in range(runs)
    ]


def episodes(
    sweep: Sweep, rig: SharedSettings, baselines: Baselines, *, remedy: str
) -> list[TaskEpisode]:
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


def _missing(sweep: Sweep, rig: SharedSettings, baselines: Baselines) -> Iterator[str]:
    for spec, budget in product(unhurried(sweep, rig), sweep.budgets):
        whose = _whose(spec, budget, sweep)
        if budget.is_relative and _baseline(whose, baselines) is None:
            latency = "" if len(sweep.latencies) == 1 else f" with latency {spec.latency}"
            yield f"{spec.case} by {whose.player}{latency}"


def _whose(spec: TaskEpisode, budget: Budget, sweep: Sweep) -> TaskEpisode:
    """The unhurried run that a budget is a multiple of."""
    if not budget.player:
        return spec
    return replace(spec, role=next(v for v in sweep.voices if v.spec == budget.player))


def _baseline(spec: TaskEpisode, baselines: Baselines) -> Baseline | None:
    kept = baselines.get(key_of(spec.case, spec.conditions))
    return None if kept is None else kept.baseline


def _episodes(sweep: Sweep, rig: SharedSettings, baselines: Baselines) -> Iterator[TaskEpisode]:
    for like in unhurried(sweep, rig):
        for budget, run in product(sweep.budgets, range(sweep.runs)):
            span = budget.span(_baseline(_whose(like, budget, sweep), baselines))
            yield replace(like, run=run, budget=budget, span=span)
