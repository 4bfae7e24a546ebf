"""The report of Timely-Eval: a page, the numbers behind it, the episodes, and the figures."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from timeful.reports.html import render
from timeful.reports.page import Block, Entry, Figure, Notice, Paragraph, Section
from timeful.reports.page import Grid as Table
from timeful.reports.results import save_report
from timeful.suites.parts import failures
from timeful.suites.timely.numbers import (
    HEADLINE,
    HURRY,
    IN_TIME,
    MEASURES,
    RIGHT,
    TOOLS,
    Cell,
    Measure,
    budget_order,
    budgets_of,
    make_cells,
    sorted_rows,
)
from timeful.suites.timely.published import ABLATION, COLUMNS, HURRIED, SCORES
from timeful.suites.timely.results import result_rows
from timeful.suites.timely.tables import STAND_IN, TITLES, by_who, stopped, text_number
from timeful.tasks.episode import FAMILIES, Family
from timeful.tasks.rows import TaskRow

TITLE = "timeful: Timely-Eval"

_SETTINGS = (
    "is_soft",
    "alpha",
    "timer",
    "tool_latencies",
    "calls",
    "most_tokens",
    "clock",
    "pace",
    "seed",
    "source",
)


def write_report(rows: Sequence[TaskRow], out: Path, settings: Mapping[str, Any]) -> Path:
    """Write `report.html`, `results.json`, `table.csv`, `episodes.csv` and the figures.

    The same episodes give the same bytes, in whatever order they were played.

    Args:
        rows: The episodes.
        out: The folder.
        settings: What the episodes have in common, as the run's folder keeps it.

    Returns:
        The path of the page.
    """
    out.mkdir(parents=True, exist_ok=True)
    rows = sorted_rows(rows)
    cells = make_cells(rows)
    page = render(
        title=TITLE,
        subtitle="Timely Machine, section 5: ours, and what was published",
        sections=_sections(rows, cells, out, settings),
    )
    return save_report(out, page, result_rows(cells), rows, TaskRow)


def _sections(
    rows: Sequence[TaskRow], cells: Sequence[Cell], out: Path, settings: Mapping[str, Any]
) -> list[Section]:
    made = [_what_was_run(rows, settings)]
    for family in FAMILIES:
        mine = [cell for cell in cells if cell.family == family]
        if mine:
            blocks: list[Block] = [_table_1(family, mine), _published_1(family)]
            if family == "reasoning" and HURRY in budgets_of(mine):
                blocks += [_table_2(mine), _published_2(), _published_3()]
            made.append(Section(family.capitalize(), (*blocks, _by_budget(family, mine))))
    made += _figures(cells, out)
    made += [Section("What else was counted", tuple(_further(cells)), is_folded=True)]
    return made + failures(
        rows, lambda row: f"{row.who}, {row.case}, {row.budget}, {row.latency}, run {row.run}"
    )


def _what_was_run(rows: Sequence[TaskRow], settings: Mapping[str, Any]) -> Section:
    blocks: list[Block] = []
    if rows and all(row.stand_in for row in rows):
        blocks.append(Notice(STAND_IN))
    elif any(row.stand_in for row in rows):
        names = sorted({row.who for row in rows if row.stand_in})
        blocks.append(Notice(f"Stand-ins, and no language models: {', '.join(names)}."))
    blocks += map(Notice, stopped(rows))
    blocks.append(
        Paragraph(
            "Somebody works on a case with tools, under a budget: thinking costs its tokens, tools "
            "cost their latency, and at the deadline all is over, unless it is soft. Budgets are "
            "multiples of one's own unhurried time for the same case (x), or of one's own mean "
            "step (steps), so that a slow and a fast model are each measured by themselves. An "
            "answer that came late is wrong. Published numbers are of language models on other "
            "cases or other versions of them; none was run here."
        )
    )
    source = settings.get("source") or {}
    if not source.get("problems"):  # a benchmark says what the fields of a file are called
        source = {name: value for name, value in source.items() if name != "benchmark"}
    words = {name: _words({**settings, "source": source}.get(name)) for name in _SETTINGS}
    facts = (
        ("episodes", f"{len(rows)}, of which {sum(r.status == 'failed' for r in rows)} failed"),
        ("cases", str(len({row.case for row in rows}))),
        ("who", ", ".join(sorted({row.who for row in rows}))),
        ("budgets", ", ".join(sorted({row.budget for row in rows}, key=budget_order))),
        ("latencies", ", ".join(dict.fromkeys(row.latency for row in rows))),
        *((name.replace("_", " "), value) for name, value in words.items() if value),
        ("version", str(settings.get("version"))),
    )
    return Section("What was run", (*blocks, Table(head=("setting", "value"), rows=facts, words=2)))


def _words(value: Any) -> str:
    """A setting in words; what is not set is left out."""
    if isinstance(value, dict):
        parts = (
            f"{k.replace('_', ' ')} {_words(v)}"
            for k, v in value.items()
            if v not in (None, [], "", False)
        )
        return ", ".join(parts)
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return "as usual" if value is None else str(value)


# --- tables ---------------------------------------------------------------------------------------

_HURRIED = (IN_TIME, RIGHT, TOOLS)
_Row = tuple[str | Entry, ...]


def _table_1(family: Family, cells: Sequence[Cell]) -> Table:
    groups = list(dict.fromkeys(cell.group for cell in cells))
    body: list[_Row] = []
    for name, mine in by_who(cells):
        by_group = {cell.group: cell for cell in mine}
        entries = (_entry(by_group.get(group), HEADLINE[family]) for group in groups)
        body.append((_name(name, mine[0]), *entries))
    return Table(caption=f"{TITLES[family]}, ours", head=("", *groups), rows=tuple(body))


def _name(name: str, cell: Cell) -> Entry:
    return Entry(name, "stand-in" if cell.stand_in else "")


def _entry(cell: Cell | None, measure: Measure, budget: str | None = None) -> str | Entry:
    if cell is None:
        return ""
    found = cell.number(measure, budget=budget)
    if found is None:
        return Entry("failed", f"{cell.failed} failed", "alarm") if cell.failed else ""
    failed = f", {cell.failed} failed" if cell.failed else ""
    return Entry(text_number(found, measure.decimals), f"n={found.n}{failed}", "strong")


def _detailed(
    caption: str, cells: Sequence[Cell], columns: Sequence[tuple[str, Measure, str | None]]
) -> Table:
    """A table with a row for each cell, and columns of measures, each under a budget or all."""
    body: list[_Row] = [
        (
            _name(name, cell),
            cell.group,
            *(_entry(cell, measure, budget) for _, measure, budget in columns),
        )
        for name, mine in by_who(cells)
        for cell in mine
    ]
    head = ("", "of", *(title for title, _, _ in columns))
    return Table(caption=caption, head=head, rows=tuple(body), words=2)


def _table_2(cells: Sequence[Cell]) -> Table:
    caption = f"Tables 2 and 3: under {HURRY}, in %, ours"
    return _detailed(caption, cells, [(m.name, m, HURRY) for m in _HURRIED])


def _by_budget(family: Family, cells: Sequence[Cell]) -> Table:
    measure = HEADLINE[family]
    columns = [(budget, measure, budget) for budget in budgets_of(cells)]
    return _detailed(f"{measure.name} by budget", cells, columns)


def _further(cells: Sequence[Cell]) -> Iterable[Table]:
    for family in FAMILIES:
        mine = [cell for cell in cells if cell.family == family]
        if mine:
            columns = [(measure.name, measure, None) for measure in MEASURES[family]]
            yield _detailed(f"{family}, averaged over budgets", mine, columns)


# --- what was published ---------------------------------------------------------------------------


def _published_1(family: Family) -> Table:
    names = [column.name for column in COLUMNS if column.family == family]
    return _published("Table 1, published; no model of it was run here", names, SCORES)


def _published_2() -> Table:
    body: list[_Row] = [
        (model, name, *(Entry(f"{row[name, m.name]:.1f}", tone="quiet") for m in _HURRIED))
        for model, row in HURRIED.items()
        for name in dict.fromkeys(column for column, _ in row)
    ]
    return Table(
        caption="Table 2, published; no model of it was run here",
        head=("", "of", *(measure.name for measure in _HURRIED)),
        rows=tuple(body),
        words=2,
    )


def _published_3() -> Table:
    names = list(next(iter(ABLATION.values())))
    return _published("Table 3, published: on time", names, ABLATION)


def _published(
    caption: str, names: Sequence[str], table: Mapping[str, Mapping[str, float]]
) -> Table:
    body: list[_Row] = [
        (model, *(Entry(f"{row[name]:.1f}", tone="quiet") for name in names))
        for model, row in table.items()
    ]
    return Table(caption=caption, head=("", *names), rows=tuple(body))


# --- figures --------------------------------------------------------------------------------------


def _figures(cells: Sequence[Cell], out: Path) -> list[Section]:
    # matplotlib takes a while to load, and nothing but a figure needs it.
    from timeful.suites.timely import figures  # noqa: PLC0415

    drawn = (
        ("figure2", figures.score_by_time, "points of games against the time budget, by latency"),
        ("figure3", figures.length_by_budget, "tokens of reasoning against the budget"),
        ("figure4", figures.value_by_budget, "how good the work is against the budget"),
    )
    blocks = []
    for name, draw, says in drawn:
        (out / f"{name}.svg").unlink(missing_ok=True)
        image = draw(cells)
        if image is not None:
            (out / f"{name}.svg").write_text(image, encoding="utf-8", newline="\n")
            caption = f"As Figure {name[-1]}: {says}. Lines are means with 95 % intervals."
            blocks.append(Figure(image=image, alt=says, caption=caption))
    return [Section("Figures", tuple(blocks))] if blocks else []
