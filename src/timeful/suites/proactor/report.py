"""The report of ProActor: a page, the numbers behind it, the episodes, and the figures."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from timeful.reports.html import render
from timeful.reports.page import Block, Bullets, Figure, Notice, Paragraph, Section
from timeful.reports.page import Grid as Table
from timeful.reports.results import save_report
from timeful.suites.parts import failures
from timeful.suites.proactor.breakdowns import TIMED_HEADS, timed_entries
from timeful.suites.proactor.dialogues import SAMPLE, TITLE, Pages, dialogues
from timeful.suites.proactor.judging import Bench, read_bench
from timeful.suites.proactor.numbers import (
    Cell,
    main_cells,
    make_cells,
    sorted_rows,
    timed_cells,
)
from timeful.suites.proactor.published import PUBLISHED, nearest_data
from timeful.suites.proactor.results import EpisodeLine, episode_lines, result_rows
from timeful.suites.proactor.rows import ProactorRow
from timeful.suites.proactor.sections import (
    also_published,
    breakdowns,
    further_metrics,
    ready,
    table_1,
)
from timeful.suites.proactor.tables import source_of
from timeful.suites.proactor.words import TIMINGS, remarks, spoiled


def write_report(
    rows: Sequence[ProactorRow],
    out: Path,
    settings: Mapping[str, Any],
    *,
    pages: Pages = SAMPLE,
) -> Path:
    """Write `report.html`, `results.json`, `table.csv`, `episodes.csv` and the figures.

    The same episodes give the same bytes, in whatever order they were played. The dialogues that
    are drawn are read from the folder's records.

    Args:
        rows: The episodes.
        out: The folder.
        settings: What the episodes have in common, as the run's folder keeps it.

        pages: Which dialogues are drawn: the first so many, all of them, or one by its name.

    Returns:
        The path of the page.
    """
    out.mkdir(parents=True, exist_ok=True)
    rows = sorted_rows(rows)
    cells, source = make_cells(rows), source_of(settings)
    bench = read_bench(out, main_cells(cells))
    page = render(
        title=TITLE,
        subtitle=f"{source.title}: how good, how early and how reliable agents are, and how slow",
        sections=_sections(rows, cells, bench, out, settings, pages),
    )
    return save_report(
        out, page, result_rows(cells, source, bench), episode_lines(rows), EpisodeLine
    )


def _sections(
    rows: Sequence[ProactorRow],
    cells: Sequence[Cell],
    bench: Bench,
    out: Path,
    settings: Mapping[str, Any],
    pages: Pages,
) -> list[Section]:
    mine = main_cells(cells)
    published = nearest_data(source_of(settings).title)
    made = [
        _what_was_run(rows, cells, settings),
        table_1(mine, published),
        *further_metrics(mine, bench),
        *_figure_section(
            "The trade-off",
            "trade_off",
            cells,
            out,
            "The same agent over its threshold: what it gains in readiness, it loses in "
            "consistency. Published models are on other data, and not to be compared.",
        ),
        *_time(cells, out),
        ready(mine, published),
        *breakdowns(mine),
        *dialogues(cells, out, pages),
        also_published(published),
    ]
    return made + failures(rows, lambda row: row.key)


def _what_was_run(
    rows: Sequence[ProactorRow], cells: Sequence[Cell], settings: Mapping[str, Any]
) -> Section:
    # What came to nothing, and who answered, nobody may miss.
    every, count = remarks(cells, settings), len(spoiled(cells, settings)) + 1
    blocks: list[Block] = [*map(Notice, every[:count])]
    if every[count:]:
        blocks.append(Bullets(tuple(every[count:])))
    source = source_of(settings)
    facts = (
        ("conversations", source.title),
        ("episodes", f"{len(rows)}, of which {sum(r.status == 'failed' for r in rows)} failed"),
        ("interface", str(settings.get("interface"))),
        ("clock", str(settings.get("clock"))),
        ("when the next turn comes first", str(settings.get("policy"))),
        ("tokens of the stand-in's thinking", str(settings.get("thinking"))),
        ("temperature of the stand-in", str(settings.get("temperature"))),
        ("pace of people", _tempo(settings)),
        ("seed", f"{settings.get('seed')}, of the dialogues {source.seed}"),
        ("version", str(settings.get("version"))),
    )
    return Section("What was run", (*blocks, Table(head=("setting", "value"), rows=facts, words=2)))


def _tempo(settings: Mapping[str, Any]) -> str:
    told = settings.get("tempo") or {}
    return ", ".join(f"{name} {value}" for name, value in told.items() if value is not None)


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
