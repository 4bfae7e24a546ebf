"""Opening problems of reasoning, with their checkers of answers."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from threading import Lock
from typing import Any

from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.files import BENCHMARKS, Fields, from_jsonl
from timeful.environments.reasoning.problems import Problem, load
from timeful.environments.reasoning.reasoning_gym import PACKAGE, make_problems
from timeful.environments.reasoning.split import SHARES, split_of
from timeful.environments.reasoning.task import ReasoningTask
from timeful.errors import SettingsError, check_known
from timeful.sandbox.workspace import Backend, Workspace
from timeful.tasks.episode import TaskEpisode, TaskSource
from timeful.tasks.families import OpenTask

SET_SIZE = 28
"""The default number of problems of a set."""

FIELDS = ("question", "answer", "id", "choices", "wrong", "kind")
"""The meanings that a field of a file of problems can have."""

GYM = "gym:"
"""The prefix of reasoning-gym's tasks among sets of problems."""


class ReasoningOpener:
    """Opens problems; keeps the problems of the last sources, and the checkers."""

    def __init__(self, backend: Callable[[bool], Backend]) -> None:
        self._backend = backend
        self._load = lru_cache(maxsize=4)(self._load_problems)
        self._checkers: dict[tuple[bool, bool], Checker] = {}
        self._resources = ExitStack()
        self._lock = Lock()  # episodes begin at one instant in many threads

    def problems(self, source: TaskSource, seed: int) -> Mapping[str, Problem]:
        """The problems of a source by the names of their cases, `family/id`.

        Args:
            source: A file, or sets and their size; sets of reasoning-gym are `gym:TASK`.
            seed: Of generated problems.

        Raises:
            SettingsError: If there are no such problems.
        """
        return self._load(source, seed)[0]

    def select(self, names: tuple[str, ...], source: TaskSource, seed: int) -> tuple[str, ...]:
        """Check the problems of the source, whose sets are the names."""
        problems, has_gym = self._load(source, seed)
        if any(problem.private for problem in problems.values()) and not source.is_private:
            raise SettingsError("the problems are private, and the run would record their words")
        self._checker(source.is_unsafe, has_gym).prepare(problems.values())
        return tuple(problems)

    def open(self, episode: TaskEpisode) -> OpenTask:
        """Open the problem of an episode."""
        source = episode.shared.source
        with self._lock:
            problems, has_gym = self._load(source, episode.shared.seed)
            checker = self._checker(source.is_unsafe, has_gym)
        problem = problems[episode.case]
        return OpenTask(
            task=ReasoningTask(problem, checker),
            rule=lambda player: player.make(problem),
        )

    def close(self) -> None:
        """Close the checkers and their sandboxes."""
        self._checkers.clear()
        self._resources.close()

    def _checker(self, is_unsafe: bool, has_gym: bool) -> Checker:
        """The checker, with a sandbox if reasoning-gym scores problems."""
        key = (is_unsafe, has_gym)
        if key not in self._checkers:
            sandbox = self._resources.enter_context(self._sandbox(is_unsafe)) if has_gym else None
            self._checkers[key] = self._resources.enter_context(Checker(sandbox=sandbox))
        return self._checkers[key]

    def _sandbox(self, is_unsafe: bool) -> Workspace:
        return Workspace(files={}, outputs=(), warm=(PACKAGE,), backend=self._backend(is_unsafe))

    def _load_problems(self, source: TaskSource, seed: int) -> tuple[Mapping[str, Problem], bool]:
        """The problems by case, and whether any is of reasoning-gym."""
        problems: list[Problem] = []
        if source.problems is not None:
            path, fields = Path(source.problems), _fields(source)
            problems += from_jsonl(path, fields, limit=source.size, seed=seed, split=source.split)
        for name in source.sets:
            size = source.size or SET_SIZE
            if name.startswith(GYM):
                problems += self._load_gym(name.removeprefix(GYM), source, size=size, seed=seed)
            else:
                problems += load(name, size=size, seed=seed, split=source.split)
        cases = {f"{problem.family}/{problem.id}": problem for problem in problems}
        return cases, any(problem.kind == "gym" for problem in problems)

    def _load_gym(
        self, task: str, source: TaskSource, *, size: int, seed: int
    ) -> Sequence[Problem]:
        """Generate problems of reasoning-gym; for a split, more of them until enough are in it."""
        with self._sandbox(source.is_unsafe) as sandbox:
            if source.split is None:
                return make_problems(task, size=size, seed=seed, sandbox=sandbox)
            share: float = getattr(SHARES, source.split)
            for factor in (1.5, 6, 24):
                count = ceil(factor * size / share)
                problems = [
                    problem
                    for problem in make_problems(task, size=count, seed=seed, sandbox=sandbox)
                    if split_of(problem.question) == source.split
                ]
                if len(problems) >= size:
                    return problems[:size]
        raise SettingsError(
            f"task {task!r} has only {len(problems)} problems in split {source.split!r}, but "
            f"{size} were requested"
        )


def _fields(source: TaskSource) -> Fields:
    """The field map of a file; fields of the source take precedence over the benchmark's."""
    fields = BENCHMARKS[source.benchmark]
    columns: dict[str, Any] = {}
    for name, column in source.fields:
        check_known("field of a problem", name, FIELDS)
        columns[name] = (*columns.get(name, ()), column)
    return replace(fields, **columns, private=fields.private or source.is_private)
