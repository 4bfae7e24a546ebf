"""The ways to confine a program that work on this machine, for tests to run in each."""

import subprocess
from functools import cache

import pytest

from timeful.sandbox.bubblewrap import Bubblewrap
from timeful.sandbox.landlock import OLDEST, SCOPES, Landlock, landlock_version
from timeful.sandbox.unsafe import Unsafe
from timeful.sandbox.workspace import Backend

BACKENDS: dict[str, Backend] = {
    "bubblewrap": Bubblewrap(),
    "landlock": Landlock(),
    # As on an older kernel, where signals are refused as system calls.
    "landlock-3": Landlock(version=OLDEST),
}
WITH_UNSAFE = {**BACKENDS, "unsafe": Unsafe()}


@cache
def why_not(name: str) -> str:
    """Why this machine cannot have it; found without our own code, whose faults must not skip."""
    if name == "bubblewrap":
        command = ["bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/"]
        try:
            tried = subprocess.run(
                [*command, "--proc", "/proc", "--dev", "/dev", "true"],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            return str(error)
        return tried.stderr.strip()
    if name == "landlock":
        return "" if landlock_version() >= OLDEST else "this kernel has none that is new enough"
    if name == "landlock-3" and landlock_version() < min(SCOPES):
        return "this kernel's Landlock is an old one, or none; if there is one, it is tested"
    return ""


def backend_or_skip(name: str) -> Backend:
    if why := why_not(name):
        pytest.skip(f"{name}: {why}")
    return WITH_UNSAFE[name]
