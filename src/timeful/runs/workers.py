"""Worker processes that end with the process that started them."""

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from timeful.registry import import_file, imported_files


class WorkerPool(ProcessPoolExecutor):
    """Worker processes, each prepared by a call.

    Workers are spawned, not forked: the parent may have threads (a progress bar, the connection of
    a model). Their temporary files are in one folder, because a worker that is terminated does not
    delete its own.
    """

    def __init__(
        self, workers: int, prepare: Callable[..., object] | None = None, *arguments: Any
    ) -> None:
        self._folder = TemporaryDirectory(prefix="timeful-run-", ignore_cleanup_errors=True)
        super().__init__(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_prepare,
            initargs=(self._folder.name, imported_files(), prepare, arguments),
        )

    def stop(self) -> None:
        """Terminate the workers, also in the middle of a call."""
        processes = list((self._processes or {}).values())
        self.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        self._folder.cleanup()


def _prepare(
    folder: str,
    files: Sequence[Path],
    prepare: Callable[..., object] | None,
    arguments: tuple[Any, ...],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    os.environ["TMPDIR"] = tempfile.tempdir = folder  # of this process and of its children
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()
    for path in files:
        import_file(path)
    if prepare is not None:
        prepare(*arguments)


def _die_with(sentinel: int) -> None:
    """Exit when the parent exits, also if it was killed: nothing would collect the results."""
    connection.wait([sentinel])
    os._exit(1)
