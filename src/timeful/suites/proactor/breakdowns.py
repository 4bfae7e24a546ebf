"""Where numbers come from: by action, by subflow, and by how fast the model is."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from timeful.suites.proactor.numbers import Cell, timed_cells
from timeful.suites.proactor.rows import ActionCounts
from timeful.suites.proactor.words import (
    TIMINGS,
    WIDTH,
    mean_of,
    percent,
    ratio,
    shorten,
    text,
    tokens_a_second,
)

_HEADS = ("AC", "MaxAC", "Diff", "PT", "FTR", "RAR")
ACTION_HEADS = ("n", "AC", "early", "in time", "too late", "false", "met", "found", "lead")


def actions(cell: Cell, why: str) -> Iterator[str]:
    """What became of each action of an agent, as text, and why it is this one."""
    yield from wrap(
        f"By action: {cell.title} ({why}; the report has all)", WIDTH, break_on_hyphens=False
    )
    # Words of one head hang together, or "early in time too late" could be any of them.
    yield f"{'':<22}" + _columns(head.replace(" ", "-") for head in ACTION_HEADS)
    for name, counts in cell.actions().items():
        yield f"{shorten(name, 21):<22}" + _columns(action_entries(counts, cell))
    yield from wrap(
        "n: predictions, over all runs. Of the ready ones: early, in time or too late beside "
        "the reference's range, false where it has none. met: share of its ready turns that were "
        "met; found: share of its ranges, met or foreseen; lead: by how many turns, mean.",
        WIDTH,
    )


def _title(said: str) -> list[str]:
    return wrap(said, WIDTH, break_on_hyphens=False)


def _columns(entries: Iterable[str]) -> str:
    widths = (6, 6, 6, 8, 9, 6, 5, 6, 6)
    return "".join(f"{entry:>{width}}" for entry, width in zip(entries, widths, strict=True))


def action_entries(counts: ActionCounts, cell: Cell) -> tuple[str, ...]:
    """What became of an action of a cell, in the order of `ACTION_HEADS`."""
    ac = ratio(counts.matched, counts.predicted) if cell.has_references else None
    return (
        str(counts.predicted),
        text(ac, 2),
        str(counts.early),
        str(counts.in_time),
        str(counts.too_late),
        str(counts.false),
        text(ratio(counts.met, counts.due), 2),
        text(ratio(counts.found, counts.needed), 2),
        text(ratio(counts.lead, counts.found), 1),
    )


def subflows(cell: Cell, why: str) -> Iterator[str]:
    """The columns of Table 1 for each workflow, as text, and why it is this agent."""
    parts = cell.by_subflow()
    yield from wrap(
        f"By subflow: {cell.title} ({why}; the report has all)", WIDTH, break_on_hyphens=False
    )
    yield f"{'':<24}" + "".join(f"{head:>{7}}" for head in ("turns", "lost", *_HEADS))
    for name, part in parts.items():
        entries = [str(part.count("turns")), str(part.count("lost"))]
        entries += [text(mean_of(found), 3) for found in part.numbers.values()]
        yield f"{shorten(name or '(unknown)', 23):<24}" + "".join(
            f"{each:>{7}}" for each in entries
        )


TIMED_HEADS = ("tokens/s", "lost", "late", "AC", "PT", "FTR", "RAR", "AC°", "PT°")


def timed(cells: Sequence[Cell]) -> Iterator[str]:
    """What time does to agents, as text; nothing where all conversations waited."""
    mine = timed_cells(cells)
    if not mine:
        return
    yield "Time: what an agent loses that is too slow for a conversation that does not wait"
    for (title, timing), part in groupby(mine, key=lambda cell: (cell.title, cell.timing)):
        yield f"{title}; {TIMINGS[timing]}"
        yield _timed_line(TIMED_HEADS)
        for cell in part:
            yield _timed_line(timed_entries(cell))
    yield from wrap(
        "lost: turns without a prediction in time, ± over runs; late: predictions that came after "
        "the next turn had begun; both of all turns. AC to RAR are of the turns in time, ° counts "
        "a lost turn as 0: who answers only where little is to be said looks better than it is.",
        WIDTH,
    )


def _timed_line(entries: Iterable[str]) -> str:
    widths = (11, 13, 8, 8, 8, 8, 8, 8, 8)
    return "".join(f"{entry:>{width}}" for entry, width in zip(entries, widths, strict=True))


def timed_entries(cell: Cell) -> tuple[str, ...]:
    """What time does to an agent, in the order of `TIMED_HEADS`."""
    lost, late = cell.share("lost"), cell.share("late")
    numbers = cell.numbers
    return (
        tokens_a_second(cell),
        percent(lost),
        percent(late, with_std=False),
        *(text(mean_of(numbers[name]), 3) for name in ("ac", "pt", "ftr", "rar")),
        *(text(mean_of(cell.of_all(name)), 3) for name in ("ac", "pt")),
    )
