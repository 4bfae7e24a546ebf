"""Playing traces: ordinary episodes of Timely-Eval, each with a budget and a timer of its own.

What a trace is like depends on its problem, its number and the seed alone: not on the order of the
problems, nor on which others there are.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import exp, log
from typing import Any

from timeful.agents.tool_user import tool_user
from timeful.core.clock import VirtualClock
from timeful.core.units import milliseconds
from timeful.environments.reasoning.problems import Problem
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.environments.timed.world import TimedTask
from timeful.errors import SettingsError
from timeful.interfaces.event_driven import EventDriven
from timeful.models.kinds import ApiKey
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child, child_seed
from timeful.tasks.budgets import Budget
from timeful.tasks.episode import SharedSettings, TaskEpisode
from timeful.tasks.families import FAMILY_SPECS
from timeful.tasks.library import process_library
from timeful.tasks.play import play as play_timely
from timeful.training.data.settings import Problems, Settings, source_of
from timeful.training.data.solution_writer import NAME, SOLUTION_WRITER, time_in_full


def specs_of(settings: Settings) -> list[TaskEpisode]:
    """The episodes that settings ask for.

    Raises:
        SettingsError: If there are no such problems, they are private, or nobody can solve them.
    """
    assert settings.problems is not None
    source = source_of(settings.problems)
    problems_by_name = process_library().problems(source, settings.seed)
    if any(problem.private for problem in problems_by_name.values()):
        raise SettingsError("the problems are private: no traces may be made of their words")
    process_library().select("reasoning", source.sets, source, seed=settings.seed)
    if settings.teacher is None:
        SOLUTION_WRITER.make(next(iter(problems_by_name.values())))
    rig, role = _rig(settings, settings.problems), _voice(settings)
    return [
        _spec(settings, rig, role, case=case, problem=problem, run=run)
        for case, problem in problems_by_name.items()
        for run in range(settings.each)
    ]


def common(spec: TaskEpisode) -> dict[str, Any]:
    """What all traces have in common, of what stands in the settings of one."""
    settings = spec.shared.settings()
    return {name: value for name, value in settings.items() if name not in ("alpha", "timer")}


def check(specs: Sequence[TaskEpisode]) -> None:
    """Find what would keep the teacher from being asked.

    Raises:
        SettingsError: If there is no client.
    """
    for role in {spec.role for spec in specs}:
        role.check(pace=SOLUTION_WRITER.pace)


def play(spec: TaskEpisode, recorder: Recorder, *, api_key: ApiKey = "") -> bool:
    """Play an episode and write its record; True if it came to its end."""
    if not spec.role.is_stand_in:
        return play_timely(spec, recorder, api_key=api_key)
    family, rig = FAMILY_SPECS["reasoning"], spec.shared
    case = process_library().open(spec)
    seed = child_seed(rig.seed, "trace", spec.case, spec.run)
    try:
        return play_episode(
            EpisodeSetting(settings=spec.settings(), seed=seed, transcripts="full"),
            environment=TimedTask(case.task, spec.time, seed=child_seed(seed, "time")),
            interface=partial(EventDriven, full=True),
            agent=partial(
                tool_user,
                model=RuleModel(
                    case.rule(SOLUTION_WRITER), name=NAME, pace=rig.pace or SOLUTION_WRITER.pace
                ),
                briefing=family.briefing,
            ),
            clock=VirtualClock(),
            recorder=recorder,
        )
    finally:
        case.close()


def _rig(settings: Settings, problems: Problems) -> SharedSettings:
    """What all traces have in common; calls stand in words, so that any model can learn them."""
    first, token_ms = settings.time.pace_ms
    return SharedSettings(
        source=source_of(problems),
        calls="text",
        pace=Pace(first=milliseconds(first), per_token=milliseconds(token_ms)),
        seed=settings.seed,
        transcripts="full",
    )


def _voice(settings: Settings) -> ModelRole:
    teacher = settings.teacher
    if teacher is None:
        return ModelRole(stand_in=NAME)
    return ModelRole(stand_in=NAME, choice=teacher.endpoint.choose())


def _spec(
    settings: Settings,
    rig: SharedSettings,
    role: ModelRole,
    *,
    case: str,
    problem: Problem,
    run: int,
) -> TaskEpisode:
    rng = child(settings.seed, "trace", problem.id, run)
    low, high = settings.time.budgets
    amount = float(rng.uniform(low.amount, high.amount))
    # Half as fast and twice as fast are as likely.
    slow, fast = settings.time.alpha
    alpha = exp(float(rng.uniform(log(slow), log(fast))))
    jitter = float(rng.uniform(*settings.time.jitter_s))
    if low.kind == "times":
        assert rig.pace is not None
        amount *= time_in_full(problem, rig.pace)
    # To hundredths, as the prompt says it.
    budget = Budget("seconds", max(0.01, round(amount, 2)))
    return TaskEpisode(
        family="reasoning",
        case=case,
        role=role,
        run=run,
        latency="none",
        shared=replace(rig, alpha=round(alpha, 3), timer=TimerSettings(jitter=round(jitter, 3))),
        budget=budget,
        span=budget.span(None),
    )
