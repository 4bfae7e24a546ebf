"""The report of the toy experiments: a page, the numbers behind it, and every seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from timeful.core.units import in_seconds
from timeful.reports.html import render
from timeful.reports.page import Block, Bullets, Entry, Figure, Paragraph, Section, Tone
from timeful.reports.page import Grid as Table
from timeful.reports.results import save_report
from timeful.suites.engagement.comparison import Claim, Metric, Published
from timeful.suites.engagement.parts import brief
from timeful.suites.engagement.toys import settings
from timeful.suites.engagement.toys.claims import claims, findings
from timeful.suites.engagement.toys.deliberation import LEARNERS, WORLDS, Kind
from timeful.suites.engagement.toys.evaluated import Evaluated, Plan
from timeful.suites.engagement.toys.numbers import (
    METRICS,
    Number,
    SeedRow,
    result_rows,
    seed_rows,
)
from timeful.suites.engagement.toys.patrol import Trace
from timeful.suites.engagement.toys.tables import (
    APPENDIX,
    MAIN,
    Layout,
    Optima,
    lines,
    outside,
)

TITLE = "timeful: the toy experiments of the Engagement Process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that a report is made of."""

    plan: Plan
    rows: Sequence[Evaluated]
    numbers: Sequence[Number]
    optima: Optima
    traces: Sequence[Trace]


def write_report(results: Results, out: Path) -> Path:
    """Write `report.html`, `results.json`, `table.csv` and `seeds.csv`.

    The same results give the same bytes.

    Args:
        results: What was run.
        out: The folder; made if needed.

    Returns:
        The path of the page.
    """
    page = render(
        title=TITLE,
        subtitle="Engagement Process, section 5.1 and Appendix C: ours beside the published",
        sections=_sections(results),
    )
    ours = result_rows(results.numbers, results.optima)
    seeds = seed_rows(results.numbers)
    return save_report(out, page, ours, seeds, SeedRow, name="seeds")


def _sections(results: Results) -> list[Section]:
    experiments = {number.experiment for number in results.numbers}
    made = [_what_was_run(results.plan), _headline(results)]
    for kind in WORLDS:
        if f"deliberation/{kind}" in experiments:
            made.append(_deliberation(results, kind))
    if "patrol/module" in experiments:
        made += _patrol(results)
    made += _bands(results.numbers)
    made.append(_claims(claims(results.numbers, results.rows)))
    made.append(Section("To be said openly", (Bullets(tuple(findings(results.numbers))),)))
    return [*made, _seeds(results)]


def _what_was_run(plan: Plan) -> Section:
    facts = (
        ("training seeds", ", ".join(map(str, plan.seeds))),
        ("training", f"{plan.training:,} episodes each"),
        ("evaluation", f"{plan.evaluation:,} episodes each, greedy, from streams of their own"),
        ("intervals", "95 %, bootstrap over evaluation episodes, 1,000 resamples"),
    )
    words = Paragraph(
        "Every learned policy was trained once for each seed. A number is the mean over seeds; "
        "the first thing below it is half of its bootstrap interval, which says how sure "
        "evaluation is, as in the paper; the second is the standard deviation over training "
        "seeds, which the paper does not give. Policies are tables or rules written by hand: no "
        "language model is involved, in the paper or here."
    )
    return Section("What was run", (words, Table(head=("setting", "value"), rows=facts, words=2)))


def _headline(results: Results) -> Section:
    return Section("Tables 1 and 2", _tables(MAIN, results))


def _tables(layouts: Sequence[Layout], results: Results) -> tuple[Block, ...]:
    tables = (_table(layout, results) for layout in layouts)
    return tuple(table for table in tables if table.rows)


def _appendix(results: Results, *names: str) -> tuple[Block, ...]:
    return _tables([layout for layout in APPENDIX if layout.name in names], results)


def _table(layout: Layout, results: Results) -> Table:
    """A published table, ours beside it: one line each for theirs, every learner, the optimum."""
    body: list[tuple[str | Entry, ...]] = []
    for row in layout.rows:
        metrics = {metric.name: metric for metric in METRICS[row[0]]}
        for place, line in enumerate(lines(layout, row, results.numbers, results.optima)):
            entries = [
                _entry(entry, metrics[name])
                for entry, name in zip(line.entries, layout.metrics, strict=True)
            ]
            body.append((layout.label(*row) if place == 0 else "", line.name, *entries))
    return Table(
        caption=f"{layout.name}: {layout.title}",
        head=("method", "whose", *layout.metrics),
        rows=tuple(body),
        words=2,
    )


def _entry(entry: Number | Published | float | None, metric: Metric) -> Entry:
    digits = metric.decimals
    match entry:
        case None:
            return Entry("")
        case float():
            return Entry(f"{entry:.{digits}f}", tone="quiet")
        case Published():
            width = entry.half_width
            small = "" if width is None else f"±{width:.{digits}f}"
            return Entry(f"{entry.value:.{digits}f}", small, "quiet")
        case Number():
            small = f"±{(entry.high - entry.low) / 2:.{digits}f}"
            if entry.spread is not None:
                small += f", seeds {brief(entry.spread)}"
            missed = entry.band is not None and not entry.band.holds(entry.mean)
            return Entry(f"{entry.mean:.{digits}f}", small, "alarm" if missed else "strong")


