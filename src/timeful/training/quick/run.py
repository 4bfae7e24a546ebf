"""Running the steps of an embedded run in several processes."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool

from timeful.runs.workers import WorkerPool
from timeful.training.quick.steps import Step, perform


def run_steps(
    steps: Sequence[Step],
    *,
    workers: int,
    watch: Callable[[Step], None],
    do: Callable[[Step], None] = perform,
) -> list[str]:
    """Do all steps that are not done; a step that needs the result of a failed one is skipped.

    Args:
        steps: The steps.
        workers: The number of processes.
        watch: Called after each step, whether it was done now, done before, or failed.
        do: Does one step; importable.

    Returns:
        A line for each step that failed or was skipped.
    """
    os.environ.update(_QUIET)
    todo: list[Step] = []
    for step in steps:
        if step.is_done:
            watch(step)
        else:
            todo.append(step)
    failures = _do_steps(todo, workers, watch, do) if todo else []
    for step in todo:
        failures.append(f"{step.name}: skipped, because a step that it needs failed")
        watch(step)
    return failures


def _do_steps(
    todo: list[Step], workers: int, watch: Callable[[Step], None], do: Callable[[Step], None]
) -> list[str]:
    """Do each step as soon as what it needs is there; removes the steps that were tried."""
    failures: list[str] = []
    suspects: set[Step] = set()
    running: dict[Future[None], Step] = {}
    pool = WorkerPool(min(workers, len(todo)), is_single=True)
    try:
        while True:
            for step in [step for step in todo if all(path.exists() for path in step.needs)]:
                todo.remove(step)
                running[pool.submit(do, step)] = step
            if not running:
                return failures
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                step, error = running.pop(future), future.exception()
                if isinstance(error, BrokenProcessPool) and step not in suspects:
                    suspects.add(step)  # what killed its process may have been another program
                    todo.insert(0, step)
                    continue
                if error is not None:
                    died = isinstance(error, BrokenProcessPool)
                    why = "its process died" if died else f"{type(error).__name__}: {error}"
                    failures.append(f"{step.name}: {why}")
                watch(step)
    finally:
        pool.stop()


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
