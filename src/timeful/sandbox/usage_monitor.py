"""The resources that a run uses with all its processes, measured from outside."""

import signal
from collections.abc import Sequence

from timeful.core.clock import monotonic_ns
from timeful.sandbox import processes
from timeful.sandbox.backend import SYSTEM, python_folders
from timeful.sandbox.folder import Folder
from timeful.sandbox.limits import WorkLimits

DISK_MS, CLOSED_MS = 100, 1000
SUDDEN_BYTES = 64 << 20
"""The least that a file system must lose in free space before the disk is looked at early."""


class UsageMonitor:
    """Measures the processes below one, and the files they write.

    Args:
        root: The process that a sandbox is.
        folder: What programs may write.
        limits: Of each run.
    """

    def __init__(self, root: int, *, folder: Folder, limits: WorkLimits) -> None:
        self._root, self._folder, self._limits = root, folder, limits
        self._libraries = (*map(str, python_folders()), *SYSTEM)
        self._last_disk_look = self._next_disk_look = 0
        self._closed_ns = 0  # of this run, with a process that hides its files
        self._least_free = 0.0  # on the file system, before the disk is looked at early
        self.trusted: Sequence[int] = ()
        """Those of the sandbox itself; none before `trust_all`."""
        self.seen: Sequence[int] = ()
        """Those of the run under way, at the last look."""

    def trust_all(self) -> None:
        """Take all that are there for the sandbox's own: no program runs yet."""
        self.trusted = (self._root, *processes.descendants(self._root))

    def too_much(self) -> str:
        """The limit of all processes together that a run has exceeded; "" if none."""
        limits, pids = self._limits, self._look()
        if processes.threads(pids) > limits.processes:
            return f"over its {limits.processes} processes"
        if processes.memory(pids, limit=limits.memory_bytes) > limits.memory_bytes:
            return self._memory()
        start = monotonic_ns()
        if start >= self._next_disk_look or self._folder.free_bytes() < self._least_free:
            why = self.too_much_disk()
            # Right after its fork each is closed, on a busy machine for longer.
            if self._last_disk_look and any(map(processes.is_closed, pids)):
                self._closed_ns += start - self._last_disk_look
            self._last_disk_look = start
            if self._closed_ns > CLOSED_MS * 1_000_000:
                why = self._disk()
            if processes.shared_memory(pids) > limits.memory_bytes:
                why = self._memory()
            # Folders with many files take long to look through.
            now = monotonic_ns()
            self._next_disk_look = now + max(DISK_MS * 1_000_000, 20 * (now - start))
            return why
        return ""

    def too_much_disk(self) -> str:
        """The error if a run, or files left by earlier ones, exceed the disk limit; else ""."""
        disk_bytes = self._folder.disk_bytes()
        if disk_bytes is None:
            disk_bytes = self._used_standing_still()
        disk_bytes += processes.unlinked(
            self.seen, unknown=self._limits.file_bytes, ignored=self._libraries
        )
        room = self._limits.disk_bytes - disk_bytes
        self._least_free = self._folder.free_bytes() - max(room, SUDDEN_BYTES)
        return "" if room >= 0 else self._disk()

    def forget(self) -> None:
        """Forget a run whose processes are dead: their numbers may be others' soon."""
        self.seen = ()
        self._last_disk_look = self._closed_ns = 0

    def _disk(self) -> str:
        return f"over its disk of {self._limits.disk_bytes / 2**20:.0f} MiB"

    def _memory(self) -> str:
        return f"over its memory of {self._limits.memory_bytes / 2**20:.0f} MiB"

    def _look(self) -> Sequence[int]:
        trusted = set(self.trusted)
        self.seen = [pid for pid in processes.descendants(self._root) if pid not in trusted]
        return self.seen

    def _used_standing_still(self) -> float:
        """The bytes on disk, measured with the processes stopped, since they move files."""
        disk_bytes, stopped = None, set[int]()
        for _ in range(10):  # processes forked meanwhile were not stopped
            processes.kill(self._look(), signal.SIGSTOP)
            stopped.update(self.seen)
            if (disk_bytes := self._folder.disk_bytes()) is not None:
                break
        processes.kill(stopped, signal.SIGCONT)
        return float("inf") if disk_bytes is None else disk_bytes
