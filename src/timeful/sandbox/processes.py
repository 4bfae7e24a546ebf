"""The resources of a tree of processes, read from /proc."""

import os
import signal
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

PAGE = os.sysconf("SC_PAGE_SIZE")
BLOCK = 512  # of st_blocks, whatever the file system's is
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
_SHARED = ("/dev/zero", "/memfd:", "/SYSV")
"""Names of shared memory in /proc/PID/maps; any other deleted map is a file on disk."""


def descendants(root: int) -> list[int]:
    """The processes below one, itself not included; parents come before their children."""
    pids = [root]
    for pid in pids:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                pids += map(int, _read(f"/proc/{pid}/task/{task}/children").split())
        except _GONE:
            pass  # it has just ended
    return pids[1:]


def threads(pids: Iterable[int]) -> int:
    """The number of their threads, main threads included."""
    total = 0
    for pid in pids:
        with suppress(*_GONE):
            total += os.stat(f"/proc/{pid}/task").st_nlink - 2
    return total


def threads_of_user() -> int:
    """The number of this user's threads on the machine, which RLIMIT_NPROC limits."""
    me = os.geteuid()
    pids = []
    with os.scandir("/proc") as entries:
        for entry in entries:
            try:
                if entry.name.isdigit() and entry.stat().st_uid == me:
                    pids.append(int(entry.name))
            except _GONE:
                pass
    return threads(pids)


def memory(pids: Collection[int], *, limit: int) -> int:
    """The bytes of memory that they have together, page tables included.

    Resident memory is quick to read but counts a shared page once for each process, and forks
    share much. So shares are looked up, which takes the kernel longer, only when it is above
    the limit.
    """
    if (total := sum(map(_resident, pids))) <= limit:
        return total
    return sum(map(_proportional, pids))


def unlinked(pids: Collection[int], *, unknown: int, ignored: tuple[str, ...] = ()) -> int:
    """The bytes in files that they hold open or mapped but that are in no folder any more.

    Args:
        pids: The processes.
        unknown: The bytes of a mapped file that is not open: only root can look up its size.
        ignored: Folders whose files do not count when mapped, such as libraries of the system.
    """
    sizes = {}
    for pid in pids:
        with suppress(*_GONE):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with suppress(FileNotFoundError):
                    status = os.stat(f"/proc/{pid}/fd/{fd}")
                    if status.st_nlink == 0:
                        sizes[status.st_ino] = status.st_blocks * BLOCK
    for inode, path, _, blocks in _deleted_maps(pids):
        if not path.startswith((*_SHARED, *ignored)):
            sizes.setdefault(inode, unknown if blocks is None else blocks)
    return sum(sizes.values())


def shared_memory(pids: Iterable[int]) -> int:
    """The bytes of the shared memory that they have mapped.

    It may be held without being resident in any process. Only root can look up its size; for
    others it is as long as what is mapped.
    """
    sizes = dict[int, int]()
    for inode, path, end, blocks in _deleted_maps(pids):
        if path.startswith(_SHARED):
            sizes[inode] = max(sizes.get(inode, 0), end, blocks or 0)
    return sum(sizes.values())


def is_closed(pid: int) -> bool:
    """Whether a running process hides its open files from us."""
    try:
        os.listdir(f"/proc/{pid}/fd")
    except PermissionError:
        return _resident(pid) > 0
    except _GONE:
        pass
    return False


def kill(pids: Iterable[int], number: int | None = None) -> None:
    """Kill them, or send another signal, as far as they are there."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL if number is None else number)


def _deleted_maps(pids: Iterable[int]) -> Iterator[tuple[int, str, int, int | None]]:
    """Maps of what is in no folder: inode, path, its mapped length, and its bytes if known."""
    for pid in pids:
        with suppress(*_GONE):
            for line in _read(f"/proc/{pid}/maps").splitlines():
                if line.endswith("(deleted)"):
                    span, _, offset, _, inode, path = line.split(maxsplit=5)
                    begin, end = (int(address, 16) for address in span.split("-"))
                    try:
                        blocks = os.stat(f"/proc/{pid}/map_files/{begin:x}-{end:x}").st_blocks
                        size = blocks * BLOCK
                    except OSError:
                        size = None
                    yield int(inode), path, int(offset, 16) + end - begin, size


def _resident(pid: int) -> int:
    """Resident memory and page tables, which a program can fill without touching memory."""
    try:
        return _fields(f"/proc/{pid}/status", "VmRSS", "VmPTE")
    except _GONE:
        return 0


def _proportional(pid: int) -> int:
    """Page tables and the proportional share of shared pages; in full if it cannot be read."""
    try:
        return _fields(f"/proc/{pid}/smaps_rollup", "Pss") + _fields(f"/proc/{pid}/status", "VmPTE")
    except PermissionError:
        return _resident(pid)
    except _GONE:
        return 0


def _fields(path: str, *names: str) -> int:
    """The sum of some lines such as `VmRSS: 12 kB`, in bytes."""
    lines = (line.partition(":") for line in _read(path).splitlines())
    return sum(int(value.split()[0]) * 1024 for name, _, value in lines if name in names)


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()
