"""Running the steps of an embedded run in several processes."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool

from timeful.records.folder import FolderKind
from timeful.runs.workers import WorkerPool
from timeful.training.quick.steps import EXAMS, Step, perform

QUICK = FolderKind(noun="run", contents=("seed-*", "fraction-*"))
"""The folder of an embedded run."""

Watch = Callable[[Step], None]
"""Called after each step, whether it was done now, done before, or failed."""

_PHASES = (("teach",), ("measure",), ("learn",), tuple(EXAMS))
"""Steps of a phase do not depend on each other."""


def run_steps(
    steps: Sequence[Step], *, workers: int, watch: Watch, do: Callable[[Step], None] = perform
) -> list[str]:
    """Do all steps that are not done; a step that needs the result of a failed one is skipped.

    Args:
        steps: The steps.
        workers: The number of processes.
        watch: Follows the progress.
        do: Does one step; importable.

    Returns:
        A line for each step that failed or was skipped.
    """
    os.environ.update(_QUIET)
    failures: list[str] = []
    for kinds in _PHASES:
        ready = []
        for step in (step for step in steps if step.kind in kinds):
            if not step.is_done and all(path.exists() for path in step.needs):
                ready.append(step)
                continue
            if not step.is_done:
                failures.append(f"{step.name}: skipped, because a step that it needs failed")
            watch(step)
        failures += _run_phase(ready, workers, watch, do)
    return failures


def _run_phase(
    steps: Sequence[Step], workers: int, watch: Watch, do: Callable[[Step], None]
) -> list[str]:
    if not steps:
        return []
    failures: list[str] = []
    todo = list(steps)
    pool = WorkerPool(min(workers, len(steps)))
    try:
        futures = {pool.submit(do, step): step for step in steps}
        for future in as_completed(futures):
            error, step = future.exception(), futures[future]
            if isinstance(error, BrokenProcessPool):
                raise error
            if error is not None:
                failures.append(f"{step.name}: {type(error).__name__}: {error}")
            todo.remove(step)
            watch(step)
    except BrokenProcessPool:
        if len(steps) == 1:
            failures.append(f"{steps[0].name}: its process died")
            watch(steps[0])
            return failures
        # The step whose process died is unknown: each of the others runs alone.
        pool.stop()
        return failures + [line for step in todo for line in _run_phase([step], 1, watch, do)]
    finally:
        pool.stop()
    return failures


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