def _deliberation(results: Results, kind: Kind) -> Section:
    table, what = {"single": ("Table 8", "a single task"), "sequential": ("Table 9", "ten tasks")}[
        kind
    ]
    blocks = (*_appendix(results, table), _mode_figure(results.rows, kind))
    return Section(
        f"Deliberation: {what}", (*blocks, settings.deliberation_table(kind, results.plan))
    )


def _mode_figure(rows: Sequence[Evaluated], kind: Kind) -> Figure:
    # Heavy, and wanted only by those who write a report: everything else is pure numbers.
    from timeful.suites.engagement.toys.figures import mode_shares  # noqa: PLC0415

    panels = {
        f"learned in {trained}": _chosen(rows, kind, f"{trained} -> EP")
        for trained in ("EP", "Step")
    }
    number = {"single": 3, "sequential": 4}[kind]
    return Figure(
        image=mode_shares(panels, slack_names(kind)),
        alt="Bars of the share of each mode at each slack; those who learned in EP think longer "
        "the more slack there is, those who learned in Step think long at any slack",
        caption=f"As Figure {number}: which mode is chosen at which slack, played in EP, all seeds "
        "of the paper-like learner together. Above a bar: the share of choices made there.",
    )


def _chosen(rows: Sequence[Evaluated], kind: Kind, method: str) -> NDArray[np.int64]:
    about = (f"deliberation/{kind}", method, "paper-like")
    found = [
        row.totals["modes"] for row in rows if (row.experiment, row.method, row.learner) == about
    ]
    total: NDArray[np.int64] = np.sum(found, axis=0)
    return total


def slack_names(kind: Kind) -> list[str]:
    """The bins of slack in words, for an axis."""
    if kind == "single":
        return [f"{in_seconds(gap):g} s" for gap in WORLDS[kind].gaps]
    edges = [in_seconds(edge) for edge in LEARNERS[kind]["paper-like"].slack_edges]
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return [f"<{edges[0]:g} s", *inner, f"≥{edges[-1]:g} s"]


def _patrol(results: Results) -> list[Section]:
    module = (*_appendix(results, "Table 14"), *_trace_figures(results.traces))
    state = _appendix(results, "Table 15", "Table 16")
    return [
        Section("Patrol: interruption of modules", module),
        Section("Patrol: interruption within modules", state),
        Section("Patrol: settings", settings.patrol_tables(results.plan), is_folded=True),
    ]


def _trace_figures(traces: Sequence[Trace]) -> Iterator[Figure]:
    from timeful.suites.engagement.toys.patrol_figures import trace_figure  # noqa: PLC0415  (as above)

    for trace in traces:
        number, event = {
            "EP": (5, "handling is left for an alarm at once"),
            "Loop": (6, "an alarm goes off, and handling goes on"),
        }[trace.law]
        yield Figure(
            image=trace_figure(trace),
            alt=f"Five ticks of a patrol under {trace.law}: {event}",
            caption=f"As Figure {number}: {trace.law}, {event}. The first such event in the first "
            "evaluation episode of the paper-like learner with the first seed.",
        )


def _bands(numbers: Sequence[Number]) -> list[Section]:
    banded = [number for number in numbers if number.band is not None]
    missed = outside(banded)
    words = Paragraph(
        f"{len(banded) - len(missed)} of {len(banded)} numbers are inside the bands in which a "
        "mean over at least five training seeds counts as reproduced. The bands were set before "
        "these runs, from the spread over training seeds in the trials that identified the "
        "dynamics; for hand-written policies, from the published numbers."
    )
    shown = (words, _band_table(missed)) if missed else (words,)
    return [
        Section("Is it reproduced?", shown),
        Section("Every band", (_band_table(banded),), is_folded=True),
    ]


def _band_table(numbers: Sequence[Number]) -> Table:
    body = []
    for number in numbers:
        band, digits = number.band, number.metric.decimals
        assert band is not None
        inside = band.holds(number.mean)
        body.append(
            (
                f"{number.experiment}, {number.method}",
                number.learner,
                number.metric.name,
                f"{number.mean:.{digits}f}",
                band.words,
                Entry("inside" if inside else "outside", tone="" if inside else "alarm"),
            )
        )
    head = ("row", "learner", "metric", "ours", "band", "")
    return Table(head=head, rows=tuple(body), words=3)


def _claims(claimed: Sequence[Claim]) -> Section:
    body = []
    for claim in claimed:
        tone: Tone = "alarm" if claim.is_promised and not claim.holds else ""
        body.append((claim.text, Entry(f"{claim.held} of {claim.cases}", tone=tone)))
    table = Table(head=("claim", "holds"), rows=tuple(body))
    return Section("What must hold, and how often it does", (table,))


def _seeds(results: Results) -> Section:
    grouped: dict[str, list[tuple[str | Entry, ...]]] = {}
    for number in results.numbers:
        digits = number.metric.decimals
        values = [f"{value:.{digits}f}" for value in number.by_seed.values()]
        grouped.setdefault(number.experiment, []).append(
            (number.method, number.learner, number.metric.name, *values)
        )
    head = ("method", "learner", "metric", *(str(seed) for seed in results.plan.seeds))
    tables = tuple(
        Table(caption=experiment, head=head, rows=tuple(rows), words=3)
        for experiment, rows in grouped.items()
    )
    return Section("Every seed", tables, is_folded=True)
