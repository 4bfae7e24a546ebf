"""The report of ProActor: a page, the numbers behind it, the episodes, and the figures."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from timeful.metrics.proactor.spread import Spread
from timeful.runs.page import (
    Block,
    Bullets,
    Entry,
    Figure,
    Notice,
    Paragraph,
    Section,
    Table,
    render,
)
from timeful.runs.results import save_report
from timeful.suites.parts import failures
from timeful.suites.proactor.dialogues import ON_PAGE
from timeful.suites.proactor.dialogues import sections as dialogue_sections
from timeful.suites.proactor.numbers import (
    COLUMNS,
    Cell,
    main_cells,
    make_cells,
    questions,
    ranking,
    ready_per_turn,
    sorted_rows,
    timed_cells,
)
from timeful.suites.proactor.published import PUBLISHED, READY, nearest_data
from timeful.suites.proactor.results import EpisodeLine, episode_lines, result_rows
from timeful.suites.proactor.rows import ProactorRow
from timeful.suites.proactor.source import Source
from timeful.suites.proactor.tables import (
    ACTION_HEADS,
    READY_HEADS,
    TIMED_HEADS,
    TIMINGS,
    action_entries,
    condition,
    group_words,
    ready_entries,
    remarks,
    source_of,
    text,
    timed_entries,
)

TITLE = "timeful: ProActor"

_DIGITS = {"pt": 4, "ftr": 4}
_Row = tuple[str | Entry, ...]


def write_report(rows: Sequence[ProactorRow], out: Path, settings: Mapping[str, Any]) -> Path:
    """Write `report.html`, `results.json`, `table.csv`, `episodes.csv` and the figures.

    The same episodes give the same bytes, in whatever order they were played. The dialogues that
    are drawn are read from the folder's records.

    Args:
        rows: The episodes.
        out: The folder.
        settings: What the episodes have in common, as the run's folder keeps it.

    Returns:
        The path of the page.
    """
    out.mkdir(parents=True, exist_ok=True)
    rows = sorted_rows(rows)
    cells, source = make_cells(rows), source_of(settings)
    page = render(
        title=TITLE,
        subtitle=f"{source.title}: how good, how early and how reliable agents are, and how slow",
        sections=_sections(rows, cells, source, out, settings),
    )
    return save_report(out, page, result_rows(cells, source), episode_lines(rows), EpisodeLine)


def _sections(
    rows: Sequence[ProactorRow],
    cells: Sequence[Cell],
    source: Source,
    out: Path,
    settings: Mapping[str, Any],
) -> list[Section]:
    mine = main_cells(cells)
    published = nearest_data(source.title)
    made = [
        _what_was_run(rows, cells, settings),
        _table_1(mine, published),
        *_figure_section(
            "The trade-off",
            "trade_off",
            cells,
            out,
            "The same agent over its threshold: what it gains in readiness, it loses in "
            "consistency. Published models are on other data, and not to be compared.",
        ),
        *_time(cells, out),
        _ready(mine, published),
        *_asked(mine),
        *_breakdowns(mine),
        *_dialogues(cells, out),
        _all_published(),
    ]
    return made + failures(rows, lambda row: row.key)


def _what_was_run(
    rows: Sequence[ProactorRow], cells: Sequence[Cell], settings: Mapping[str, Any]
) -> Section:
    blocks: list[Block] = []
    notice, *others = _remarks(cells) or [""]
    if notice:
        blocks.append(Notice(notice))
    if others:
        blocks.append(Bullets(tuple(others)))
    source = source_of(settings)
    facts = (
        ("conversations", source.title),
        ("episodes", f"{len(rows)}, of which {sum(r.status == 'failed' for r in rows)} failed"),
        ("interface", str(settings.get("interface"))),
        ("clock", str(settings.get("clock"))),
        ("when the next turn comes first", str(settings.get("policy"))),
        ("tokens of the stand-in's thinking", str(settings.get("thinking"))),
        ("seed", f"{settings.get('seed')}, of the dialogues {source.seed}"),
        ("version", str(settings.get("version"))),
    )
    return Section("What was run", (*blocks, Table(head=("setting", "value"), rows=facts, words=2)))


def _remarks(cells: Sequence[Cell]) -> list[str]:
    """The remarks of the console as sentences, their lines joined."""
    joined: list[str] = []
    for line in remarks(cells):
        if joined and not joined[-1].endswith((".", ":")):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _table_1(cells: Sequence[Cell], data: str) -> Section:
    ranked = ranking(cells)
    body: list[_Row] = []
    for cell in cells:
        pri = ranked.get(cell.title)
        whose = Entry("stand-in" if cell.stand_in else "ours", tone="quiet")
        numbers = (_entry(name, found) for name, found in cell.numbers.items())
        body.append((cell.title, whose, "-" if pri is None else f"{pri.pri:.4f}", *numbers))
    head = ("", "whose", "PRI", *COLUMNS.values())
    caption = condition(cells[0]) if cells else ""
    blocks: list[Block] = [Table(head=head, rows=tuple(body), caption=caption, words=2)]
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
        f"within these {len(body)} rows",
        head=("", "PRI", *COLUMNS.values()),
        rows=tuple(body),
    )


def _all_published() -> Section:
    return Section("Published and not run", tuple(map(_published_table, PUBLISHED)), is_folded=True)


def _time(cells: Sequence[Cell], out: Path) -> list[Section]:
    mine = timed_cells(cells)
    if not mine:
        return []
    tables = [
        Table(
            caption=f"{title}; {TIMINGS[timing]}",
            head=TIMED_HEADS,
            rows=tuple(timed_entries(cell) for cell in part),
        )
        for (title, timing), part in groupby(mine, key=lambda cell: (cell.title, cell.timing))
    ]
    words = Paragraph(
        "The conversation goes on, whoever still thinks. A turn is lost if no prediction came "
        "before the next one began; late are predictions that came after that. AC to RAR are of "
        "the turns in time, ° counts a lost turn as 0: an agent that answers only where little is "
        "to be said may look better than it is. The paper lets every agent answer in its own time."
    )
    (figures,) = _figure_section("", "by_pace", cells, out, "Bars are deviations over runs.") or [
        Section("", ())
    ]
    return [Section("Time", (words, *figures.blocks, *tables))]


def _figure_section(
    title: str, name: str, cells: Sequence[Cell], out: Path, caption: str
) -> list[Section]:
    """A figure, drawn and kept as a file beside the page; none where there is nothing to draw."""
    # matplotlib takes a while to load, and nothing but a figure needs it.
    from timeful.suites.proactor import figures  # noqa: PLC0415

    path = out / f"{name}.svg"
    path.unlink(missing_ok=True)
    image = (
        figures.trade_off(cells, PUBLISHED["ABCD+"])
        if name == "trade_off"
        else figures.by_pace(cells)
    )
    if image is None:
        return []
    path.write_text(image, encoding="utf-8", newline="\n")
    return [Section(title, (Figure(image=image, alt=caption, caption=caption),))]


def _ready(cells: Sequence[Cell], data: str) -> Section:
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


def _asked(cells: Sequence[Cell]) -> list[Section]:
    found = questions(cells)
    if not found:
        return []
    rows = tuple(
        (title, text(each.mean, 3), str(each.n_turns - each.n_skipped), each.similarity)
        for title, each in found.items()
    )
    head = ("", "IC", "turns with questions on both sides", "similarity")
    return [Section("Questions", (Table(head=head, rows=rows),))]


def _dialogues(cells: Sequence[Cell], out: Path) -> list[Section]:
    """The first conversations on the page, and each of the first on a page of its own as well."""
    folder = out / "dialogues"
    for old in folder.glob("*.html"):
        old.unlink()
    found = dialogue_sections(cells, out)
    for number, section in enumerate(found, 1):
        folder.mkdir(exist_ok=True)
        page = render(title=TITLE, sections=[section])
        (folder / f"{number:03d}.html").write_text(page, encoding="utf-8", newline="\n")
    if not found:
        return []
    said = f"These, and others up to {len(found)}, have pages of their own in the folder dialogues."
    bars = (
        "Bars are the turns at which an action is ready in the reference, marks are predictions of "
        "it; a filled one said that it is ready. Pointed at, a mark says what was predicted."
    )
    return [Section("Dialogues", (Paragraph(f"{bars} {said}"),)), *found[:ON_PAGE]]


def _breakdowns(cells: Sequence[Cell]) -> list[Section]:
    words = Paragraph(
        "n predictions; of the ready ones, early is before the first ready turn of the reference, "
        "late after its last, false is an action that is ready at no turn. met is the share of the "
        "reference's ready turns at which the action was predicted as ready; found the share of "
        "its ranges that were foreseen or met; lead by how many turns, below 0 where it came after."
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
