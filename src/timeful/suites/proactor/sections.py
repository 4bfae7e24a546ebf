"""The tables of ProActor as sections of a page."""

from collections.abc import Sequence

from timeful.metrics.proactor.spread import Spread
from timeful.reports.page import Block, Entry, Paragraph, Section
from timeful.reports.page import Grid as Table
from timeful.suites.proactor.breakdowns import ACTION_HEADS, action_entries
from timeful.suites.proactor.further import FURTHER, alike_runs, further, of_references
from timeful.suites.proactor.judging import Bench
from timeful.suites.proactor.numbers import COLUMNS, Cell, ranking, ready_per_turn
from timeful.suites.proactor.published import PUBLISHED, READY
from timeful.suites.proactor.tables import READY_HEADS, group_words, judges_words, ready_entries
from timeful.suites.proactor.words import condition, text

_DIGITS = {"pt": 4, "ftr": 4}
_Row = tuple[str | Entry, ...]


def table_1(cells: Sequence[Cell], data: str) -> Section:
    """Table 1, and the published rows of the nearest data below it."""
    ranked = ranking(cells)
    body: list[_Row] = []
    for cell in cells:
        pri = ranked.get(cell.title)
        who = Entry(cell.title, "stand-in" if cell.stand_in else "a language model")
        numbers = (_entry(name, found) for name, found in cell.numbers.items())
        body.append((who, "-" if pri is None else f"{pri.pri:.4f}", *numbers))
    head = ("", "PRI", *COLUMNS.values())
    caption = condition(cells[0]) if cells else ""
    blocks: list[Block] = [Table(head=head, rows=tuple(body), caption=caption)]
    blocks.append(Paragraph(" ".join(group_words(cells))))
    blocks.append(_published_table(data))
    return Section("Table 1", tuple(blocks))


def _entry(name: str, found: Spread | None) -> Entry:
    if found is None:
        return Entry("-")
    digits = _DIGITS.get(name, 3)
    return Entry(
        f"{found.mean:.{digits}f}", "" if found.std is None else f"±{found.std:.{digits}f}"
    )


_MISPRINTS = {"ABCD+": ". Of GPT-4.1-mini the paper prints AC in the place of the difference"}


def _published_table(data: str) -> Table:
    body: list[_Row] = []
    for row in PUBLISHED[data]:
        entries = []
        for name in COLUMNS:
            digits = _DIGITS.get(name, 3)
            small = f"±{row.stds[name]:.{digits}f}"
            entries.append(Entry(f"{row.means[name]:.{digits}f}", small, tone="quiet"))
        body.append((row.name, f"{row.pri:.4f}", *entries))
    return Table(
        caption=f"Table 5, published: {data}. Other data and models: none of it was run here; PRI "
        f"within these {len(body)} rows{_MISPRINTS.get(data, '')}",
        head=("", "PRI", *COLUMNS.values()),
        rows=tuple(body),
    )


def also_published(shown: str) -> Section:
    """The rows that were published on other data than those that stand beside Table 1."""
    tables = tuple(_published_table(data) for data in PUBLISHED if data != shown)
    return Section("Published on other data", tables, is_folded=True)


def further_metrics(cells: Sequence[Cell], bench: Bench) -> list[Section]:
    """The further metrics, how alike runs are, what judges said, and EC of the references."""
    found = further(cells)
    judges = next(iter(bench.judged.values()), ())
    body: list[_Row] = []
    for cell in cells:
        judged = bench.judged.get(cell.title, ())
        numbers = [_entry(name, found[cell.title][name]) for name in FURTHER]
        numbers += [_entry("pr", one.spread) for one in judged]
        alike = alike_runs(cell)
        values = (None,) * 3 if alike is None else (alike.combined, alike.final, alike.trajectory)
        body.append((cell.title, *numbers, *(text(value, 3) for value in values)))
    head = ("", *FURTHER.values(), *(f"PR by {one.judge}" for one in judges))
    alike_heads = ("alike", "in means", "by dialogue")
    words = Paragraph(
        "false triggered: triggered where the reference has no such action. AD: how likely the "
        "workflows let predictions follow those of the turn before. IC: by TF-IDF, of agents that "
        "ask. alike: run-to-run consistency, the mean of how alike runs are in their means and in "
        f"each dialogue. {judges_words(bench)}"
    )
    table = Table(head=(*head, *alike_heads), rows=tuple(body))
    blocks: list[Block] = [table, words]
    rows: list[_Row] = [
        (
            str(one.sigma),
            text(one.action_level, 4),
            text(one.dialogue_mean, 4),
            text(one.share_above, 4),
            text(one.coverage, 4),
        )
        for one in of_references(cells)
    ]
    if rows:
        caption = "EC of the references: ready so many turns (sigma) before it was done"
        head = ("sigma", "share of actions", "dialogue mean", "above 0.8", "coverage")
        blocks.append(Table(caption=caption, head=head, rows=tuple(rows)))
    return [Section("Further metrics", tuple(blocks))]


def ready(cells: Sequence[Cell], data: str) -> Section:
    """Table 8."""
    body: list[_Row] = []
    for cell in cells:
        found = ready_per_turn(cell)
        if found is not None:
            body.append((cell.title, *ready_entries(found)))
    count, *rest = READY[data]
    numbers = [f"{count:.0f}", *(text(value, 2) for value in rest)]
    body.append((f"published, {data}", *(Entry(number, tone="quiet") for number in numbers)))
    return Section(
        "Table 8",
        (
            Table(
                caption="Ready actions predicted a turn, over all turns of all runs",
                head=("", *READY_HEADS),
                rows=tuple(body),
            ),
        ),
    )


def breakdowns(cells: Sequence[Cell]) -> list[Section]:
    """By action, and by subflow."""
    words = Paragraph(
        "n predictions; of the ready ones, early is before the first ready turn of the reference, "
        "too late after its last, false is an action that is ready at no turn. met is the share of "
        "the reference's ready turns at which the action was predicted as ready; found the share "
        "of its ranges that were foreseen or met; lead by how many turns, below 0 where it came "
        "after."
    )
    actions = [_by_action(cell) for cell in cells]
    subflows = [_by_subflow(cell) for cell in cells]
    return [
        Section("By action", (words, *actions), is_folded=True),
        Section("By subflow", tuple(subflows), is_folded=True),
    ]


def _by_action(cell: Cell) -> Table:
    rows = tuple((name, *action_entries(counts, cell)) for name, counts in cell.actions().items())
    return Table(caption=cell.title, head=("action", *ACTION_HEADS), rows=rows)


def _by_subflow(cell: Cell) -> Table:
    rows: list[_Row] = []
    for name, part in cell.by_subflow().items():
        counts = (str(part.count("turns")), str(part.count("lost")))
        numbers = (_entry(column, found) for column, found in part.numbers.items())
        rows.append((name or "(unknown)", *counts, *numbers))
    head = ("subflow", "turns", "lost", *COLUMNS.values())
    return Table(caption=cell.title, head=head, rows=tuple(rows))
