"""The rows of graded problems, as steps write them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from timeful.errors import RecordError
from timeful.files import decode
from timeful.models.pace import Pace
from timeful.records.events import Entry, EpisodeStarted, Happened, ThoughtEnded
from timeful.tasks.rows import TaskRow, summarize
from timeful.training.tiny.language import EIGHTHS


class ClockRow(TaskRow, frozen=True, kw_only=True):
    """The outcome of an episode, with a timer on the way or without one.

    `alpha` is the weight of thinking time, and `scale` the factor of a wrong timer. `heard` is the
    first reading in seconds, None if the timer was not asked; `before` and `after` count the tokens
    before and after it.
    """

    alpha: float
    scale: float
    heard: float | None
    before: int
    after: int

    @property
    def clock(self) -> int | None:
        """The first reading in eighths of the budget, as the model reads it; None without one."""
        if self.heard is None or self.budget_ns is None:
            return None
        return min(EIGHTHS, int(EIGHTHS * self.heard / (self.budget_ns / 1e9)))

    def room(self, pace: Pace) -> int:
        """The number of tokens that the named budget leaves room for."""
        assert self.budget_ns is not None, "no budget was named"
        return round(self.budget_ns / self.alpha / pace.per_token)


def make_row(events: Sequence[Entry]) -> ClockRow:
    """Make the row of an episode, with the first reading of the timer."""
    row, settings = summarize(events), next(e for e in events if isinstance(e, EpisodeStarted))
    lengths = [event.tokens for event in events if isinstance(event, ThoughtEnded)]
    readings = [
        float(event.data["text"].split()[0])
        for event in events
        if isinstance(event, Happened) and event.what == "reply"
    ]
    before = lengths[0] if readings else row.tokens
    return ClockRow(
        **structs.asdict(row),
        alpha=settings.settings["alpha"],
        scale=settings.settings["timer"]["scale"],
        heard=readings[0] if readings else None,
        before=before,
        after=row.tokens - before,
    )


def read_rows(path: Path) -> list[ClockRow]:
    """The rows of a grading.

    Raises:
        RecordError: If it cannot be read.
    """
    try:
        return [decode(line, ClockRow) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError) as error:
        advice = "remove it, and the same command grades again"
        raise RecordError(f"{path} cannot be read: {error}; {advice}") from error
