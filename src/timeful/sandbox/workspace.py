"""Programs that a model wrote, run one after the other in a folder of their own.

    with Workspace(files={"train.csv": path}, outputs=["submission.csv"]) as workspace:
        ran = workspace.run(code, limit_s=5)

docs/sandbox.md lists the promises of each backend.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from timeful.errors import SandboxError, SettingsError
from timeful.sandbox.backend import Backend, Box
from timeful.sandbox.bubblewrap import Bubblewrap
from timeful.sandbox.folder import Folder, check_names
from timeful.sandbox.landlock import Landlock
from timeful.sandbox.limits import WorkLimits
from timeful.sandbox.unsafe import Unsafe
from timeful.sandbox.worker import RunOutcome, Worker

__all__ = ["Backend", "RunResult", "WorkLimits", "Workspace", "choose_backend"]

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of a run.

    Attributes:
        stdout: Its output, errors included; the middle of a long output is omitted.
        error: What was wrong, such as "exit code 1" or "over its time of 5 s"; "" if nothing.
        seconds: Wall time from the program's start to its end, the warm modules not included.
        files: Those of the outputs that are there, small enough, and regular files.
    """

    stdout: str
    error: str
    seconds: float
    files: Mapping[str, bytes]


class Workspace:
    """A folder, and programs that run in it, one at a time and each in a fresh process.

    Files that a program leaves in the folder stay for the next one, except for the outputs, which
    are removed before each run. Processes and variables do not stay.

    Args:
        files: Path below the folder -> file or folder elsewhere, which programs may read.
        outputs: Paths below the folder that are read back after each run.
        limits: Limits of each run.
        warm: Modules that are imported once, before the first run, by a process that then forks
            for each. Without any, a new Python is started for each run.
        backend: What confines programs; None to choose by trying.
        hidden: Files and folders of the Python prefix that programs must not read, such as the
            data that a task was made of. timeful itself is always hidden.

    Raises:
        SettingsError: If a path leads out of the folder, or is not there.
        SandboxError: If programs cannot be confined on this machine.
    """

    def __init__(
        self,
        *,
        files: Mapping[str, Path],
        outputs: Sequence[str],
        limits: WorkLimits | None = None,
        warm: Sequence[str] = (),
        backend: Backend | None = None,
        hidden: Sequence[Path] = (),
    ) -> None:
        check_names([*files, *outputs])
        for name, path in files.items():
            if not path.exists():
                raise SettingsError(f"there is no file {path} to show to programs as {name}")
        self._outputs, self._warm = tuple(outputs), tuple(warm)
        self._limits = limits or WorkLimits()
        backend = backend or choose_backend()
        self._lock = threading.Lock()
        self._closed = self._stopped = False
        self._worker: Worker | None = None
        self._folder = Folder()
        box = Box(folder=self._folder, files=files, hidden=(_PACKAGE, *hidden))
        try:
            self._launch = backend.launch(box)
            self._folder.given = self._folder.disk_bytes() or 0.0
            if self._warm:
                self._worker = self._start()  # modules are imported while others get ready, too
        except BaseException:
            self._folder.delete()
            raise

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, code: str, *, limit_s: float | None = None) -> RunResult:
        """Run a program, from any thread; one that runs already is waited for.

        Args:
            code: Python source.
            limit_s: Seconds of wall time, at most those of the limits.

        Raises:
            SandboxError: If the sandbox itself does not work. What the program does wrong is no
                error but stands in the result.
        """
        limit_s = min(self._limits.wall_s, limit_s if limit_s is not None else float("inf"))
        with self._lock:
            if self._closed:
                raise SandboxError("the workspace is closed")
            self._folder.open_up()
            try:
                ended = self._run(code, limit_s)
            except BaseException:
                self._end()  # such as Ctrl-C: its answer must not become that of the next run
                raise
            self._folder.open_up()
            contents = {
                name: self._folder.read(name, most=self._limits.file_bytes)
                for name in self._outputs
            }
        return RunResult(
            stdout=ended.stdout,
            error=ended.error,
            seconds=ended.took_ns / 1e9,
            files={name: data for name, data in contents.items() if data is not None},
        )

    def stop(self) -> None:
        """End the run under way, from another thread; without one, nothing happens."""
        self._stopped = True
        worker = self._worker
        if worker is not None:
            worker.stop()

    def close(self) -> None:
        """End everything and delete the folder; harmless when called again."""
        self._closed = True
        self.stop()
        with self._lock:
            self._end()
            self._folder.delete()

    def _run(self, code: str, limit_s: float) -> RunOutcome:
        self._stopped = False
        if self._worker is not None:
            self._worker.forget_stop()
        for name in self._outputs:
            self._folder.remove(name)
        worker = self._worker = self._worker or self._start()
        # `stop` notes that it was called and then looks for a worker; we do the reverse.
        if self._stopped or self._closed or not worker.wait_ready():
            return RunOutcome(stdout="", error="stopped", took_ns=0)
        ended = worker.run(code, limit_s=max(0.0, limit_s))
        if worker.is_dead or not self._warm:
            self._end()
        return ended

    def _start(self) -> Worker:
        if self._warm:  # modules may read settings and caches there, and they are not confined
            self._folder.empty_tmp()
        return Worker(self._launch, folder=self._folder, modules=self._warm, limits=self._limits)

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


_CANARY = """
import os
open("proof", "w").write("written")
try:
    print(open({canary!r}).read())
except OSError:
    print("confined")
"""


def works(backend: Backend, *, confines: bool = True) -> str:
    """Try a backend: why it does not work here, or "" if it does.

    A program is run that should write in its folder, and should not be able to read a file that
    lies elsewhere.
    """
    outside = Folder()
    try:
        canary = outside.work / "canary"
        canary.write_text("open to all")
        limits = WorkLimits(wall_s=20)
        with Workspace(files={}, outputs=["proof"], limits=limits, backend=backend) as workspace:
            result = workspace.run(_CANARY.format(canary=str(canary)))
    except SandboxError as error:
        return str(error)
    finally:
        outside.delete()
    if result.error or result.files.get("proof") != b"written":
        return f"a program did not run in it: {' '.join((result.error or result.stdout).split())}"
    if confines and result.stdout.strip() != "confined":
        return "a program could read a file that it must not see"
    return ""


def choose_backend(*, unsafe: bool = False) -> Backend:
    """Choose the first backend that works on this machine.

    Args:
        unsafe: Whether programs may run unconfined if no backend works.

    Raises:
        SandboxError: If nothing can and `unsafe` is not given; it says why.
    """
    failed: list[str] = []
    ways: list[Bubblewrap | Landlock | Unsafe] = [Bubblewrap(), Landlock()]
    if unsafe:
        ways.append(Unsafe())
    for backend in ways:
        why = works(backend, confines=backend.name != Unsafe.name)
        if not why:
            return replace(backend, because=_because(failed))
        failed.append(f"{backend.name} does not work here ({why})")
    raise SandboxError(
        f"programs that a model wrote cannot be confined: {'; '.join(failed)}. docs/sandbox.md "
        "says how to make bubblewrap work; --unsafe runs them as you, without walls"
    )


def _because(failed: Sequence[str]) -> str:
    return f" Better ways failed: {'; '.join(failed)}." if failed else ""
