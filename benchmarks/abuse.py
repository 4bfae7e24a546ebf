"""Hostile programs, processes and clients, counted: `python -m benchmarks.abuse [AREA ...]`.

Prints a table of areas: how many attacks were tried, held and failed, after a line for each that
failed. All of it runs on this machine and loopback, each area for a bounded time. Most attacks are
tests of the project, which are counted here. Run it as root and as another user: these differ.

A new area is a function that yields an `Attack` for each attack, and a line in `AREAS`.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from benchmarks import abuse_serving, fuzz

LIMIT_S = 900
"""Of the tests of an area."""

FUZZ_S = 120
"""Of the mutated files."""

ENDS = "ends_with or outlives or outlive or daemon or killed"
"""Names of tests of processes that must end."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack that was tried, and what it reached; "" if nothing."""

    name: str
    reached: str


def tests(*selection: str) -> Iterator[Attack]:
    """Tests that are attacks, except those that this machine skips."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", *selection]
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            yield Attack(" ".join(selection), f"not over after {LIMIT_S} s")
            return
        cases = list(ElementTree.parse(report).iter("testcase"))
    for case in cases:
        if case.find("skipped") is None:
            problems = [case.find(kind) for kind in ("failure", "error")]
            reached = [problem.get("message", "") for problem in problems if problem is not None]
            yield Attack(f"{case.get('classname')}::{case.get('name')}", "; ".join(reached))


def serving() -> Iterator[Attack]:
    """Clients of `timeful serve`, measured."""
    for name, reached in abuse_serving.attacks():
        yield Attack(name, reached)


def files() -> Iterator[Attack]:
    """Mutated files through the command line."""
    for number, target, _, place in fuzz.fuzz(FUZZ_S, seed=0):
        yield Attack(f"case {number} of {target}", place)


AREAS: dict[str, Callable[[], Iterator[Attack]]] = {
    "programs": partial(tests, "tests/sandbox/test_attacks.py", "tests/sandbox/test_counting.py"),
    "policies": partial(tests, "tests/sandbox/test_policy.py", "tests/sandbox/test_seccomp.py"),
    "answers": partial(tests, "tests/environments/coding/test_sandboxed.py"),
    "orphans": partial(tests, "tests/sandbox", "tests/environments/fiction", "-k", ENDS),
    "keys": partial(
        tests,
        "tests/cli/test_canary.py",
        "tests/models/test_redaction.py",
        "tests/models/test_provider.py::test_the_key_is_in_no_error_and_no_answer",
        "tests/training/test_remote_samplers.py::test_the_key_is_stripped_and_in_no_error",
    ),
    "streams": partial(
        tests,
        "tests/models/test_endless.py",
        "tests/models/test_tool_call_assembler.py",
        "tests/runs/test_wall.py",
        "tests/models/test_provider.py::test_answers_are_requested_and_read_as_they_are",
        "tests/models/test_provider.py::test_an_event_without_an_end_is_an_error",
    ),
    "requests": partial(tests, "tests/serving/test_errors.py", "tests/serving/test_leaving.py"),
    "serving": serving,
    "files": files,
}


def main(names: Sequence[str]) -> int:
    """Try the areas with these names, or all; the exit code."""
    rows = []
    for name in names or AREAS:
        attacks = list(AREAS[name]())
        failed = [attack for attack in attacks if attack.reached]
        rows.append((name, len(attacks), len(attacks) - len(failed), len(failed)))
        for attack in failed:
            print(f"FAILED {name}: {attack.name}: {' '.join(attack.reached.split())[:200]}")
    print(f"{'area':<12}{'tried':>8}{'held':>8}{'failed':>8}")
    for name, *counts in rows:
        print(f"{name:<12}{''.join(f'{count:>8}' for count in counts)}")
    return int(any(row[3] for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
