"""What a sandbox costs: a warm round trip, and a cold start beyond Python's own.

The peer is a plain subprocess, which Python starts and which confines nothing. Rounds of all of
them take turns, so that a busy machine is busy for each.
"""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from statistics import median

from timeful.core.clock import monotonic_ns
from timeful.sandbox.bubblewrap import Bubblewrap
from timeful.sandbox.landlock import Landlock
from timeful.sandbox.unsafe import Unsafe
from timeful.sandbox.workspace import Backend, Workspace, works

ROUNDS = 25
PROGRAM = "print(6 * 7)"
HEAVY = ("numpy", "pandas", "sklearn.ensemble")
BACKENDS: tuple[Backend, ...] = (Bubblewrap(), Landlock(), Unsafe())


def plain(program: str = PROGRAM) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "42\n", "it ran"


def run(workspace: Workspace) -> None:
    ran = workspace.run(PROGRAM)
    assert (ran.stdout, ran.error) == ("42\n", ""), "it ran"


def took_ms(job: Callable[[], None]) -> float:
    began = monotonic_ns()
    job()
    return (monotonic_ns() - began) / 1e6


def in_turns(jobs: dict[str, Callable[[], None]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median of each job in milliseconds."""
    took: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            took[name].append(took_ms(job))
    return {name: median(times) for name, times in took.items()}


def cold(backend: Backend) -> None:
    with Workspace(files={}, outputs=[], backend=backend) as workspace:
        run(workspace)


def main() -> None:
    backends: dict[str, Backend] = {}
    for backend in BACKENDS:
        if why := works(backend, confines=backend.name != "unsafe"):
            print(f"{backend.name} is left out: {why}")
        else:
            backends[backend.name] = backend
    starts: dict[str, Callable[[], None]] = {"plain subprocess": plain}
    starts |= {name: partial(cold, backend) for name, backend in backends.items()}
    started = in_turns(starts)
    imports = f"import {', '.join(HEAVY)}; {PROGRAM}"
    heavy = in_turns({"plain": partial(plain, imports)}, rounds=3)["plain"]
    warm = {
        name: Workspace(files={}, outputs=[], warm=HEAVY, backend=backend)
        for name, backend in backends.items()
    }
    for workspace in warm.values():
        run(workspace)  # until the modules are there
    trips = in_turns({name: partial(run, workspace) for name, workspace in warm.items()})
    for workspace in warm.values():
        workspace.close()
    own = started["plain subprocess"]
    print(f"{'median of ' + str(ROUNDS) + ', ms':<20}{'cold':>8}{'beyond Python':>16}{'warm':>8}")
    print(f"{'plain subprocess':<20}{own:>8.1f}{'-':>16}{heavy:>8.0f}")
    for name in backends:
        print(f"{name:<20}{started[name]:>8.1f}{started[name] - own:>16.1f}{trips[name]:>8.1f}")
    print("targets: below 150 beyond Python, below 60 warm")
    print("warm: scikit-learn and pandas are imported; a plain subprocess has to import them again")


if __name__ == "__main__":
    main()
