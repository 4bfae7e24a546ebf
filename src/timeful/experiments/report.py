"""The report of a suite: sections from rows, the page, the printed tables and the files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from timeful.experiments.rows import row_maker
from timeful.experiments.suite import ReportData, Suite
from timeful.experiments.sweep import default_values, encode
from timeful.models.ledger import Accounts, read_accounts
from timeful.records.usage_total import UsageTotal, read_usage
from timeful.reports.claims import check_claims, claims_grid, show_verdict
from timeful.reports.html import write_page
from timeful.reports.page import (
    Block,
    Bullets,
    Entry,
    Figure,
    Grid,
    Notice,
    Page,
    Paragraph,
    Section,
    bullets,
)
from timeful.reports.results import ResultRow, save_report
from timeful.reports.table import Context, Table, distinct, lay_out
from timeful.reports.text import render_text
from timeful.reports.usage import spending_rows, usage_rows, usage_sections

_SHOWN_FAILURES = 50
_MOST_BEHIND_S = 0.1
"""The delay after the wall clock, in s, above which a report warns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A written report: rows in order, cells, tokens, requests, text, and the path of its page."""

    rows: Sequence[Any]
    cells: Sequence[ResultRow]
    usage: Sequence[UsageTotal]
    spending: Accounts
    text: str
    path: Path


def write_report(
    suite: Suite,
    rows: Sequence[Any],
    out: Path,
    settings: Mapping[str, Any],
    *,
    options: Mapping[str, Any] | None = None,
) -> Report:
    """Write the page, `tables.txt`, `results.json`, `table.csv` and `episodes.csv`.

    The same episodes give the same bytes, in whatever order they were played.
    """
    kind = row_maker(suite).row_type
    data = report_data(suite, rows, out, settings, options or {})
    sections = list(make_sections(suite, data))
    name = suite.name.partition("/")[0]
    numbers = [*data.cells, *usage_rows(data.usage, name), *spending_rows(data.spending, name)]
    save_report(out, numbers, data.rows, kind, columns=suite.columns)
    title = f"timeful: {suite.title or suite.name}"
    path = write_page(Page(title=title, subtitle=suite.subtitle, sections=sections), out)
    text = render_text(sections)
    files = {"tables.txt": text} | {
        f"{block.name}.svg": block.image
        for section in sections
        for block in section.blocks
        if isinstance(block, Figure) and block.name
    }
    for file, content in files.items():
        (out / file).write_text(content, encoding="utf-8", newline="\n")
    return Report(
        rows=data.rows,
        cells=data.cells,
        usage=data.usage,
        spending=data.spending,
        text=text,
        path=path,
    )


def report_data(
    suite: Suite,
    rows: Sequence[Any],
    out: Path,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
) -> ReportData:
    """The rows in order and their cells, with all that a report needs."""
    ordered, context = rows, suite.context
    if suite.steps is None:
        columns = row_maker(suite).row_type.__struct_fields__
        ordered, context = sort_rows(suite, rows, columns), replace(context, columns=columns)
    defaults = default_values(suite.episode)
    data = ReportData(
        rows=ordered,
        cells=suite.make_cells(ordered),
        settings=settings,
        out=out,
        context=context,
        options={**{name: defaults[name] for name in suite.free_fields}, **options},
        usage=read_usage(
            sorted((out / "episodes").glob("*.jsonl")),
            () if suite.usage is None else suite.usage(out),
        ),
        spending=read_accounts(out),
    )
    return data if suite.derive is None else replace(data, cells=suite.derive(data))


def sort_rows(suite: Suite, rows: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """Sort rows by the columns that identify an episode, whatever order it was played in."""
    names = suite.order or tuple(f.name for f in fields(suite.episode) if f.name in columns)

    def key(row: Any) -> tuple[tuple[bool, float, str], ...]:
        values = [getattr(row, name) for name in (*names, "sha256")]
        return tuple(
            (v is not None, float(v), "")
            if isinstance(v, int | float)
            else (v is not None, 0.0, str(v))
            for v in values
        )

    unique = {key(row): row for row in rows}
    return [unique[position] for position in sorted(unique)]


def make_sections(suite: Suite, data: ReportData) -> Iterator[Section]:
    """The sections of a report: results first, then how it was run."""
    yield from _notices(suite, data.rows)
    context = data.context
    grids = [grid for table in suite.tables for grid in lay_out(table, data.cells, context)]
    if not suite.tables and suite.extra is None:
        grids = default_grids(suite, data)
    figures = [figure for f in suite.figures if (figure := f.draw(data.cells, context))]
    if grids:
        main, figures = figures[:1], figures[1:]
        yield Section("Results", (*main, *grids), is_printed=True)
    if suite.extra is not None:
        yield from suite.extra(data)
    if figures:
        yield Section("Figures", tuple(figures))
    yield from _checks(suite, data)
    if suite.remarks is not None and (remarks := tuple(suite.remarks(data))):
        yield Section("Remarks", (Bullets(remarks),), is_printed=True)
    additional = [m.name for m in suite.metrics if m.is_further]
    if additional:
        yield from _additional_metrics(data.cells, additional, suite.cell_keys, context)
    yield _settings(suite, data)
    if suite.notes:
        yield Section("Notes", (Bullets(suite.notes),))
    yield from usage_sections(data.usage, data.spending)
    yield from _not_run(data.cells, context)
    yield from _failures(suite, data.rows)


def default_grids(suite: Suite, data: ReportData) -> list[Grid]:
    """The tables of a suite that declares none: all metrics, a row for each cell."""
    keys = suite.cell_keys or ("suite",)
    return lay_out(Table("", rows=keys), data.cells, data.context)


def _notices(suite: Suite, rows: Sequence[Any]) -> Iterator[Section]:
    blocks: list[Block] = []
    stand_ins = [getattr(row, "stand_in", False) for row in rows]
    failed = sum(row.status == "failed" for row in rows)
    if not rows:
        blocks.append(Notice("No episodes: nothing was run."))
    elif failed == len(rows):
        blocks.append(Notice("Every episode failed; the errors are listed below."))
    if stand_ins and all(stand_ins):
        blocks.append(Notice(suite.notice))
    elif any(stand_ins):
        blocks.append(Notice("Some rows are stand-ins, for which no language model was run."))
    behind = [row.behind_s for row in rows if getattr(row, "behind_s", 0) > _MOST_BEHIND_S]
    if behind:
        blocks.append(
            Notice(
                f"The world waited for an agent's own computing: {len(behind)} of {len(rows)} "
                f"episodes fell up to {max(behind):.2f} s behind the wall clock. Compute in "
                "`session.call`."
            )
        )
    if blocks:
        yield Section("", tuple(blocks), is_printed=True)


def _checks(suite: Suite, data: ReportData) -> Iterator[Section]:
    blocks: list[Block] = []
    banded = [
        (cell, band)
        for cell in data.cells
        if cell.value is not None and (band := suite.reference.band(cell)) is not None
    ]
    if banded:
        outside = [(c, b) for c, b in banded if c.value is not None and not b.holds(c.value)]
        text = (
            f"Bands: {len(banded) - len(outside)} of {len(banded)} numbers are inside the range "
            "that counts as reproduced, which was set beforehand."
        )
        blocks.append(Paragraph(text))
        blocks.append(
            Bullets(
                tuple(
                    f"outside: {data.context.title(cell.where)}: {cell.metric} "
                    f"{cell.value:.3f}, band {band}"
                    for cell, band in outside
                )
            )
        )
    claims = check_claims(suite.claims, data.cells, data.context)
    if claims:
        blocks.append(Paragraph(f"Claims: {sum(c.holds for c in claims)} of {len(claims)} hold."))
        failed = [claim for claim in claims if not claim.holds and claim.is_promised]
        blocks += bullets([f"{show_verdict(claim)}: {claim.text}" for claim in failed])
    if blocks:
        yield Section("Bands and claims", tuple(blocks), is_printed=True)
    if claims:
        yield Section("All claims", (claims_grid(claims),), is_folded=True)


def _additional_metrics(
    cells: Sequence[ResultRow], metrics: Sequence[str], keys: Sequence[str], context: Context
) -> Iterator[Section]:
    visible = [cell for cell in cells if cell.metric in metrics and cell.value is not None]
    rows = tuple(
        (context.title(where), *(_mean(visible, where, metric, context) for metric in metrics))
        for where in distinct(visible, keys)
    )
    if rows:
        yield Section("Additional metrics", (Grid(head=("", *metrics), rows=rows),))


def _mean(
    cells: Sequence[ResultRow], where: Mapping[str, Any], metric: str, context: Context
) -> str:
    cell = next((c for c in cells if c.metric == metric and c.matches(where)), None)
    if cell is None or cell.value is None:
        return ""
    return f"{cell.value:.{context.metrics[metric].digits}f}"


def _settings(suite: Suite, data: ReportData) -> Section:
    failed = sum(row.status == "failed" for row in data.rows)
    rows: list[tuple[str, Entry | str]] = [("episodes", f"{len(data.rows)}, {failed} failed")]
    for name in suite.sweep:
        values = sorted({str(getattr(row, name, None)) for row in data.rows})
        if values and values != ["None"]:
            text = ", ".join(values) if len(values) <= 8 else f"{len(values)} values"
            rows.append((name, text))
    defaults = default_values(suite.episode)
    hidden = {"suite"}
    if not any(getattr(row, "stand_in", True) for row in data.rows):
        hidden |= {f.name for f in fields(suite.episode) if f.metadata.get("of_stand_in")}
    for name, value in data.settings.items():
        if name not in hidden:
            rows += setting_rows(name, value, encode(defaults.get(name)))
    grid = Grid(head=("setting", "value"), rows=tuple(rows), words=2)
    commands = Paragraph(
        "In the folder of this report, `timeful view .` shows the episodes, and `timeful report .` "
        "writes the report again."
    )
    return Section("Settings", (commands, grid), is_folded=True)


def setting_rows(name: str, value: Any, usual: Any = None) -> Iterator[tuple[str, Entry | str]]:
    """One row for each setting; nested settings are named `world.horizon`."""
    if isinstance(value, Mapping):
        for inner, item in value.items():
            default = usual.get(inner) if isinstance(usual, Mapping) else None
            yield from setting_rows(f"{name}.{inner}", item, default)
    else:
        is_usual = usual is None or value == usual or isinstance(usual, Mapping)
        yield name, Entry(_show(value), "" if is_usual else f"default: {_show(usual)}")


def _show(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_show, value))
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _not_run(cells: Sequence[ResultRow], context: Context) -> Iterator[Section]:
    rows = tuple(
        (cell.source or "", f"{cell.setting}, {cell.method}", cell.metric, f"{cell.published:g}")
        for cell in cells
        if cell.stand_in is None and cell.published is not None
    )
    if rows:
        head = ("source", "setting", "metric", "published")
        text = Paragraph("Published numbers of models and settings that were not run here.")
        grid = Grid(head=head, rows=rows, words=3)
        yield Section("Published, not run", (text, grid), is_folded=True)


def _failures(suite: Suite, rows: Sequence[Any]) -> Iterator[Section]:
    failed = [row for row in rows if row.status == "failed"]
    if failed:
        names = [name for name in suite.sweep or suite.order if hasattr(failed[0], name)]
        items = tuple(
            f"{', '.join(str(getattr(row, name)) for name in names)}: {row.error}"
            for row in failed[:_SHOWN_FAILURES]
        )
        yield Section(f"Failed episodes ({len(failed)})", (Bullets(items),))
