"""Progress on standard error: a bar on a terminal, else a line for each tenth."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from timeful.runs.batch import Row


class Progress:
    """Counts finished episodes."""

    def __init__(self) -> None:
        self._bar: ProgressBar[int] | None = None
        self._total = self._done = self._failed = 0

    def start(self, total: int) -> None:
        """Begin to count towards a total."""
        self.end()
        self._total, self._done, self._failed = total, 0, 0
        if sys.stderr.isatty():
            self._bar = click.progressbar(
                length=total, label="episodes", file=sys.stderr, show_pos=True, width=0
            )
            self._bar.render_progress()
        else:
            print(f"0 of {total} episodes", file=sys.stderr)

    def say(self, text: str) -> None:
        """Print a line about what follows the last episode."""
        self.end()
        click.echo(text, err=True)

    def advance(self, row: "Row") -> None:
        """Count an episode."""
        self._done += 1
        self._failed += row.status == "failed"
        if self._bar is not None:
            if self._failed:
                self._bar.label = f"episodes, {self._failed} failed"
            self._bar.update(1)
        elif self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            print(f"{self._done} of {self._total} episodes", file=sys.stderr)

    def end(self) -> None:
        """End the bar, if there is one."""
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None

    def stopped(self, out: Path) -> None:
        """Print that the run was interrupted, and how to resume it."""
        state = f"{self._done} of {self._total} episodes are done and saved"
        print(
            f"stopped: {state if self._total else 'all results are saved'} in {out};\n"
            "the same command resumes the run",
            file=sys.stderr,
        )
