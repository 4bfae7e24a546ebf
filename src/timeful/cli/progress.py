"""Progress on standard error: a bar on a terminal, else a line for each tenth."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

import click

from timeful.cli.console import terminal
from timeful.core.clock import monotonic_ns
from timeful.reports.text import format_span, shorten

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from timeful.models.spending import Spending, Spent
    from timeful.runs.batch import Row

_TICK_S, _LINE_S = 1.0, 30.0
"""The seconds between two states of a run on endpoints: on a terminal, and elsewhere."""

_RATE_NS = 5_000_000_000
"""The shortest time over which tokens a second are a mean."""


class Progress:
    """Counts what is finished, such as episodes, and shows what endpoints are asked meanwhile."""

    def __init__(self, noun: str = "episodes") -> None:
        self._noun = noun
        self._bar: ProgressBar[int] | None = None
        self._total = self._done = self._failed = 0
        self._began: tuple[int, int] | None = None
        self._lock = Lock()
        self._endpoints: _Endpoints | None = None

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

    def follow(self, spending: "Spending") -> None:
        """Show what a run spends, once its first request is sent."""
        self._endpoints = _Endpoints(spending, self._show_endpoints)

    def say(self, text: str) -> None:
        """Print a line about what follows the last episode."""
        self.end()
        print(text, file=sys.stderr)

    def advance(self, row: "Row") -> None:
        """Count an episode."""
        self.count(has_failed=row.status == "failed")

    def count(self, *, has_failed: bool) -> None:
        """Count one more."""
        with self._lock:
            self._done += 1
            self._failed += has_failed
            if self._bar is not None:
                if self._failed:
                    self._bar.label = f"{self._noun}, {self._failed} failed"
                self._bar.update(1)
            elif self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
                self._print()

    def _show_endpoints(self) -> None:
        """Show the state of a run on endpoints, in a line that is rewritten or in one more."""
        with self._lock:
            if self._bar is not None:  # the line has no room for it
                self._bar = None
                terminal(sys.stderr).write("\x1b[?25h")  # the bar has hidden the cursor
            self._print()

    def _print(self) -> None:
        failed = f", {self._failed} failed" if self._failed else ""
        line = f"{self._done} of {self._total} {self._noun}{failed}{self._time_left()}"
        if self._endpoints is not None and self._endpoints.numbers:
            line = f"{line}; {self._endpoints.numbers}"
        if sys.stderr.isatty():
            width = get_terminal_size().columns - 1
            terminal(sys.stderr).write(f"\r\x1b[K{line[:width]}")
            terminal(sys.stderr).flush()
        else:
            width = get_terminal_size().columns
            print(fill(line, width, subsequent_indent="  "), file=sys.stderr)

    def _time_left(self) -> str:
        """The remaining time at the same speed, after the first line."""
        now = monotonic_ns()
        first, since = self._began = self._began or (self._done, now)
        if self._done in (first, self._total):
            return ""
        left_s = (now - since) / 1e9 / (self._done - first) * (self._total - self._done)
        return f", about {format_span(left_s)} left"

    def end(self) -> None:
        """End the bar or the line, if there is one."""
        if self._endpoints is not None:
            self._endpoints.end()
            if self._endpoints.numbers and sys.stderr.isatty():
                print(file=sys.stderr)
            self._endpoints = None
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


class _Endpoints:
    """Tells at intervals what a run asks of endpoints, from a thread of its own.

    Attributes:
        numbers: The last state; "" before the first request.
    """

    def __init__(self, spending: "Spending", show: Callable[[], None]) -> None:
        self.numbers = ""
        self._spending, self._show = spending, show
        self._is_over = Event()
        self._last = spending.now, monotonic_ns()
        self._thread = Thread(target=self._run, name="timeful-progress", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Show the last state, if there is any."""
        self._is_over.set()
        self._thread.join()
        self._tell()

    def _run(self) -> None:
        while not self._is_over.wait(_TICK_S if sys.stderr.isatty() else _LINE_S):
            self._tell()

    def _tell(self) -> None:
        now, at = self._spending.now, monotonic_ns()
        if not now.requests:
            return
        before, since = self._last
        rate = (now.completion - before.completion) / max((at - since) / 1e9, 1e-3)
        if at - since >= _RATE_NS:
            self._last = now, at
        self.numbers = describe_spent(self._spending.total, rate=rate, in_flight=int(now.in_flight))
        self._show()


def describe_spent(spent: "Spent", *, rate: float, in_flight: int) -> str:
    """What a run spent so far, in words.

    Args:
        spent: The numbers of all sessions.
        rate: The tokens of answers a second.
        in_flight: The requests that are answered now.
    """
    cost = f"{spent.cost:.2f} USD, " if spent.cost else ""
    limits = f"{spent.limited:,.0f} rate limits, " if spent.limited else ""
    others = spent.retries - spent.limited
    retries = f", {others:,.0f} retries" if others > 0 else ""
    return (
        f"{cost}{shorten(spent.tokens)} tokens, {shorten(rate)}/s, {in_flight} in flight, {limits}"
        f"{spent.requests:,.0f} requests{retries}"
    )


@contextmanager
def show_progress(out: Path, noun: str = "episodes") -> Iterator[Progress]:
    """Show the progress of a run in a folder; after Ctrl-C, exit with 130."""
    progress = Progress(noun)
    try:
        yield progress
    except KeyboardInterrupt:
        progress.end()
        progress.stopped(out)
        raise SystemExit(130) from None
    finally:
        progress.end()
