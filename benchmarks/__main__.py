"""Run every benchmark: `python -m benchmarks`, or `make bench`."""

import platform
import subprocess
from collections.abc import Callable

from benchmarks import (
    counting,
    flight,
    games,
    kernel,
    local,
    patrol,
    proactor,
    providers,
    rounding,
    sandbox,
    serving,
    startup,
    toys,
    vectors,
    viewer,
    wall,
)


def section(title: str, job: Callable[[], None]) -> None:
    print(f"\n{title}")
    job()


def main() -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    print(f"{platform.machine()}, Python {platform.python_version()}, commit {commit or 'unknown'}")
    section("Kernel beside SimPy", kernel.main)
    section("Games, without text", games.main)
    section("Games as a vector environment beside SyncVectorEnv", vectors.main)
    section("Deliberation, plain and compiled", toys.main)
    section("Patrol, plain and compiled", patrol.main)
    section("Metrics of predicted opportunities", proactor.main)
    section("Local models beside generate", local.main)
    section("Answers that rounding changes", rounding.main)
    section("A served model beside transformers' own server", serving.main)
    section("Episodes in flight on paced streams beside Inspect", flight.main)
    section("Start-up", startup.main)
    section("Sandboxes beside a plain subprocess", sandbox.main)
    section("Wall time beside a model that stalls", wall.main)
    section("Settled counting beside running", counting.main)
    section("Dialects of providers", providers.main)
    section("The viewer: packs, exports and the server", viewer.main)


if __name__ == "__main__":
    main()
