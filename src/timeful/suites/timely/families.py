"""The three kinds of work, joined: how a case of each is opened, and who can work on it.

A sandbox is one for each episode of a language model, so that no program finds what another left.
Whatever is dear to make and stays the same, a case's data or a checker of answers, is made once
for each process.
"""

import atexit
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

from timeful.agents.players import Player, explorer, ladder, solver
from timeful.agents.prompts.timely import BRIEFINGS
from timeful.agents.tool_user import Briefing
from timeful.core.units import in_seconds
from timeful.environments.coding.cases import SYNTHETIC, Case, case_names, open_case
from timeful.environments.coding.task import LONGEST_RUN, WARM, CodingTask
from timeful.environments.fiction.library import check_extras, check_game, open_game
from timeful.environments.fiction.task import FictionTask
from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.files import BENCHMARKS, Fields, from_jsonl
from timeful.environments.reasoning.problems import Problem, load
from timeful.environments.reasoning.reasoning_gym import PACKAGE, make_problems
from timeful.environments.reasoning.split import SHARES, split_of
from timeful.environments.reasoning.task import ReasoningTask
from timeful.environments.timed.task import Task
from timeful.errors import SettingsError, check_known
from timeful.models.rules import Rule
from timeful.sandbox.workspace import Backend, WorkLimits, Workspace, choose_backend
from timeful.seeding import child_seed
from timeful.suites.timely.spec import Family, Source, TimelySpec, group_of

SET_SIZE = 28
"""How many problems of a set are taken, unless a run says otherwise."""

FIELDS = ("question", "answer", "id", "choices", "wrong", "kind")
"""What a field of a file of problems can hold."""

GYM = "gym:"
"""How the names of reasoning-gym's tasks begin, as sets of problems."""


@dataclass(slots=True, kw_only=True)
class Opened:
    """A case that can be worked on, until it is closed.

    Attributes:
        task: The case.
        rule: What a stand-in goes by, made for this case.
    """

    task: Task
    rule: Callable[[Player], Rule]
    _held: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Let go of it."""
        self._held.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A kind of work.

    Attributes:
        briefing: What whoever works is told.
        players: The stand-ins.
        open: Opens the case of an episode; raises a TimefulError if it cannot.
        cases: The names of the cases that were asked for, checked; see `cases_of`.
    """

    briefing: Briefing
    players: Mapping[str, Player]
    open: Callable[[TimelySpec], Opened]
    cases: Callable[[tuple[str, ...], Source, int], tuple[str, ...]]


def cases_of(
    family: Family, asked: tuple[str, ...], source: Source, *, seed: int
) -> tuple[str, ...]:
    """The cases of a run.

    Args:
        family: Of which kind of work.
        asked: The games, ML tasks or sets of problems that were asked for.
        source: Where they come from.
        seed: By which problems are made.

    Raises:
        SettingsError: If there is no such case, or it cannot be had here.
    """
    return PARTS[family].cases(asked, source, seed)


# --- interactive fiction --------------------------------------------------------------------------


def _games(asked: tuple[str, ...], source: Source, seed: int) -> tuple[str, ...]:
    for name in asked:
        check_game(name)
    columns = [group_of("fiction", name) for name in asked]
    if len(set(columns)) < len(set(asked)):
        raise SettingsError(f"two story files have the same name: {', '.join(asked)}")
    for name in asked:
        check_extras(name)
    return asked


def _open_game(spec: TimelySpec) -> Opened:
    game = open_game(spec.case, seed=child_seed(spec.rig.seed, "game", spec.case, spec.run))
    task, held = FictionTask(game), ExitStack()
    held.callback(task.close)
    return Opened(task=task, rule=lambda player: player.make(), _held=held)


# --- machine learning -----------------------------------------------------------------------------


def _ml_tasks(asked: tuple[str, ...], source: Source, seed: int) -> tuple[str, ...]:
    for name in asked:
        check_known("coding case", name, case_names())
    if source.data is not None and set(asked) <= SYNTHETIC.keys():
        raise SettingsError(f"no data are read for {', '.join(asked)}, made by a seed")
    for name in asked:
        _case(name, source.data, seed)
    return asked


@lru_cache(maxsize=8)
def _case(name: str, data: str | None, seed: int) -> Case:
    if data is None or name in SYNTHETIC:
        return open_case(name, seed=seed)
    folder = Path(data)
    return open_case(name, data=folder / name if (folder / name).is_dir() else folder, seed=seed)


def _open_ml_task(spec: TimelySpec) -> Opened:
    source = spec.rig.source
    case = _case(spec.case, source.data, spec.rig.seed)
    held = ExitStack()
    if spec.voice.is_stand_in:
        # Its programs are ours and leave nothing behind, so that one sandbox does for many cases.
        workspace = _kept_workspace(case, source.is_unsafe)
    else:
        workspace = held.enter_context(_workspace(case, source.is_unsafe))
    workspace.run("pass")  # modules are imported before time counts, also in wall time
    # The task's own `close` would close a sandbox that is kept.
    task = CodingTask(case, workspace)
    return Opened(task=task, rule=lambda player: player.make(case), _held=held)


def _workspace(case: Case, is_unsafe: bool) -> Workspace:
    return Workspace(
        files=case.files,
        outputs=case.outputs,
        limits=WorkLimits(wall_s=1 + in_seconds(LONGEST_RUN)),  # the task stops them sooner
        warm=WARM,
        backend=_backend(is_unsafe),
        hidden=case.hidden,
    )


