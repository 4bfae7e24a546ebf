"""Worker processes that end with the process that started them, and threads within them.

Episodes that compute have a process each. Episodes that wait for an endpoint share few processes:
each of them has a thread in which its kernel waits, while one event loop a model reads the
streams.
"""

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar

from timeful.models.spending import Spending
from timeful.models.traffic import TRAFFIC, Limits, Traffic
from timeful.registry import import_file, imported_files

T = TypeVar("T")
_STOP_S = 2.0
"""The seconds for which stopped threads are waited for."""


class Pool(Protocol):
    """Does work in threads or processes."""

    @property
    def slots(self) -> int:
        """The number of tasks that it should have at a time."""
        ...

    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Start work; it fails with a BrokenProcessPool if its process dies."""
        ...

    def stop(self) -> None:
        """End all work, also in the middle of a task."""
        ...


class ThreadPool:
    """Threads of this process, one for each task; daemons, so that the process can end.

    Args:
        limits: The number of threads, and the limits of their traffic to endpoints.
        spending: What they spend; tells running tasks to end.
    """

    def __init__(self, limits: Limits, spending: Spending) -> None:
        self.slots = limits.connections
        self._traffic = Traffic(limits, spending=spending.share())
        self._threads: set[threading.Thread] = set()

    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Start a task in a thread of its own."""
        future: Future[T] = Future()

        def run() -> None:
            TRAFFIC.set(self._traffic)
            try:
                future.set_result(work(*arguments))
            except BaseException as error:  # noqa: BLE001 - raised to whoever takes the result
                future.set_exception(error)
            finally:
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, name="timeful-episode", daemon=True)
        self._threads.add(thread)
        thread.start()
        return future

    def stop(self) -> None:
        """Tell the tasks to end, and wait a moment until they have."""
        self._traffic.spending.end_run()
        for thread in list(self._threads):
            thread.join(_STOP_S / max(1, len(self._threads)))


