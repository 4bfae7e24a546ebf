"""The report of the kitchen: a page, the numbers behind it, the episodes, and Figure 7."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from timeful.environments.kitchen.settings import KitchenSettings, in_ticks
from timeful.records.recorder import read_record
from timeful.reports.html import render
from timeful.reports.page import Block, Bullets, Entry, Figure, Notice, Paragraph, Section
from timeful.reports.page import Grid as Table
from timeful.reports.results import save_report
from timeful.suites.engagement.kitchen.numbers import (
    METRICS,
    Cell,
    claims,
    make_cells,
    result_rows,
)
from timeful.suites.engagement.kitchen.published import ALL, MODEL
from timeful.suites.engagement.kitchen.rows import KitchenRow
from timeful.suites.engagement.kitchen.settings import shown
from timeful.suites.engagement.kitchen.spec import METHODS
from timeful.suites.engagement.kitchen.tables import (
    LAYOUTS,
    ONLY_WHOLE,
    STAND_IN,
    Layout,
    banded,
    counted,
    text_published,
)
from timeful.suites.engagement.kitchen.trace import Trace, trace
from timeful.suites.engagement.numbers import Number
from timeful.suites.engagement.parts import (
    entry,
    order_table,
    world_table,
)
from timeful.suites.parts import failures, unusable_notice

TITLE = "timeful: the kitchen of the Engagement Process"
FIGURE_CASE = "resume_pressure-3d3q1s"
"""The paper's Figure 7: three dishes, three problems, one slot; here the first such case."""

_PROMPTS = {
    "published": "ends with a sentence about the interface, as the paper's (appendix E)",
    "neutral": "the same under every interface",
}

_UNEXPLAINED = (
    "The published AgentLoop with one dish is far below a controller that waits: the "
    "signal comes after tutoring, so that waiting finds it. The variant that mostly "
    "quits then has the published success, but not its switches.",
    "The published AgentLoop with several dishes evidently bounded its tutoring; a "
    "controller that does not sees signals three times as late. Its numbers are no "
    "target, nor are those of polls there, whose every look costs here.",
    "With soft dishes finished at once, ReflexPatch and EP do the same here at the "
    "same instants. The published difference between them is within its intervals.",
    "A problem that goes on as the same stream repeats nothing and restarts never, "
    "by construction; overlap then counts chance repetitions of single words.",
)
"""What the stand-in leaves open, or does otherwise than the published language model."""


def write_report(rows: Sequence[KitchenRow], out: Path, settings: Mapping[str, Any]) -> Path:
    """Write `report.html`, `results.json`, `table.csv`, `episodes.csv` and `figure7.svg`.

    The same episodes give the same bytes, in whatever order they were played.

    Args:
        rows: The episodes.
        out: The folder; the figure is made from the records in it.
        settings: What the episodes have in common, as the run's folder keeps it.

    Returns:
        The path of the page.
    """
    out.mkdir(parents=True, exist_ok=True)
    methods = [method.name for method in METHODS]
    episodes = sorted(
        rows, key=lambda row: (row.setting, row.sample, row.case, methods.index(row.method))
    )
    cells = make_cells(episodes)
    page = render(
        title=TITLE,
        subtitle="Engagement Process, section 5.2.2 and Appendix E: ours beside the published",
        sections=_sections(episodes, cells, out, settings),
    )
    return save_report(out, page, result_rows(cells), episodes, KitchenRow)


def _sections(
    rows: Sequence[KitchenRow], cells: Sequence[Cell], out: Path, settings: Mapping[str, Any]
) -> list[Section]:
    made = [_what_was_run(rows, settings)]
    for title, names in (
        ("Tables 4, 20 and 22", ("Tables 4 and 20", "Tables 4 and 22", "Table 22, continued")),
        ("Table 24: continuity of tutoring", ("Table 24",)),
        ("Tables 21 and 23: by family", ("Table 21", "Table 23")),
    ):
        layouts = [layout for layout in LAYOUTS if layout.name in names and layout.cells(cells)]
        made.append(Section(title, tuple(_table(layout, cells) for layout in layouts)))
    made += [_promises(cells), *_figure(rows, out)]
    world = world_table(settings, KitchenSettings(), shown)
    made.append(Section("What else was counted", (_further(cells),)))
    made.append(Section("Settings (Appendix E)", (world,), is_folded=True))
    return made + failures(
        rows, lambda row: f"{row.setting}, {row.method}, {row.case}, set {row.sample}"
    )


