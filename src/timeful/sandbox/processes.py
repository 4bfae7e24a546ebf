"""The resources of a tree of processes, read from /proc."""

import os
import signal
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress

PAGE = os.sysconf("SC_PAGE_SIZE")
BLOCK = 512  # of st_blocks, whatever the file system's is
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


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
    """The bytes of memory that they have together.

    Resident memory is quick to read but counts a shared page once for each process, and forks
    share much. So shares are looked up, which takes the kernel longer, only when it is above
    the limit.
    """
    if (total := sum(map(_resident, pids))) <= limit:
        return total
    return sum(map(_proportional, pids))


def unlinked(pids: Iterable[int]) -> int:
    """The bytes in files that they hold open but that are in no folder any more."""
    sizes = {}
    for pid in pids:
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                status = os.stat(f"/proc/{pid}/fd/{fd}")
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    sizes[status.st_dev, status.st_ino] = status.st_blocks * BLOCK
        except _GONE:
            pass
    return sum(sizes.values())


def unnamed(pids: Iterable[int]) -> int:
    """The bytes of shared memory and other mapped files that are in no folder.

    They may be held without being resident in any process: so it counts how long they are.
    """
    sizes = dict[str, int]()
    for pid in pids:
        try:
            for line in _read(f"/proc/{pid}/maps").splitlines():
                if line.endswith("(deleted)"):
                    span, rights, offset, device, inode = line.split()[:5]
                    if rights[3] == "s":
                        begin, end = (int(address, 16) for address in span.split("-"))
                        file = f"{device} {inode}"
                        until = int(offset, 16) + end - begin
                        sizes[file] = max(sizes.get(file, 0), until)
        except _GONE:
            pass
    return sum(sizes.values())


def closed(pids: Iterable[int]) -> set[int]:
    """The running processes that hide their open files from us."""
    return {pid for pid in pids if _resident(pid) and not os.access(f"/proc/{pid}/fd", os.R_OK)}


def kill(pids: Iterable[int], number: int = signal.SIGKILL) -> None:
    """Kill them, or send another signal, as far as they are there."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _resident(pid: int) -> int:
    try:
        return int(_read(f"/proc/{pid}/statm").split()[1]) * PAGE
    except (*_GONE, IndexError):
        return 0


def _proportional(pid: int) -> int:
    """The proportional share of shared pages; in full if it cannot be read."""
    try:
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except PermissionError:
        return _resident(pid)
    except _GONE:
        pass
    return 0


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()
