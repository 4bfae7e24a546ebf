"""The package without the modules and signals that only Unix has."""

import subprocess
import sys
from pathlib import Path

import pytest

HIDE = """
import asyncio, ctypes, getpass, multiprocessing.pool, os, shutil, signal, subprocess, sys, tempfile
import matplotlib, numpy, uvicorn
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None
for place, names in (
    (signal, "SIGALRM SIGKILL SIGPROF SIGHUP SIGSTOP SIGCONT setitimer alarm pthread_sigmask"),
    (os, "fork forkpty killpg setsid getuid geteuid getpgid sched_getaffinity"),
):
    for name in names.split():
        delattr(place, name)
"""
"""Libraries that have versions for each system are loaded before."""

IMPORT = """
import pkgutil, importlib, timeful
for module in pkgutil.walk_packages(timeful.__path__, "timeful.", onerror=lambda _: None):
    name = module.name
    if name.endswith(("_child", "_worker", "_server", ".terminal", "__main__")):
        continue  # programs of sandboxes, and games by hand
    if name.split(".")[1] in ("training", "serving", "annotation") or ".local." in name:
        continue  # of large extras
    try:
        importlib.import_module(name)
    except timeful.errors.SettingsError:
        pass  # of an extra that is not installed
"""

SMALL = ("--workers", "1", "--out", "run")


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDE + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_each_module_can_be_imported_without_unix(tmp_path: Path) -> None:
    result = run(IMPORT, tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("run", "realtime", "--preset", "quick", "--game", "snake", "--agent", "reactive", *SMALL),
        ("run", "engagement/inbox", "--preset", "quick", "--seeds", "1", *SMALL),
        ("run", "timely/reasoning", "--preset", "quick", "--case", "sums", "--size", "2", *SMALL),
        ("run", "timely/fiction", "--preset", "quick", *SMALL),
    ],
)
def test_a_command_runs_without_unix(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code = f"sys.argv = ['timeful', *{arguments!r}]\nfrom timeful.cli.main import main\nmain()"
    result = run(code, tmp_path)
    assert result.returncode == 0, result.stderr
