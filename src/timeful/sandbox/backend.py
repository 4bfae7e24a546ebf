"""The protocol of sandbox backends, and the environment they share."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from timeful.sandbox.folder import Folder

SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
SINGLE = ("/etc/ld.so.cache", "/etc/localtime", "/usr/bin/lscpu")  # joblib asks lscpu
_CHILD = Path(__file__).with_name("workspace_child.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The files that a program can see.

    Attributes:
        folder: The folder it may write.
        files: Path below its work folder -> file or folder elsewhere, for reading.
        hidden: Files and folders of the Python prefix that it must not read.
    """

    folder: Folder
    files: Mapping[str, Path]
    hidden: Sequence[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start the program of workspace_child.py in a sandbox.

    Attributes:
        command: Begins with the sandbox's own, if it has one.
        environment: All variables.
        settings: The settings for workspace_child.py.
        is_alone: Whether RLIMIT_NPROC counts the processes of the sandbox only.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    settings: Mapping[str, Any]
    is_alone: bool


class Backend(Protocol):
    """A way to confine a program."""

    @property
    def name(self) -> str:
        """The name in one word."""
        ...

    @property
    def description(self) -> str:
        """For the user: what confines programs, and why nothing better does."""
        ...

    def launch(self, box: Box) -> Launch:
        """Lay the files out and say how to start.

        Raises:
            SandboxError: If it is clear already that it cannot work here.
        """
        ...


def python() -> list[str]:
    """The command of workspace_child.py: as with -I, except for variables like the hash seed."""
    return [sys.executable, "-P", "-s", "-B", "-c", _CHILD.read_text()]


def environment(temporary: str) -> dict[str, str]:
    """All environment variables of a program."""
    one_thread = ("OPENBLAS", "OMP", "MKL", "NUMEXPR")
    return {
        "HOME": temporary,
        "TMPDIR": temporary,
        "PYTHONHASHSEED": "0",  # the same program, the same result
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",  # what was printed before a limit struck is not lost
        "PYTHONDONTWRITEBYTECODE": "1",
        **{f"{name}_NUM_THREADS": "1" for name in one_thread},
    }


def python_folders() -> list[Path]:
    """The folders (or files) of this Python, environment and base, by all names they have."""
    executable = Path(os.path.realpath(sys.executable))
    folders = {
        Path(p) for p in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    }
    folders.add(executable.parent.parent)
    folders |= {path.resolve() for path in folders}
    return sorted(folder for path in folders for folder in _python_parts(path))


def _python_parts(prefix: Path) -> list[Path]:
    """A prefix; only Python's folders in it if it contains the home (`--prefix=$HOME`)."""
    import pwd  # noqa: PLC0415 - Unix only

    with suppress(KeyError):  # not every user has a name
        home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
        if home.resolve().is_relative_to(prefix.resolve()):
            folders = [prefix / name for name in ("bin", "lib", "lib64", "pyvenv.cfg")]
            return [folder for folder in folders if folder.exists()]
    return [prefix]
