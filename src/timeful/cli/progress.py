"""Progress on a terminal: a bar; elsewhere, a line now and then. Both go to standard error."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich.progress
from rich.console import Console

if TYPE_CHECKING:
    from timeful.records.rows import EpisodeRow


class Progress:
    """Counts finished episodes for whoever watches."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar: rich.progress.Progress | None = None
        if console.is_terminal:
            self._bar = rich.progress.Progress(
                rich.progress.TextColumn("{task.description}"),
                rich.progress.BarColumn(bar_width=None),
                rich.progress.MofNCompleteColumn(),
                rich.progress.TimeElapsedColumn(),
                rich.progress.TimeRemainingColumn(),
                console=console,
                transient=True,
            )
        self._total = self._done = self._failed = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self, total: int) -> None:
        """Begin to count towards a total."""
        self._total = total
        if self._bar is not None:
            self._bar.start()
            self._bar.add_task("episodes", total=total)

    def advance(self, row: "EpisodeRow") -> None:
        """Count one more."""
        self._done += 1
        self._failed += row.status == "failed"
        if self._bar is not None:
            failed = f", {self._failed} failed" if self._failed else ""
            self._bar.update(rich.progress.TaskID(0), advance=1, description=f"episodes{failed}")
        elif self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            print(f"{self._done} of {self._total} episodes", file=sys.stderr)

    def stopped(self, out: Path) -> None:
        """Say that the run was interrupted, and how it goes on."""
        self.__exit__()
        print(
            f"stopped: {self._done} of {self._total} episodes are done and kept in {out}; "
            "the same command goes on from there",
            file=sys.stderr,
        )
