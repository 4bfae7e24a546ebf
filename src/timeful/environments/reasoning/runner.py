"""What is asked of a sandbox: to run a program and say what it printed."""

from typing import Protocol


class RunReport(Protocol):
    """What came of a program."""

    @property
    def stdout(self) -> str:
        """What it printed."""
        ...

    @property
    def error(self) -> str:
        """Why it did not end well, for a person to read; empty if it did."""
        ...


class Runner(Protocol):
    """Runs Python where it can do no harm; `timeful.sandbox.workspace.Workspace` is one."""

    def run(self, code: str, *, limit_s: float | None = None) -> RunReport:
        """Run a program to its end, or until its time is up."""
        ...
