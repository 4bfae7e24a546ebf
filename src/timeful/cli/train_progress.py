"""What a training says while it goes on, and how it is stopped."""

import os
import signal
import sys
from pathlib import Path
from textwrap import fill
from types import FrameType
from typing import Self

_SLOW = 5.0
"""An update that takes so many seconds has a line of its own."""

_BAR = 24


class TrainingProgress:
    """Says on standard error how far a training is, and at the end what came of it."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._began: tuple[int, int] | None = None
        self._last = self._done = self._of = 0
        self._is_due = self._has_bar = False
        self._left = ""

    def advance(self, done: int, of: int) -> None:
        """Note that so many updates are done."""
        from timeful.core.clock import monotonic_ns

        now = monotonic_ns()
        if self._began is None:  # nobody knows how long the first one took
            self._began, self._last = (done, now), now
        first, since = self._began
        self._is_due = now - self._last > _SLOW * 1e9 or done * 10 // of > (done - 1) * 10 // of
        if done > first:
            self._left = f", {span((now - since) / 1e9 / (done - first) * (of - done))} left"
        self._last, self._done, self._of = now, done, of

    def measured(self, text: str) -> None:
        """Say what was measured of the last update: a line now and then; on a terminal, a bar."""
        if self._is_due:
            self._say(f"{self._done}/{self._of}{self._left}: {text}"[:79])
        if sys.stderr.isatty():
            full = _BAR * self._done // self._of
            bar = f"[{'#' * full}{'-' * (_BAR - full)}] {self._done}/{self._of}{self._left}"
            print(f"\r{bar:<79}", end="", file=sys.stderr, flush=True)
            self._has_bar = True

    def warn(self, text: str) -> None:
        """Say what should be looked at."""
        self._say(fill(f"warning: {text}", 79, subsequent_indent="  ", break_on_hyphens=False))

    def leave(self) -> None:
        """Leave the bar, if there is one."""
        if self._has_bar:
            print(file=sys.stderr)
            self._has_bar = False

    def stopped(self, has_checkpoint: bool) -> None:
        """Say that the training was interrupted, and how it goes on."""
        self.leave()
        of = f"{self._done} of {self._of} updates were done" if self._of else "no update was done"
        how = "goes on from its last checkpoint" if has_checkpoint else "begins anew"
        print(f"\nstopped: {of}; the same command {how}, in {self._out}", file=sys.stderr)

    def end(self, policy: Path, command: str, *, is_old: bool = False) -> None:
        """Say what came of it, and what to do with that."""
        from timeful.training.report import write_report

        self.leave()
        if is_old:
            print(f"{self._out} is trained already; --replace forgets it", file=sys.stderr)
        print(f"policy: {policy}")
        print(f"report: {write_report(self._out).page}")
        print(f"next:   {command}")
        print(f"        timeful serve {policy}")

    def _say(self, text: str) -> None:
        """Print a line, where the bar is if there is one."""
        if self._has_bar:
            print(f"\r{'':<79}\r", end="", file=sys.stderr)
            self._has_bar = False
        print(text, file=sys.stderr)


class NullProgress(TrainingProgress):
    """One of several processes that train together; the first one speaks."""

    def advance(self, done: int, of: int) -> None:
        """Say nothing."""

    def measured(self, text: str) -> None:
        """Say nothing."""

    def warn(self, text: str) -> None:
        """Say nothing."""

    def stopped(self, has_checkpoint: bool) -> None:
        """Say nothing."""

    def end(self, policy: Path, command: str, *, is_old: bool = False) -> None:
        """Say nothing."""


class GracefulInterrupt:
    """Whether Ctrl-C was pressed, for who asks after each update.

    Before anybody asks, and when it is pressed again, it interrupts at once.
    """

    def __init__(self, *, speaks: bool) -> None:
        self._speaks = speaks
        self._is_waited_for = self._is_pressed = False

    def __call__(self) -> bool:
        """Whether to stop here."""
        self._is_waited_for = True
        return self._is_pressed

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._is_pressed or not self._is_waited_for:
            raise KeyboardInterrupt
        self._is_pressed = True
        if self._speaks:  # by the system, since a print may be under way
            os.write(2, b"\nfinishing the update; Ctrl-C again stops at once\n")


def span(seconds: float) -> str:
    """A span of time in a few letters."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
