"""Bubblewrap: a separate file system, network and process tree, without being root."""

import base64
import os
import shutil
from collections.abc import Iterable, Sequence
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

WORK, TEMPORARY = "/case", "/tmp"


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Namespaces through `bwrap`.

    workspace_child.py is the first process of its PID namespace: signals from within do not reach
    it, all orphans are its children, and its end, or one signal, ends them all.
    """

    because: str = ""
    name = "bubblewrap"

    @property
    def description(self) -> str:
        """A description for the user."""
        return (
            "Programs run in bubblewrap: no files but their own and Python's, no network, no "
            f"other processes.{self.because}"
        )

    def launch(self, box: Box) -> Launch:
        """Mount what may be seen; see `Backend`."""
        if (bwrap := shutil.which("bwrap")) is None:
            raise SandboxError("the program bwrap is not installed")
        variables = environment(TEMPORARY)
        command = [bwrap, "--unshare-all", "--unshare-user", "--new-session", "--as-pid-1"]
        command += ["--cap-drop", "ALL", "--uid", "1000", "--gid", "1000"]
        command += ["--hostname", "sandbox", "--chdir", WORK, "--clearenv"]
        for name, value in variables.items():
            command += ["--setenv", name, value]
        return Launch(
            command=[*command, *_mounts(box), "--", *python()],
            environment={},
            settings={
                "work": WORK,
                "confined": True,
                "seccomp": base64.b64encode(seccomp(namespaces=True, signals=True)).decode(),
                "landlock": None,
            },
            is_alone=True,
        )


def _mounts(box: Box) -> list[str]:
    """The mounts, outer ones first: what lies in a folder comes after it."""
    mounts = ["--proc", "/proc", "--dev", "/dev"]
    # Folders of the disk and no tmpfs: memory would be taken that belongs to no process.
    for source, to in (
        (box.folder.shm, "/dev/shm"),
        (box.folder.tmp, TEMPORARY),
        (box.folder.work, WORK),
    ):
        mounts += ["--bind", str(source), to]
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            mounts += ["--symlink", os.readlink(path), str(path)]
        elif path.exists():
            mounts += ["--ro-bind", str(path), str(path)]
    for name in SINGLE:
        mounts += ["--ro-bind-try", name, name]
    folders = python_folders()
    for path in folders:
        mounts += ["--ro-bind", str(path.resolve()), str(path)]
    mounts += ["--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu"]
    for path in _hidden_places(box.hidden, mounted=(*folders, *map(Path, SYSTEM))):
        cover = ["--tmpfs", str(path), "--remount-ro", str(path)]
        mounts += cover if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
    for name, source in box.files.items():
        mounts += ["--ro-bind", str(source), f"{WORK}/{name}"]
    # /proc/sys and its like belong to root, who needs no powers to write there: only the mount can
    # keep a program out that root started.
    return [*mounts, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]


def _hidden_places(hidden: Iterable[Path], *, mounted: Sequence[Path]) -> list[Path]:
    """Their paths in the sandbox: a folder with two names is mounted at both."""
    paths = list[Path]()
    for real in (path.resolve() for path in hidden if path.exists()):
        for folder in mounted:
            if real.is_relative_to(folder.resolve()):
                paths.append(folder / real.relative_to(folder.resolve()))
    return sorted(set(paths))
