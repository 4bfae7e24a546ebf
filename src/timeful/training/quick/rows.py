"""What the stages leave behind, read again: rows of graded problems, and lines of metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import structs

from timeful.errors import RecordError
from timeful.models.pace import Pace
from timeful.records.events import Entry, EpisodeStarted, Happened, ThoughtEnded
from timeful.tasks.rows import TaskRow, summarize
from timeful.training.tiny.language import EIGHTHS
from timeful.training.update_metrics import UpdateMetrics

R = TypeVar("R")

AGAIN = "remove it, and the same command grades again"


class ClockRow(TaskRow, frozen=True, kw_only=True):
    """The outcome of an episode with a timer on the way.

    `alpha` is how much thinking counted, and `scale` what the timer multiplied the time by. `heard`
    is what it said first, in seconds, and None if it was not asked; `before` and `after` are the
    tokens that were said before that and after it.
    """

    alpha: float
    scale: float
    heard: float | None
    before: int
    after: int

    @property
    def clock(self) -> int | None:
        """How many eighths of the budget it heard of, as the model reads it; None if of none."""
        if self.heard is None or self.budget_ns is None:
            return None
        return min(EIGHTHS, int(EIGHTHS * self.heard / (self.budget_ns / 1e9)))

    def room(self, pace: Pace) -> int:
        """How many tokens there was room for, under the budget that was named."""
        assert self.budget_ns is not None, "no budget was named"
        return round(self.budget_ns / self.alpha / pace.per_token)


def with_clock(events: Sequence[Entry]) -> ClockRow:
    """Sum up an episode, with what the timer said first."""
    row, settings = summarize(events), next(e for e in events if isinstance(e, EpisodeStarted))
    said = [one.tokens for one in events if isinstance(one, ThoughtEnded)]
    told = [
        float(one.data["text"].split()[0])
        for one in events
        if isinstance(one, Happened) and one.what == "reply"
    ]
    before = said[0] if told else row.tokens
    return ClockRow(
        **structs.asdict(row),
        alpha=settings.settings["alpha"],
        scale=settings.settings["timer"]["scale"],
        heard=told[0] if told else None,
        before=before,
        after=row.tokens - before,
    )


def read_rows(path: Path) -> list[TaskRow]:
    """The rows of a grading.

    Raises:
        RecordError: If it cannot be read.
    """
    return _read(path, TaskRow, AGAIN)


def read_clocks(path: Path) -> list[ClockRow]:
    """The rows of a grading with a timer.

    Raises:
        RecordError: If it cannot be read.
    """
    return _read(path, ClockRow, AGAIN)


def read_metrics(path: Path) -> list[UpdateMetrics]:
    """The updates of a training.

    Raises:
        RecordError: If they cannot be read.
    """
    return _read(path, UpdateMetrics, "remove its folder, and the same command learns again")


def _read(path: Path, kind: type[R], advice: str) -> list[R]:
    try:
        return [msgspec.json.decode(one, type=kind) for one in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read: {error}; {advice}") from error