class WorkerPool:
    """Worker processes.

    Workers are spawned, not forked: the parent may have threads (a progress bar, the connection of
    a model). Their temporary files are in one folder, because a worker that is terminated does not
    delete its own. A worker that dies is replaced when there is more to do.

    Args:
        processes: The number of processes.
        limits: The number of threads of all processes together, and the limits of their traffic to
            endpoints, which they share; None for one task a process, in its main thread.
        spending: What all of them spend.
        is_single: Whether a process holds one task at a time; otherwise it has the next one ready.
    """

    def __init__(
        self,
        processes: int,
        limits: Limits | None = None,
        spending: Spending | None = None,
        *,
        is_single: bool = False,
    ) -> None:
        self._folder = TemporaryDirectory(prefix="timeful-run-", ignore_cleanup_errors=True)
        setups = [
            _Setup(
                folder=self._folder.name,
                files=tuple(imported_files()),
                limits=limits,
                spending=spending,
                index=index,
                processes=processes,
            )
            for index in range(processes)
        ]
        self._ahead = 0 if is_single or limits is not None else 1
        self._lock = threading.Lock()
        self._workers = [_Worker(setup, self._lock, self._dispatch) for setup in setups]
        self._waiting: deque[tuple[bytes, Future[Any]]] = deque()

    @property
    def slots(self) -> int:
        """The number of tasks that it should have at a time."""
        return sum(worker.setup.threads + self._ahead for worker in self._workers)

    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Give a task to the worker that has the fewest, as soon as it has a free slot."""
        future: Future[T] = Future()
        task = pickle.dumps((work, arguments))
        with self._lock:
            self._waiting.append((task, future))
        self._dispatch()
        return future

    def _dispatch(self) -> None:
        with self._lock:
            while self._waiting:
                worker = min(self._workers, key=lambda worker: worker.load)
                if worker.load >= 1 + self._ahead / worker.setup.threads:
                    return
                worker.give(*self._waiting.popleft())

    def stop(self) -> None:
        """Terminate the workers, also in the middle of a task."""
        with self._lock:
            self._waiting.clear()
            processes = [worker.process for worker in self._workers if worker.process is not None]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        self._folder.cleanup()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """What a worker is told at its start."""

    folder: str
    files: Sequence[Path]
    limits: Limits | None
    spending: Spending | None
    index: int
    processes: int

    @property
    def threads(self) -> int:
        """The number of tasks at a time."""
        if self.limits is None:
            return 1
        return (self.limits.connections + self.processes - 1 - self.index) // self.processes


class _Worker:
    """A worker process, as its parent sees it; started by its first task, and anew if it died."""

    def __init__(self, setup: _Setup, lock: threading.Lock, on_free: Callable[[], None]) -> None:
        self.setup = setup
        self.process: BaseProcess | None = None
        self._lock = lock
        self._on_free = on_free
        self._running: dict[int, Future[Any]] = {}
        self._number = 0

    @property
    def load(self) -> float:
        """The share of its threads that are busy."""
        return len(self._running) / self.setup.threads

    def give(self, task: bytes, future: "Future[Any]") -> None:
        """Send it a task; the caller holds the lock."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self.process = context.Process(target=_serve, args=(theirs, self.setup))
            self.process.start()
            theirs.close()  # so that the end of the process is the end of the pipe
            collect = threading.Thread(
                target=self._collect, args=(self._pipe,), name="timeful-results", daemon=True
            )
            collect.start()
        self._number += 1
        self._running[self._number] = future
        with suppress(OSError):  # it has died, which the thread above is about to find
            self._pipe.send((self._number, task))

    def _collect(self, pipe: "Connection[Any, Any]") -> None:
        """Pass on results until the process ends."""
        with suppress(EOFError, OSError):
            while True:
                number, data = pipe.recv()
                value, error = pickle.loads(data)
                future = self._running.pop(number)
                self._on_free()
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)
        with self._lock:
            futures, self._running = [*self._running.values()], {}
            process, self.process = self.process, None
        if process is not None:
            process.join()
        for future in futures:
            future.set_exception(BrokenProcessPool("a worker process died"))
        self._on_free()


def _serve(pipe: "Connection[Any, Any]", setup: _Setup) -> None:
    """Do tasks until the parent closes the pipe."""
    _prepare(setup)
    traffic = Traffic(
        setup.limits or TRAFFIC.get().limits,
        folder=Path(setup.folder),
        index=setup.index,
        processes=setup.processes,
        spending=setup.spending,
    )
    lock = threading.Lock()

    def do(number: int, task: bytes) -> None:
        TRAFFIC.set(traffic)
        result = _do(task)
        with lock:
            pipe.send((number, result))

    with suppress(EOFError):
        while True:
            number, task = pipe.recv()
            if setup.threads == 1:
                do(number, task)
            else:
                threading.Thread(target=do, args=(number, task), daemon=True).start()


def _do(task: bytes) -> bytes:
    """Do a task; the pickled result and error."""
    try:
        work, arguments = pickle.loads(task)
        return pickle.dumps((work(*arguments), None))
    except BaseException as error:  # noqa: BLE001 - raised in the parent
        try:
            return pickle.dumps((None, error))
        except Exception:  # noqa: BLE001 - an error that cannot be sent
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))


def _prepare(setup: _Setup) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    folder = setup.folder
    os.environ["TMPDIR"] = tempfile.tempdir = folder  # of this process and of its children
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()
    if setup.threads > 1:
        _allow_files()
    for path in setup.files:
        import_file(path)


def _allow_files() -> None:
    """Let this process open as many files as it may: a stream and a record for each episode."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - Unix only

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _die_with(sentinel: int) -> None:
    """Exit when the parent exits, also if it was killed: nothing would collect the results."""
    wait([sentinel])
    os._exit(1)
