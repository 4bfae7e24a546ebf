"""The progress of a training on the terminal, and Ctrl-C."""

import os
import shlex
import signal
import sys
from pathlib import Path
from textwrap import fill
from types import FrameType
from typing import Self

from timeful.cli.console import terminal
from timeful.reports.text import format_span
from timeful.training.observer import TrainingObserver

_SLOW = 5.0
"""Seconds from which on an update has a line of its own."""

_BAR = 24


class GracefulInterrupt:
    """Ctrl-C during a training: the first one waits for the end of the update.

    Before `should_stop` is first called, and when pressed again, it interrupts at once.

    Args:
        is_loud: Whether it prints a line when Ctrl-C is pressed.
    """

    def __init__(self, *, is_loud: bool) -> None:
        self._is_loud = is_loud
        self._is_graceful = self._is_pressed = False

    def should_stop(self) -> bool:
        """Whether Ctrl-C was pressed."""
        self._is_graceful = True
        return self._is_pressed

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._is_pressed or not self._is_graceful:
            raise KeyboardInterrupt
        self._is_pressed = True
        if self._is_loud:  # by the system, since a print may be under way
            os.write(2, b"\nfinishing the update; Ctrl-C again stops at once\n")


class TrainingProgress(TrainingObserver):
    """Observes a training: prints its progress on standard error, and its result."""

    def __init__(self, out: Path, interrupt: GracefulInterrupt) -> None:
        self._out = out
        self._interrupt = interrupt
        self._began: tuple[int, int] | None = None
        self._last = self._done = self._total = 0
        self._is_due = self._has_bar = False
        self._left = ""

    def should_stop(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupt.should_stop()

    def advance(self, done: int, total: int) -> None:
        """Note the updates that are done."""
        from timeful.core.clock import monotonic_ns

        now = monotonic_ns()
        if self._began is None:  # the time of the first update is unknown
            self._began, self._last = (done, now), now
        first, since = self._began
        is_tenth = done * 10 // total > (done - 1) * 10 // total
        self._is_due = now - self._last > _SLOW * 1e9 or is_tenth
        if done > first:
            remaining_s = (now - since) / 1e9 / (done - first) * (total - done)
            self._left = f", {format_span(remaining_s)} left"
        self._last, self._done, self._total = now, done, total

    def report(self, metrics: str) -> None:
        """Print the metrics of some updates; on a terminal, a bar as well."""
        if self._is_due:
            self._print(f"{self._done}/{self._total}{self._left}: {metrics}"[:79])
        if sys.stderr.isatty():
            full = _BAR * self._done // self._total
            bar = f"[{'#' * full}{'-' * (_BAR - full)}] {self._done}/{self._total}{self._left}"
            print(f"\r{bar:<79}", end="", file=terminal(sys.stderr), flush=True)
            self._has_bar = True

    def warn(self, text: str) -> None:
        """Print a warning."""
        self._print(fill(f"warning: {text}", 79, subsequent_indent="  ", break_on_hyphens=False))

    def end_bar(self) -> None:
        """Begin a new line after the bar, if there is one."""
        if self._has_bar:
            print(file=sys.stderr)
            self._has_bar = False

    def stopped(self, has_checkpoint: bool) -> None:
        """Print that the training was interrupted, and where the same command resumes."""
        self.end_bar()
        done = f"{self._done} of {self._total} updates" if self._total else "no update"
        where = "resumes from the last checkpoint" if has_checkpoint else "starts again"
        print(f"\nstopped: {done} done; the same command {where}, in {self._out}", file=sys.stderr)

    def end(self, policy: Path, command: str, *, is_old: bool = False) -> None:
        """Print the results, and the next command."""
        from timeful.training.report import write_report

        self.end_bar()
        if is_old:
            print(f"{self._out} is trained already; --replace trains again", file=sys.stderr)
        report = write_report(self._out)
        if report.spending:
            print(report.spending)
        print(f"policy: {policy}")
        print(f"report: {report.page}")
        print(f"next:   {command}")
        print(f"        timeful serve {policy}")
        print(f"look:   timeful view {shlex.quote(str(self._out))}")

    def _print(self, text: str) -> None:
        """Print a line in the place of the bar, if there is one."""
        if self._has_bar:
            print(f"\r{'':<79}\r", end="", file=terminal(sys.stderr))
            self._has_bar = False
        print(text, file=sys.stderr)


class NullProgress(TrainingProgress):
    """The progress of a process that is not the first one: it prints nothing."""

    def advance(self, done: int, total: int) -> None:
        """Print nothing."""

    def report(self, metrics: str) -> None:
        """Print nothing."""

    def warn(self, text: str) -> None:
        """Print nothing."""

    def stopped(self, has_checkpoint: bool) -> None:
        """Print nothing."""

    def end(self, policy: Path, command: str, *, is_old: bool = False) -> None:
        """Print nothing."""