def _what_was_run(rows: Sequence[KitchenRow], settings: Mapping[str, Any]) -> Section:
    blocks: list[Block] = []
    if rows and all(row.stand_in for row in rows):
        blocks.append(Notice(STAND_IN))
    blocks += unusable_notice(
        *counted(rows),
        "Each cost its tokens and at least one tick, and the controller was asked again.",
    )
    blocks.append(
        Paragraph(
            "A controller cooks and tutors on one timeline. Each of its calls is a thought that "
            "costs its tokens; each tutored problem is a thought as well, which goes on from the "
            "token where it was interrupted. All methods meet the same cases; they differ in "
            "when signals become visible and who reacts first, and the agent is the same under "
            "all of them; of its interface it knows what its prompt says, if anything. Set 0 holds "
            "cases of the paper's seeds and ranges, and the other sets are drawn like it; no "
            "published case is known, so none is the paper's."
        )
    )
    failed = sum(row.status == "failed" for row in rows)
    ended = sum(row.out_of_calls for row in rows)
    facts = (
        ("episodes", f"{len(rows)}, of which {failed} failed"),
        ("ended since no calls were left", f"{ended} of {len(rows)}"),
        ("sets of cases", str(len({row.sample for row in rows}))),
        ("controller", ", ".join(sorted({row.controller for row in rows}))),
        ("tutor", ", ".join(sorted({row.tutor for row in rows}))),
        ("interval of polls", f"{in_ticks(settings['interval']):g} ticks"),
        ("delay of the reflex", f"{in_ticks(settings['delay']):g} ticks"),
        ("tokens of the rule's answers", str(settings["answer_tokens"])),
        ("interrupted texts go on", f"by {settings['resumption']}"),
        ("prompt", _PROMPTS[settings["prompt"]]),
        ("published", MODEL),
        ("version", str(settings.get("version"))),
    )
    return Section("What was run", (*blocks, Table(head=("setting", "value"), rows=facts, words=2)))


def _table(layout: Layout, cells: Sequence[Cell]) -> Table:
    body: list[tuple[str | Entry, ...]] = []
    for cell in layout.cells(cells):
        family = "" if cell.family == ALL else cell.family.replace("_", " ")
        failed = f", {cell.failed} failed" if cell.failed else ""
        whose = Entry("ours", f"n={cell.episodes}{failed}")
        body.append(
            (
                Entry(cell.method, family),
                whose,
                *(entry(cell.numbers.get(one), cell.band(one)) for one in layout.metrics),
            )
        )
        published = [cell.published(metric) for metric in layout.metrics]
        if any(published) and cell.numbers:
            theirs = (
                text_published(one, cell.numbers[metric].metric.decimals)
                for one, metric in zip(published, layout.metrics, strict=True)
            )
            body.append(("", "published", *(Entry(text, tone="quiet") for text in theirs)))
    return Table(
        caption=f"{layout.name}: {layout.title}",
        head=("method", "whose", *layout.metrics),
        rows=tuple(body),
        words=2,
    )


def _promises(cells: Sequence[Cell]) -> Section:
    found = banded(cells)
    inside = sum(band.holds(cell.mean(metric)) for cell, metric, band in found)
    said = f"{inside} of {len(found)} numbers with a band are inside it."
    if not found:
        said = f"{ONLY_WHOLE} No band is set for language models."
    blocks: list[Block] = [
        Paragraph(
            f"{said} In the tables, ± is half of the 95 % bootstrap "
            "interval over cases, and [ ] the standard deviation over sets. "
            "Bands hold for the usual settings and the rule, whose calls cost 12 ticks."
        ),
        *order_table(claims(cells)),
    ]
    if any(cell.stand_in for cell in cells):
        blocks.append(Bullets(_UNEXPLAINED))
    return Section("Bands, orders, and what stays unexplained", tuple(blocks))


def figure_traces(rows: Sequence[KitchenRow], out: Path) -> list[Trace]:
    """The episodes of Figure 7, in the order of the methods; none if they were not played."""
    cases = [
        (row.sample, row.case)
        for row in rows
        if row.case.startswith(FIGURE_CASE) and row.status == "ok"
    ]
    if not cases:
        return []
    sample, case = min(cases)
    paths = sorted((out / "episodes").glob(f"multi-dish-*-{case}-set{sample}.jsonl"))
    found = {made.episode["method"]: made for made in (trace(read_record(p)) for p in paths)}
    return [found[m.name] for m in METHODS if m.name in found and not m.is_variant]


def _figure(rows: Sequence[KitchenRow], out: Path) -> list[Section]:
    traces = figure_traces(rows, out)
    if not traces:
        return []
    from timeful.suites.engagement.kitchen.figure import timeline  # noqa: PLC0415  (matplotlib)

    svg = timeline(traces)
    (out / "figure7.svg").write_text(svg, encoding="utf-8", newline="\n")
    case = traces[0].episode["case"]
    figure = Figure(
        image=svg,
        alt="Timelines of one case under each interface: tutoring, signals, windows and actions",
        caption=f"As Figure 7, for the case {case} of set {traces[0].episode['sample']}: three "
        "dishes, three problems, one slot. The published case is not known. Any other record is "
        "drawn by `timeful draw`.",
    )
    return [Section("Figure 7", (figure,))]


def _further(cells: Sequence[Cell]) -> Table:
    known = [name for layout in LAYOUTS for name in layout.metrics]
    own = [metric for metric in METRICS if metric.name not in known]
    body = [
        (
            f"{cell.setting}, {cell.method}",
            *(_plain(cell.numbers[metric.name]) for metric in own),
        )
        for cell in cells
        if cell.numbers and cell.family == ALL
    ]
    return Table(head=("", *(metric.name for metric in own)), rows=tuple(body))


def _plain(number: Number) -> str:
    return f"{number.mean:.{number.metric.decimals}f}" if number.is_known else ""
