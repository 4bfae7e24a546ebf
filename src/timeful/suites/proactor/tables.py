"""The tables of ProActor as plain text of at most 80 columns, for the end of a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap

from timeful.metrics.proactor.spread import Spread
from timeful.suites.proactor.numbers import (
    Cell,
    Distribution,
    main_cells,
    make_cells,
    questions,
    ranking,
    ready_per_turn,
    timed_cells,
)
from timeful.suites.proactor.published import PUBLISHED, READY, nearest_data
from timeful.suites.proactor.rows import ActionCounts, ProactorRow
from timeful.suites.proactor.source import Source

STAND_IN = "Stand-in: a rule that retrieves workflows answers; no language model was run."
SYNTHETIC = "Nobody ever held these conversations: they are made, with their references."

HEADS = ("PRI", "AC", "MaxAC", "Diff", "PT", "FTR", "RAR")
READY_HEADS = ("turns", "mean", "std", "min", "25 %", "50 %", "75 %", "max")
_NAME, _ENTRY, _WIDTH = 31, 7, 80
_SHOWN = 4
"""So many published rows are printed, the best by PRI; all of them are in the report."""


def text_tables(rows: Sequence[ProactorRow], settings: Mapping[str, object]) -> str:
    """All tables of a run and what is to be said about them.

    Args:
        rows: The episodes.
        settings: What they have in common, as the run's folder keeps it.
    """
    cells = make_cells(rows)
    source = source_of(settings)
    mine = main_cells(cells)
    best = the_best(mine)
    blocks: list[Iterable[str]] = [_table_1(mine, source), _published(source), _ready(mine, source)]
    if best is not None:
        blocks += [_actions(best), _subflows(best)]
    blocks += [_timed(cells), _questions(mine), remarks(cells)]
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block) + "\n"


def source_of(settings: Mapping[str, object]) -> Source:
    """Which conversations a run was about."""
    told = settings["source"]
    assert isinstance(told, dict), "a run says what it was about"
    return Source(**told)


def the_best(cells: Sequence[Cell]) -> Cell | None:
    """The cell of the highest PRI, or the first one where nothing can be ranked."""
    ranked = ranking(cells)
    found = max(
        (cell for cell in cells if cell.title in ranked),
        key=lambda cell: ranked[cell.title].pri,
        default=None,
    )
    return found or (cells[0] if cells else None)


# --- Table 1 --------------------------------------------------------------------------------------


def _table_1(cells: Sequence[Cell], source: Source) -> Iterator[str]:
    if not cells:
        return
    yield from wrap(f"Table 1: {source.title}; {condition(cells[0])}", _WIDTH)
    yield from _head()
    ranked = ranking(cells)
    for cell in cells:
        pri = ranked[cell.title].pri if cell.title in ranked else None
        yield _line(cell.title, [pri, *(_mean(found) for found in cell.numbers.values())])
        stds = [None if found is None else found.std for found in cell.numbers.values()]
        if any(std is not None for std in stds):
            runs = len({row.run for row in cell.ok})
            yield _line(f"  ± over {runs} runs", ["", *stds])
        if cell.failed:
            yield f"  {cell.failed} of {len(cell.rows)} episodes failed, and are left out"
    yield from group_words(cells)


def group_words(cells: Sequence[Cell]) -> list[str]:
    """Who the group is within which PRI was made."""
    names = list(ranking(cells))
    if not names:
        return ["No PRI: nobody has all of the numbers that it is made from"]
    members = "; ".join(sorted(names))
    return wrap(
        f"PRI within this group of {len(names)} alone, with other members it is another: {members}",
        _WIDTH,
        break_on_hyphens=False,
    )


def _published(source: Source) -> Iterator[str]:
    data = nearest_data(source.title)
    rows = sorted(PUBLISHED[data], key=lambda row: -row.pri)
    yield from wrap(
        f"Published, {data} (Table 5): other data and other models, none of which was run here; "
        f"PRI within its {len(rows)} rows, of which the first {_SHOWN} are shown",
        _WIDTH,
    )
    yield from _head()
    for row in rows[:_SHOWN]:
        yield _line(row.name, [row.pri, *row.means.values()])


def _head() -> Iterator[str]:
    yield " " * _NAME + "".join(f"{head:>{_ENTRY}}" for head in HEADS)


# --- Table 8 and the breakdowns -------------------------------------------------------------------


def _ready(cells: Sequence[Cell], source: Source) -> Iterator[str]:
    found = [(cell, ready_per_turn(cell)) for cell in cells]
    if not any(each for _, each in found):
        return
    yield "Table 8: ready actions predicted a turn, over all turns of all runs"
    yield f"{'':<31}" + "".join(f"{head:>6}" for head in READY_HEADS)
    for cell, each in found:
        if each is not None:
            yield f"{cell.title:<31}" + "".join(ready_entries(each, 6))
    data = nearest_data(source.title)
    numbers = [f"{value:>6.2f}" if place else f"{value:>6.0f}" for place, value in _placed(data)]
    yield f"{'published, ' + data:<31}" + "".join(numbers)


def _placed(data: str) -> list[tuple[int, float]]:
    return list(enumerate(READY[data]))


def ready_entries(found: Distribution, width: int = 0) -> list[str]:
    """A distribution, in the order of `READY_HEADS`."""
    numbers = (found.mean, found.std, found.least, *found.quartiles, found.most)
    return [f"{found.count:>{width}}", *(f"{text(value, 2):>{width}}" for value in numbers)]


ACTION_HEADS = ("n", "AC", "early", "in time", "late", "false", "met", "found", "lead")


def _actions(cell: Cell) -> Iterator[str]:
    yield f"By action: {cell.title}"
    yield f"{'':<24}" + _columns(ACTION_HEADS)
    for name, counts in cell.actions().items():
        yield f"{name[:23]:<24}" + _columns(action_entries(counts, cell))
    yield from wrap(
        "n: predictions, over all runs. Of the ready ones: early, in time or late beside the "
        "reference's range, false where it has none. met: share of its ready turns that were met; "
        "found: share of its ranges, met or foreseen; lead: by how many turns, mean.",
        _WIDTH,
    )


def _columns(entries: Iterable[str]) -> str:
    widths = (6, 6, 6, 8, 5, 6, 6, 6, 6)
    return "".join(f"{entry:>{width}}" for entry, width in zip(entries, widths, strict=True))


def action_entries(counts: ActionCounts, cell: Cell) -> tuple[str, ...]:
    """What became of an action of a cell, in the order of `ACTION_HEADS`."""
    ac = _ratio(counts.matched, counts.predicted) if cell.has_references else None
    return (
        str(counts.predicted),
        text(ac, 2),
        str(counts.early),
        str(counts.in_time),
        str(counts.too_late),
        str(counts.false),
        text(_ratio(counts.met, counts.due), 2),
        text(_ratio(counts.found, counts.needed), 2),
        text(_ratio(counts.lead, counts.found), 1),
    )


def _subflows(cell: Cell) -> Iterator[str]:
    parts = cell.by_subflow()
    yield f"By subflow: {cell.title}"
    yield f"{'':<24}" + "".join(f"{head:>{_ENTRY}}" for head in ("turns", "lost", *HEADS[1:]))
    for name, part in parts.items():
        entries = [str(part.count("turns")), str(part.count("lost"))]
        entries += [text(_mean(found), 3) for found in part.numbers.values()]
        yield f"{(name or '(unknown)')[:23]:<24}" + "".join(f"{each:>{_ENTRY}}" for each in entries)


# --- time -----------------------------------------------------------------------------------------

TIMED_HEADS = ("tokens/s", "lost", "late", "AC", "PT", "FTR", "RAR", "AC°", "PT°")


def _timed(cells: Sequence[Cell]) -> Iterator[str]:
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
        _WIDTH,
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
        *(text(_mean(numbers[name]), 3) for name in ("ac", "pt", "ftr", "rar")),
        *(text(_mean(cell.of_all(name)), 3) for name in ("ac", "pt")),
    )


def tokens_a_second(cell: Cell) -> str:
    """The pace of the model."""
    if not cell.token_ns:
        return "at once"
    delay = f" +{cell.first_ns / 1e9:g} s" if cell.first_ns else ""
    return f"{1e9 / cell.token_ns:.4g}{delay}"


TIMINGS = {
    "by-turn": "by turn",
    "timestamps": "at the times of the data",
    "pace": "at a pace of reading and speaking",
}


def condition(cell: Cell) -> str:
    """The law of time, and how much was played."""
    dialogues = len({row.place for row in cell.rows})
    runs = len({row.run for row in cell.rows})
    pace = "" if cell.timing == "by-turn" else f" ({tokens_a_second(cell)} tokens/s)"
    return f"{dialogues} dialogues, {runs} runs, {TIMINGS[cell.timing]}{pace}"


# --- what else is to be said ----------------------------------------------------------------------


def _questions(cells: Sequence[Cell]) -> Iterator[str]:
    found = questions(cells)
    if not found:
        return
    yield "Questions: information consistency, IC, over the turns with some on both sides"
    for title, each in found.items():
        scored = each.n_turns - each.n_skipped
        yield f"{title:<31}{text(each.mean, 3):>7}  {scored} turns, by {each.similarity}"


def remarks(cells: Sequence[Cell]) -> list[str]:
    """What whoever reads the tables must know."""
    said = []
    if any(cell.stand_in for cell in cells):
        said.append(STAND_IN)
        said.append(
            "It leaves nothing to chance: by turn its runs are the same, and Reasoning says what "
            "Non-Reasoning says, after more tokens. At a pace, runs differ by the conversation's."
        )
    rows = [row for cell in cells for row in cell.ok]
    if any(row.synthetic for row in rows):
        said.append(SYNTHETIC)
    if rows and not any(row.has_references for row in rows):
        said.append("The file has ready ranges and no references: no AC, Max AC and PRI.")
    notes = noted(cells)
    if notes:
        said.append("Noted: " + ", ".join(f"{topic} {count}" for topic, count in notes.items()))
    return [line for one in said for line in wrap(one, _WIDTH, break_on_hyphens=False)]


def noted(cells: Sequence[Cell]) -> dict[str, int]:
    """How often agents noted each topic."""
    found: dict[str, int] = {}
    for cell in cells:
        for row in cell.ok:
            for topic, count in row.notes.items():
                found[topic] = found.get(topic, 0) + count
    return dict(sorted(found.items()))


def text(value: float | None, digits: int) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(found: Spread | None, *, with_std: bool = True) -> str:
    """A share in percent, with its deviation over runs."""
    if found is None:
        return "-"
    spread = f"±{100 * found.std:.1f}" if with_std and found.std is not None else ""
    return f"{100 * found.mean:.1f}{spread} %"


def _mean(found: Spread | None) -> float | None:
    return None if found is None else found.mean


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _line(name: str, entries: Sequence[float | str | None]) -> str:
    cells = [each if isinstance(each, str) else text(each, 3) for each in entries]
    label = name if len(name) < _NAME else f"{name[: _NAME - 2]}…"
    return (f"{label:<{_NAME}}" + "".join(f"{each:>{_ENTRY}}" for each in cells)).rstrip()
