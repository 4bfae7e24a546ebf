"""A cage for a program that is an agent: its folder, the system to read, and one port.

The program sees no other files and no network. A relay inside of the cage leads from the port, at
the loopback address, to a socket of this process.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from timeful.errors import SettingsError
from timeful.sandbox.backend import SINGLE, SYSTEM, python_folders

_CHILD = Path(__file__).with_name("program_child.py")
_OWN = Path(__file__).parents[1]
_SOCKET = "/run/timeful"
_READ = (*SYSTEM, "/usr", "/bin", "/sbin", "/etc/alternatives", "/etc/ssl")
_TRY_S = 20.0


def confine(
    command: Sequence[str], environment: Mapping[str, str], *, socket: Path, port: int
) -> list[str]:
    """The command that runs a command in a cage, in the present folder.

    Args:
        command: The words of the command.
        environment: All its variables; it has a temporary folder as its home.
        socket: The socket that the port leads to, in a folder of its own.
        port: The port at the loopback address of the cage.
    """
    words = _bubblewrap(command[0])
    words += ["--bind", str(socket.parent), _SOCKET]
    for name, value in {**environment, "HOME": "/tmp", "TMPDIR": "/tmp"}.items():
        words += ["--setenv", name, value]
    child = [sys.executable, "-I", "-S", "-c", _CHILD.read_text(encoding="utf-8")]
    return [*words, "--", *child, f"{_SOCKET}/{socket.name}", str(port), *command]


@cache
def check_cage() -> None:
    """Check that programs can be confined here.

    Raises:
        SettingsError: If bubblewrap is missing or does not work.
    """
    if shutil.which("bwrap") is None:
        raise SettingsError("a sandbox for programs needs bubblewrap: the program `bwrap`")
    command = [*_bubblewrap(sys.executable), "--", sys.executable, "-I", "-S", "-c", ""]
    run = subprocess.run(command, capture_output=True, text=True, timeout=_TRY_S, check=False)
    if run.returncode != 0:
        reason = " ".join(run.stderr.split()) or f"exit code {run.returncode}"
        raise SettingsError(f"bubblewrap cannot confine programs here: {reason}")


def _bubblewrap(program: str) -> list[str]:
    folder = os.getcwd()
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--clearenv", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in map(Path, _READ):
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.exists():
            words += ["--ro-bind", str(path), str(path)]
    for name in SINGLE:
        words += ["--ro-bind-try", name, name]
    for path in _prefixes(program):
        words += ["--ro-bind-try", str(path), str(path)]
    words += ["--bind", folder, folder, "--chdir", folder]
    # The worlds and their solutions are no part of what an agent may see.
    return [*words, *(["--tmpfs", str(_OWN)] if _is_mounted(_OWN, program, folder) else [])]


def _prefixes(program: str) -> list[Path]:
    """The folders of this Python, and of the runtime that the program belongs to."""
    place = Path(shutil.which(program) or program).absolute()
    prefixes = {path.parent.parent for path in (place, place.resolve())} - {Path("/"), Path("/usr")}
    return [*python_folders(), *sorted(prefixes)]


def _is_mounted(path: Path, program: str, folder: str) -> bool:
    return any(path.is_relative_to(mounted) for mounted in (*_prefixes(program), Path(folder)))
