"""The embedded run as one call: all seeds, side by side, resumable; then the report."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from typing import Any

from timeful.core.clock import monotonic_ns
from timeful.training.quick.recipe import Recipe
from timeful.training.quick.stages import Stage, perform

Watch = Callable[[float, float | None], None]
"""Told which share of all work is done, and how many seconds are left, once that can be told."""

_PATIENCE_S = 1.0


def plan(recipe: Recipe, seeds: Sequence[int], out: Path) -> list[list[Stage]]:
    """The stages, in waves: each needs only what stands in an earlier one."""
    starts = [Stage(recipe=recipe, seed=seed, out=out) for seed in seeds]
    arms = [
        Stage(recipe=recipe, seed=seed, out=out, arm=arm) for seed in seeds for arm in recipe.arms
    ]
    grading = [
        Stage(recipe=recipe, seed=seed, out=out, arm=arm, is_grading=True)
        for seed in seeds
        for arm in (None, *recipe.arms)
    ]
    return [starts, arms, grading]


def run(
    recipe: Recipe, seeds: Sequence[int], out: Path, *, workers: int, watch: Watch
) -> list[str]:
    """Do all stages that are not done.

    A stage that fails is told of, and those that need it are left out; all others go on.

    Args:
        recipe: What to do.
        seeds: For each.
        out: The folder.
        workers: How many processes.
        watch: Told of the progress.

    Returns:
        What failed, in words; empty if nothing did.
    """
    waves = plan(recipe, seeds, out)
    clock = _Forecast(sum(stage.work for wave in waves for stage in wave), watch)
    failed: list[str] = []
    context = multiprocessing.get_context("spawn")
    os.environ.update(_QUIET)
    with context.Manager() as manager:
        told: Any = manager.Queue()
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            for wave in waves:
                todo = [stage for stage in wave if not stage.is_done]
                clock.skip(sum(stage.work for stage in wave if stage.is_done))
                failed += _wave(pool, todo, told, clock)
    return failed


_QUIET = {
    # One thread each: two processes with two threads each are many times slower than one.
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "PYTHONWARNINGS": "ignore",
}


def _wave(
    pool: ProcessPoolExecutor, stages: Sequence[Stage], told: "Queue[Any]", clock: "_Forecast"
) -> Iterator[str]:
    """Do stages side by side; what failed, as it fails."""
    waiting: dict[Future[None], Stage] = {
        pool.submit(_perform, stage, told): stage for stage in stages if _can_begin(stage)
    }
    for stage in stages:
        if not _can_begin(stage):
            yield f"seed {stage.seed}, {stage.name}: left out, what it needs is not there"
    while waiting:
        done, _ = wait(waiting, timeout=_PATIENCE_S, return_when=FIRST_COMPLETED)
        clock.take(told)
        for future in done:
            stage = waiting.pop(future)
            error = future.exception()
            if error is not None:
                yield f"seed {stage.seed}, {stage.name}: {type(error).__name__}: {error}"


def _can_begin(stage: Stage) -> bool:
    """Whether an earlier wave left what it needs."""
    start = Stage(recipe=stage.recipe, seed=stage.seed, out=stage.out)
    if stage.is_grading:
        return stage.model.exists()
    return stage.arm is None or start.is_done


def _perform(stage: Stage, told: "Queue[Any]") -> None:
    """Do a stage in a process of the pool."""
    last = 0.0

    def tell(share: float) -> None:
        nonlocal last
        if share - last >= 0.02 or share == 1.0:
            told.put((share - last) * stage.work)
            last = share

    perform(stage, tell)


class _Forecast:
    """How far it is, and how long it will still take at the pace so far."""

    def __init__(self, work: float, watch: Watch) -> None:
        self._work = work
        self._watch = watch
        self._done = self._skipped = 0.0
        self._began = monotonic_ns()

    def skip(self, work: float) -> None:
        """Some was done by an earlier call."""
        self._skipped += work
        self._tell()

    def take(self, told: "Queue[Any]") -> None:
        """Take what the processes told."""
        while True:
            try:
                self._done += told.get_nowait()
            except Empty:
                break
        self._tell()

    def _tell(self) -> None:
        passed = (monotonic_ns() - self._began) / 1e9
        left = self._work - self._skipped - self._done
        seconds = left * passed / self._done if self._done > 0.02 * self._work else None
        self._watch(1 - left / self._work, seconds)
