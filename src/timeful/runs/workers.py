"""Processes that work side by side, and leave when whoever asked them does."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection
from typing import Any


def start(
    workers: int, prepare: Callable[..., object] | None = None, *given: Any
) -> ProcessPoolExecutor:
    """Start so many workers, each prepared by a call of its own.

    Spawned, not forked: the parent may have threads (a progress bar, a model's connection).
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        workers, mp_context=context, initializer=_prepare, initargs=(prepare, given)
    )


def stop(pool: ProcessPoolExecutor) -> None:
    """Stop them, whatever they do."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _prepare(prepare: Callable[..., object] | None, given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()
    if prepare is not None:
        prepare(*given)


def _die_with(sentinel: int) -> None:
    """Leave when the parent does, even if it was killed: nobody would collect the work."""
    connection.wait([sentinel])
    os._exit(1)
