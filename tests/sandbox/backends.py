"""The ways to confine a program that work on this machine, for tests to run in each."""

from functools import cache

import pytest

from timeful.sandbox.bubblewrap import Bubblewrap
from timeful.sandbox.landlock import OLDEST, SCOPES, Landlock, landlock_version
from timeful.sandbox.unsafe import Unsafe
from timeful.sandbox.workspace import Backend, works

BACKENDS: dict[str, Backend] = {
    "bubblewrap": Bubblewrap(),
    "landlock": Landlock(),
    # As on an older kernel, where signals are refused as system calls.
    "landlock-3": Landlock(version=OLDEST),
}
WITH_UNSAFE = {**BACKENDS, "unsafe": Unsafe()}


@cache
def why_not(name: str) -> str:
    if name == "landlock-3" and landlock_version() < min(SCOPES):
        return "this kernel's Landlock is an old one, which is tested already"
    return works(WITH_UNSAFE[name], confines=name != "unsafe")


def backend_or_skip(name: str) -> Backend:
    if why := why_not(name):
        pytest.skip(f"{name}: {why}")
    return WITH_UNSAFE[name]
