"""Landlock and seccomp: a process restricts itself, where namespaces are forbidden."""

import base64
import ctypes
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from timeful.errors import SandboxError
from timeful.sandbox.backend import (
    SINGLE,
    SYSTEM,
    Box,
    Launch,
    environment,
    python,
    python_folders,
)
from timeful.sandbox.seccomp import seccomp

# Rights by their bit, and the version of Landlock that brought them.
EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_DEVICES = (1 << 6) | (1 << 11)
ALL_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
OF_A_FILE = EXECUTE | WRITE | READ | (1 << 14) | (1 << 15)
NET = {4: 3}  # bind and connect TCP
SCOPES = {6: 3}  # abstract sockets, signals
OLDEST = 3  # before, a file could be truncated that could not be written

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
ABOUT_THE_MACHINE = (
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat"),
    *("/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage"),
)


@dataclass(frozen=True, slots=True)
class Landlock:
    """Rules on files, and system calls refused.

    Without namespaces, names and sizes of files elsewhere can be asked for, though not what is
    in them. There is no shared memory, so joblib does one thing after the other.
    """

    because: str = ""
    version: int | None = None  # of the kernel's rules; None to ask for it
    name = "landlock"

    @property
    def description(self) -> str:
        """A description for the user."""
        return (
            "Programs run under Landlock and seccomp: no files but their own and Python's, no "
            f"network, no signals to other processes.{self.because}"
        )

    def launch(self, box: Box) -> Launch:
        """Link the files and make the rules; see `Backend`."""
        version = landlock_version() if self.version is None else self.version
        if version < OLDEST:
            has = f"has version {version}" if version else "has none"
            raise SandboxError(
                f"Landlock needs version {OLDEST} (Linux 6.2); this kernel {has}, or forbids it"
            )
        for name, source in box.files.items():
            link = box.folder.work / name
            link.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(link):
                link.symlink_to(source.resolve())
        code = seccomp(namespaces=False, signals=version >= min(SCOPES))
        return Launch(
            command=python(),
            # Locks between processes are files in /dev/shm, which everybody shares. joblib, which
            # wants them even for threads, does without them if it is told so.
            environment={**environment(str(box.folder.tmp)), "JOBLIB_MULTIPROCESSING": "0"},
            settings={
                "work": str(box.folder.work),
                "confined": True,
                "seccomp": base64.b64encode(code).decode(),
                "landlock": {
                    "fs": _at(ALL_FILES, version),
                    "net": _at(NET, version),
                    "scoped": _at(SCOPES, version),
                    "rules": [list(rule) for rule in _rules(box, _at(ALL_FILES, version))],
                },
            },
            is_alone=False,
        )


def landlock_version() -> int:
    """The version of Landlock in this kernel; 0 if there is none or it may not be asked."""
    if sys.platform != "linux":
        return 0
    create, version_flag = ctypes.c_long(444), 1
    version = ctypes.CDLL(None).syscall(create, None, ctypes.c_size_t(0), version_flag)
    return max(0, int(version))


def _at(by_version: dict[int, int], version: int) -> int:
    return max((bits for first, bits in by_version.items() if first <= version), default=0)


def _rules(box: Box, all_rights: int) -> Iterator[tuple[str, int]]:
    """Paths and the rights below them."""
    for folder in (box.folder.work, box.folder.tmp):
        yield str(folder), all_rights & ~MAKE_DEVICES
    for device in DEVICES:
        yield device, READ | WRITE
    look = EXECUTE | READ | LIST
    hidden = [path.resolve() for path in box.hidden]
    for path in (*python_folders(), *map(Path, SYSTEM)):
        if path.is_dir():
            yield str(path), LIST
        yield from ((str(subpath), _fit(subpath, look)) for subpath in _without(path, hidden))
    for path in map(Path, (*SINGLE, *ABOUT_THE_MACHINE)):
        yield str(path), _fit(path, look)
    for source in box.files.values():
        yield str(source.resolve()), _fit(source, READ | LIST)


def _fit(path: Path, rights: int) -> int:
    return rights if path.is_dir() else rights & OF_A_FILE


def _without(path: Path, hidden: Sequence[Path]) -> Collection[Path]:
    """A folder; or its parts, if some below it are hidden: rules can only add rights."""
    if path.resolve() in hidden:
        return []
    if not any(below.is_relative_to(path.resolve()) for below in hidden):
        return [path]
    return [
        subpath
        for inner in sorted(path.iterdir())
        if not inner.is_symlink()
        for subpath in _without(inner, hidden)
    ]
