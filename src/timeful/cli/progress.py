"""Progress on standard error: a bar on a terminal, else a line for each tenth."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.cli.console import terminal
from timeful.reports.text import format_span

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from timeful.runs.batch import Row


class Progress:
    """Counts what is finished, such as episodes."""

    def __init__(self, noun: str = "episodes") -> None:
        self._noun = noun
        self._bar: ProgressBar[int] | None = None
        self._total = self._done = self._failed = 0
        self._began: tuple[int, int] | None = None

    def start(self, total: int, done: int = 0) -> None:
        """Begin to count towards a total, of which a part may be done."""
        self.end()
        self._total, self._done, self._failed, self._began = total, done, 0, None
        if sys.stderr.isatty():
            self._bar = click.progressbar(
                length=total, label=self._noun, file=terminal(sys.stderr), show_pos=True, width=0
            )
            self._bar.update(done)
        else:
            print(f"{done} of {total} {self._noun}", file=sys.stderr)

    def say(self, text: str) -> None:
        """Print a line about what follows the last episode."""
        self.end()
        print(text, file=sys.stderr)

    def advance(self, row: "Row") -> None:
        """Count an episode."""
        self.count(has_failed=row.status == "failed")

    def count(self, *, has_failed: bool) -> None:
        """Count one more."""
        self._done += 1
        self._failed += has_failed
        if self._bar is not None:
            if self._failed:
                self._bar.label = f"{self._noun}, {self._failed} failed"
            self._bar.update(1)
        elif self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            print(f"{self._done} of {self._total} {self._noun}{self._time_left()}", file=sys.stderr)

    def _time_left(self) -> str:
        """The remaining time at the same speed, from the second line on."""
        from timeful.core.clock import monotonic_ns

        now = monotonic_ns()
        if self._began is None or self._done == self._total:
            self._began = self._began or (self._done, now)
            return ""
        first, since = self._began
        left_s = (now - since) / 1e9 / (self._done - first) * (self._total - self._done)
        return f", about {format_span(left_s)} left"

    def end(self) -> None:
        """End the bar, if there is one."""
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None

    def stopped(self, out: Path | str) -> None:
        """Print that the run was interrupted, and how to resume it."""
        state = f"{self._done} of {self._total} {self._noun} are done and saved"
        print(
            f"stopped: {state if self._total else 'all results are saved'} in {out};\n"
            "the same command resumes the run",
            file=sys.stderr,
        )
