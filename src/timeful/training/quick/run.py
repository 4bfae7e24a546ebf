"""The embedded run as one call: all stages of all seeds, side by side, resumable."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from queue import Empty
from typing import Any

from timeful.core.clock import monotonic_ns
from timeful.records.folder import FolderKind
from timeful.runs.workers import WorkerPool
from timeful.training.folder import CHECKPOINTS
from timeful.training.quick.recipe import Arm, Recipe
from timeful.training.quick.stages import Kind, Stage, Tell, Tracker, perform

Watch = Callable[[float, float | None, str], None]
"""Told which share of all work is done; how many seconds are left, once that can be told; and what
is being done."""

Do = Callable[[Stage, Tell], None]

QUICK = FolderKind(noun="run", contents=("seed-*", "fraction-*"))
"""The folder of an embedded run."""

_PATIENCE_S = 0.5
_EXAMS: tuple[Kind, ...] = ("grade", "hurry", "mislead")


def plan(
    recipe: Recipe,
    arms: Sequence[Arm],
    seeds: Sequence[int],
    out: Path,
    *,
    track: Tracker | None = None,
) -> list[Stage]:
    """The stages in the order in which they had best begin: first what most others wait for.

    Args:
        recipe: The settings.
        arms: Those of its arms that are learnt.
        seeds: For each.
        out: The folder.
        track: Where metrics go, beside the file.
    """

    def each(kind: Kind, who: Sequence[Arm | None] = (None,)) -> list[Stage]:
        return [
            Stage(kind=kind, recipe=recipe, seed=seed, out=out, arm=arm, track=track)
            for seed in seeds
            for arm in who
        ]

    if recipe.language.opening:
        everybody = [None, *arms]
        return [
            *each("teach"),
            *each("measure"),
            *each("learn", arms),
            *(stage for kind in _EXAMS for stage in each(kind, everybody)),
        ]
    late = [arm for arm in arms if arm.is_relative]
    stages = [*each("teach"), *(each("measure") if late else [])]
    stages += each("learn", arms)
    stages += each("grade", [None, *(arm for arm in arms if not arm.is_relative)])
    # The arm that knows no time and is cut the latest is what the papers call plain GRPO.
    plain = [arm for arm in arms if arm.name == plainest(arms)]
    return stages + (each("hurry", [None, *plain, *late]) if late else [])


def plainest(arms: Sequence[Arm]) -> str | None:
    """The arm that is rewarded for being right alone, with the longest cap; None if none is."""
    plain = [arm for arm in arms if arm.reward == "correctness"]
    return max(plain, key=lambda arm: arm.cap).name if plain else None


def run(stages: Sequence[Stage], *, workers: int, watch: Watch, do: Do = perform) -> list[str]:
    """Do all stages that are not done.

    A stage that fails is told of, and those that need it are left out; all others go on. If a
    process dies, what it may have died of is done again, one by one.

    Args:
        stages: What to do, in the order in which it had best begin.
        workers: How many processes.
        watch: Told of the progress.
        do: Does one.

    Returns:
        What failed, in words; empty if nothing did.
    """
    os.environ.update(_QUIET)
    work = _Work(
        todo=[stage for stage in stages if not stage.is_done],
        do=do,
        forecast=_Forecast(stages, watch),
    )
    while work.todo or work.suspects:
        # Alone, so that it is known who the process died of.
        _until_it_breaks(work, 1 if work.suspects else workers)
    return work.failed


_QUIET = {
    # One thread each: two processes with two threads each are many times slower than one.
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "PYTHONWARNINGS": "ignore",
}


@dataclass(kw_only=True)
class _Work:
    """What is to be done, and what became of it."""

    todo: list[Stage]
    do: Do
    forecast: "_Forecast"
    suspects: list[Stage] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def next(self, *, is_alone: bool) -> Stage | None:
        """The next stage that can begin; None if none can."""
        if is_alone:
            return self.suspects[0] if self.suspects else None
        return next((s for s in self.todo if all(path.exists() for path in s.needs)), None)

    def taken(self, stage: Stage) -> None:
        """A stage was begun."""
        (self.suspects if stage in self.suspects else self.todo).remove(stage)

    def fail(self, stage: Stage, why: str) -> None:
        """A stage came to nothing."""
        self.failed.append(f"{stage.name}: {why}")


def _until_it_breaks(work: _Work, workers: int) -> None:
    """Do stages side by side, until none can begin any more or a process died."""
    is_alone = bool(work.suspects)
    told: Any = get_context("spawn").Queue()  # a new one each: who died may have held its lock
    pool = WorkerPool(workers, _listen, told)
    running: dict[Future[None], Stage] = {}
    try:
        while _begin(work, pool, running, 1 if is_alone else workers, is_alone=is_alone):
            done, _ = wait(running, timeout=_PATIENCE_S, return_when=FIRST_COMPLETED)
            work.forecast.take(told, running.values())
            for future in done:
                _end(work, future, running)
    except BrokenProcessPool:
        for stage in running.values():
            if is_alone:
                work.fail(stage, "the process that did it died")
            elif not stage.is_done:
                work.suspects.append(stage)
        return
    finally:
        pool.stop()
    if not is_alone:
        for stage in work.todo:
            work.fail(stage, "left out, since what it needs is not there")
        work.todo.clear()


def _begin(
    work: _Work,
    pool: ProcessPoolExecutor,
    running: dict[Future[None], Stage],
    most: int,
    *,
    is_alone: bool,
) -> bool:
    """Begin as many stages as there are workers, if so many can begin; whether any goes on."""
    while len(running) < most:
        stage = work.next(is_alone=is_alone)
        if stage is None:
            break
        # Taken when it is submitted: a pool may be found broken just here.
        running[pool.submit(_perform, stage, work.do)] = stage
        work.taken(stage)
    return bool(running)


def _end(work: _Work, future: Future[None], running: dict[Future[None], Stage]) -> None:
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error
    stage = running.pop(future)
    if error is not None:
        work.fail(stage, f"{type(error).__name__}: {error}")


_TOLD: Any = None
"""Where a worker tells how far it is."""


def _listen(told: Any) -> None:
    global _TOLD  # noqa: PLW0603 - a queue can only be handed over when a process begins
    _TOLD = told


def _perform(stage: Stage, do: Do) -> None:
    """Do a stage in a worker."""
    last = 0.0

    def tell(share: float) -> None:
        nonlocal last
        if share - last >= 0.02 or share == 1.0:
            _TOLD.put((str(stage.result), share))
            last = share

    do(stage, tell)


def _kept(stage: Stage) -> float:
    """Which share of a stage is done before it begins, so that nobody takes it for quick work."""
    if stage.is_done or stage.kind != "learn":
        return float(stage.is_done)
    found = (stage.model.parent / CHECKPOINTS).glob("checkpoint-*")
    last = max((int(path.name.rpartition("-")[2]) for path in found), default=0)
    return last / stage.recipe.updates


class _Forecast:
    """How far it is, and how long it will still take at the pace so far."""

    def __init__(self, stages: Sequence[Stage], watch: Watch) -> None:
        self._work = {str(stage.result): stage.work for stage in stages}
        self._shares = {str(stage.result): _kept(stage) for stage in stages}
        self._watch = watch
        self._found = self._done
        self._began = monotonic_ns()

    @property
    def _done(self) -> float:
        return sum(self._work[name] * share for name, share in self._shares.items())

    def take(self, told: Any, running: Iterable[Stage]) -> None:
        """Take what the workers told."""
        while True:
            try:
                name, share = told.get_nowait()
            except Empty:
                break
            self._shares[name] = max(share, self._shares[name])
        whole = sum(self._work.values())
        own = self._done - self._found
        passed = (monotonic_ns() - self._began) / 1e9
        seconds = (whole - self._done) * passed / own if own > 0.02 * whole else None
        self._watch(self._done / whole, seconds, "; ".join(stage.name for stage in running))