_KEPT: dict[str, Workspace] = {}
_CHECKERS: dict[tuple[bool, bool], Checker] = {}
_HELD = ExitStack()


def _kept_workspace(case: Case, is_unsafe: bool) -> Workspace:
    """The sandbox of a case that this process had last."""
    if case.name not in _KEPT:
        _close_kept()
        _KEPT[case.name] = _workspace(case, is_unsafe)
    return _KEPT[case.name]


@atexit.register
def let_go() -> None:
    """Let go of what is kept for the next episodes: sandboxes, checkers, folders of cases."""
    _close_kept()
    _CHECKERS.clear()
    _HELD.close()
    _case.cache_clear()


def _close_kept() -> None:
    while _KEPT:
        _KEPT.popitem()[1].close()


@lru_cache(maxsize=2)
def _backend(is_unsafe: bool) -> Backend:
    """What confines programs here; finding that out takes a moment."""
    return choose_backend(unsafe=is_unsafe)


# --- reasoning ------------------------------------------------------------------------------------


def _problems(asked: tuple[str, ...], source: Source, seed: int) -> tuple[str, ...]:
    found = problems(asked, source, seed)
    if any(problem.private for problem in found.values()) and not source.is_private:
        raise SettingsError("the problems are private, and the run would record their words")
    _checker(source.is_unsafe, _needs_sandbox(found.values())).prepare(found.values())
    return tuple(found)


@lru_cache(maxsize=4)
def problems(asked: tuple[str, ...], source: Source, seed: int) -> Mapping[str, Problem]:
    """The problems of a run by the names of their cases, `family/id`.

    Args:
        asked: Sets of our own, or of reasoning-gym as `gym:TASK`; none if a file was given.
        source: The file, or how many problems a set has.
        seed: Of what is made or drawn.

    Raises:
        SettingsError: If there are no such problems.
    """
    found: list[Problem] = []
    if source.problems is not None:
        path, fields = Path(source.problems), _fields(source)
        found += from_jsonl(path, fields, limit=source.size, seed=seed, split=source.split)
    for name in asked:
        size = source.size or SET_SIZE
        if name.startswith(GYM):
            found += _of_gym(name.removeprefix(GYM), source, size=size, seed=seed)
        else:
            found += load(name, size=size, seed=seed, split=source.split)
    return {f"{problem.family}/{problem.id}": problem for problem in found}


def _of_gym(task: str, source: Source, *, size: int, seed: int) -> Sequence[Problem]:
    """Problems of reasoning-gym; for those on one side, more than enough are made."""
    with _sandbox(source.is_unsafe) as sandbox:
        if source.split is None:
            return make_problems(task, size=size, seed=seed, sandbox=sandbox)
        share: float = getattr(SHARES, source.split)
        for more in (1.5, 6, 24):
            made = make_problems(task, size=ceil(more * size / share), seed=seed, sandbox=sandbox)
            found = [one for one in made if split_of(one.question) == source.split]
            if len(found) >= size:
                return found[:size]
    raise SettingsError(
        f"{task!r} makes hardly more than {len(found)} problems on the side of {source.split}; "
        f"{size} were asked for"
    )


def _fields(source: Source) -> Fields:
    """The field map of a file; what was given by name goes before what it has."""
    fields = BENCHMARKS[source.benchmark]
    own: dict[str, Any] = {}
    for name, column in source.fields:
        check_known("field of a problem", name, FIELDS)
        own[name] = (*own.get(name, ()), column)
    return replace(fields, **own, private=fields.private or source.is_private)


def _needs_sandbox(found: Iterable[Problem]) -> bool:
    return any(problem.kind == "gym" for problem in found)


@lru_cache(maxsize=4)
def _has_gym(asked: tuple[str, ...], source: Source, seed: int) -> bool:
    """Whether a set of problems needs a sandbox; kept, for each of them is opened many times."""
    return _needs_sandbox(problems(asked, source, seed).values())


def _checker(is_unsafe: bool, has_sandbox: bool) -> Checker:
    """The checker of this process; with a sandbox, where reasoning-gym scores."""
    key = (is_unsafe, has_sandbox)
    if key not in _CHECKERS:
        sandbox = _HELD.enter_context(_sandbox(is_unsafe)) if has_sandbox else None
        _CHECKERS[key] = Checker(sandbox=sandbox)
        _HELD.callback(_CHECKERS[key].close)
    return _CHECKERS[key]


def _sandbox(is_unsafe: bool) -> Workspace:
    return Workspace(files={}, outputs=(), warm=(PACKAGE,), backend=_backend(is_unsafe))


def _open_problem(spec: TimelySpec) -> Opened:
    source = spec.rig.source
    found = problems(source.sets, source, spec.rig.seed)
    problem = found[spec.case]
    check = _checker(source.is_unsafe, _has_gym(source.sets, source, spec.rig.seed))
    return Opened(task=ReasoningTask(problem, check), rule=lambda player: player.make(problem))


PARTS: Mapping[Family, Part] = {
    "fiction": Part(
        briefing=BRIEFINGS["fiction"], players=explorer.PLAYERS, open=_open_game, cases=_games
    ),
    "coding": Part(
        briefing=BRIEFINGS["coding"], players=ladder.PLAYERS, open=_open_ml_task, cases=_ml_tasks
    ),
    "reasoning": Part(
        briefing=BRIEFINGS["reasoning"],
        players=solver.PLAYERS,
        open=_open_problem,
        cases=_problems,
    ),
}
