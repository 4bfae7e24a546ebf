"""The suite of ProActor: sections 4 and K, Tables 1, 5 and 8 of the paper."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from timeful.agents.proactive.retrieval import CAUTIOUS, EAGER
from timeful.experiments.suite import ReportData, Suite, load_notes
from timeful.reports.cube import make_cells
from timeful.reports.estimate import SetMeans
from timeful.reports.figure import Lines
from timeful.reports.metric import Metric
from timeful.reports.page import Grid, Notice, Paragraph, Section
from timeful.reports.results import ResultRow, Where
from timeful.reports.table import Context, Table, lay_out
from timeful.suites.proactor.cells import (
    ALIKE,
    COLUMNS,
    LEVELS,
    METRICS,
    READY,
    REFERENCE,
    SUITE,
    TIMINGS,
    Group,
    align_references,
    complete,
    derive,
    locate,
    main_groups,
    name_cell,
    rank_agents,
    show_pace,
)
from timeful.suites.proactor.dialogues import draw_dialogues
from timeful.suites.proactor.episode import ProactorEpisode
from timeful.suites.proactor.judging import (
    describe_judges,
    estimate_demand,
    finish,
    read_bench,
    read_judge_usage,
)
from timeful.suites.proactor.plan import announce, check, judge_models, plan
from timeful.suites.proactor.play import play
from timeful.suites.proactor.rows import ActionCounts, ProactorRow, summarize
from timeful.suites.remarks import count_unusable

RUNS = SetMeans(sets="run")
FEW_UNUSABLE = 0.05
UNREADABLE = ("no-json", "bad-json", "bad-shape")

NOTES = tomllib.loads(Path(__file__).with_name("topics.toml").read_text(encoding="utf-8"))
"""The topics of agents' notes: see `agents/proactive`."""


def nearest_data(title: str) -> str:
    """The published data that a dialogue set resembles."""
    return "Home Loan" if "loan" in title.lower() else "ABCD+"


# --- remarks --------------------------------------------------------------------------------------


def make_notices(data: ReportData) -> Iterator[str]:
    """Warn of unusable answers, and of agents without any prediction in time."""
    rows: Sequence[ProactorRow] = data.rows
    notes = count_notes(rows)
    count = sum(notes.get(topic, 0) for topic in UNREADABLE)
    answers = sum(row.scored + row.empty + row.late + row.revised for row in rows)
    answers *= 2 if data.settings.get("questions") else 1
    if count > FEW_UNUSABLE * answers:
        yield f"{count_unusable(count, answers)} They hold no prediction."
    silent = [g.method for g in main_groups(rows) if not any(row.scored for row in g.rows)]
    if silent:
        yield f"Nothing was predicted in time at any turn by {'; '.join(silent)}."


def make_remarks(data: ReportData) -> Iterator[str]:
    """What a reader must know about these results."""
    rows: Sequence[ProactorRow] = [row for row in data.rows if row.status == "ok"]
    if any(row.stand_in for row in rows):
        temperature = data.settings.get("stand_in_temperature")
        yield (
            f"The runs of the stand-in differ by a temperature of {temperature}."
            if temperature
            else "At temperature 0 the runs of the stand-in are equal by turn."
        )
        yield (
            "By turn, Reasoning predicts what Non-Reasoning predicts, after more tokens: thinking "
            "changes nothing for a rule."
        )
    if any(row.synthetic for row in rows):
        yield "The dialogues are synthetic, with their references."
    if rows and not any(row.has_references for row in rows):
        yield "The file has ready ranges and no references: no AC, Max AC and PRI."
    for topic, count in count_notes(rows).items():
        yield f"Noted: {topic} {count:,}, {NOTES.get(topic, 'see the records')}."


def count_notes(rows: Iterable[ProactorRow]) -> dict[str, int]:
    """How often agents noted each topic."""
    counts: dict[str, int] = {}
    for row in rows:
        for topic, count in row.notes.items():
            counts[topic] = counts.get(topic, 0) + count
    return dict(sorted(counts.items()))


# --- sections -------------------------------------------------------------------------------------


def make_sections(data: ReportData) -> Iterator[Section]:
    """The tables of the paper, breakdowns, and the dialogues."""
    notices = tuple(map(Notice, make_notices(data)))
    if notices:
        yield Section("", notices, is_printed=True)
    groups = main_groups(data.rows)
    cells = [shorten(cell) for cell in data.cells]
    judges = tuple(dict.fromkeys(c.metric for c in cells if c.metric.startswith("PR by ")))
    metrics = {**data.context.metrics, **{name: Metric(name, digits=3) for name in judges}}
    context = replace(data.context, metrics=metrics)
    yield from _main_tables(data, cells, groups, judges, context)
    timed = [c for c in cells if c.where.get("tokens_per_s") and c.where["part"] != "curve"]
    grids = lay_out(TIME, timed, context)
    if grids:
        yield Section("Time", tuple(grids), is_printed=True)
    yield Section("By action", tuple(map(_by_action, groups)), is_folded=True)
    yield Section("By subflow", tuple(_by_subflow(data, context)), is_folded=True)
    yield from draw_dialogues(data)


TIME = Table(
    "Time: the loss of an agent that is too slow",
    rows="tokens_per_s",
    split_by=("method", "timing"),
    metrics=(
        *("lost turns", "late turns", "AC", "PT", "FTR", "RAR"),
        *("AC, a lost turn as 0", "PT, a lost turn as 0"),
    ),
)
PUBLISHED = Table("Table 5, published", rows="method", metrics=("PRI", *COLUMNS), is_published=True)
FURTHER = ("ATR", "false triggered", "FRR", "AD", "IC by tfidf")
REPEATABILITY = tuple(ALIKE + name for name in ("combined", "means", "by conversation"))


def shorten(cell: ResultRow) -> ResultRow:
    """Show PRI without the members of its group."""
    is_pri = cell.metric.startswith("PRI in the ")
    return msgspec.structs.replace(cell, metric="PRI") if is_pri else cell


def _main_tables(
    data: ReportData,
    cells: Sequence[ResultRow],
    groups: Sequence[Group],
    judges: Sequence[str],
    context: Context,
) -> Iterator[Section]:
    title = data.rows[0].source if data.rows else ""
    near = nearest_data(title)

    def table(name: str, metrics: Sequence[str]) -> list[Grid]:
        main = Table(name, rows="method", metrics=tuple(metrics), where={"part": "main"})
        return lay_out(main, cells, context)

    def published(name: str, where: str, metrics: Sequence[str]) -> list[Grid]:
        grid = replace(PUBLISHED, title=name, metrics=tuple(metrics), where={"data": where})
        return lay_out(grid, cells, context)

    if groups:
        members = Paragraph(describe_group(cells))
        grids = table(f"Table 1: {title}; {describe(groups[0])}", ("PRI", *COLUMNS))
        yield Section("Table 1", (*grids, members), is_printed=True)
        grids = table("Further metrics of the same turns", (*FURTHER, *judges))
        if any(len(group.runs) > 1 for group in groups):
            grids += table("Run-to-run consistency", REPEATABILITY)
        words = Paragraph(describe_judges(read_bench(data.out, {g.method: g.runs for g in groups})))
        yield Section("Further metrics", (*grids, words), is_printed=True)
        yield Section("The references", (_alignment(data),), is_printed=True)
    name = f"Table 5, published: {near}. Other data and other models, none of which was run here"
    grids = published(name, near, ("PRI", *COLUMNS))
    yield Section("Published", tuple(grids), is_printed=True)
    grids = table("Table 8: ready actions predicted a turn, over all runs", READY)
    grids += published(f"Table 8, published: {near}", near, READY)
    yield Section("Table 8", tuple(grids), is_printed=True)
    names = {number.where["data"] for number in REFERENCE.numbers} - {near}
    grids = []
    for name in sorted(map(str, names)):
        grids += published(f"Table 5, published: {name}", name, ("PRI", *COLUMNS))
    yield Section("Published on other data", tuple(grids), is_folded=True)


def describe(group: Group) -> str:
    """The condition of a group, and its size."""
    dialogues, runs = len({row.place for row in group.rows}), len(group.runs)
    kind = "synthetic " if all(row.synthetic for row in group.rows) else ""
    is_timed = group.where["timing"] != "by-turn"
    pace = f" ({show_pace(group.where)} tokens/s)" if is_timed else ""
    plural = "s" * (dialogues != 1), "s" * (runs != 1)
    timing = TIMINGS[str(group.where["timing"])]
    return f"{dialogues} {kind}dialogue{plural[0]}, {runs} run{plural[1]}, {timing}{pace}"


def describe_group(cells: Sequence[ResultRow]) -> str:
    """The group of PRI."""
    members = sorted(rank_agents(cells))
    if not members:
        return "No PRI: a ranking needs two agents with all of its numbers."
    return f"PRI is within this group of {len(members)} alone: {'; '.join(members)}."


def _alignment(data: ReportData) -> Paragraph | Grid:
    alignments = align_references(data.rows)
    if not alignments:
        return Paragraph("The references: the data do not record actions, so there is no EC.")
    rows = tuple(
        (
            str(a.sigma),
            *(
                "-" if value is None else f"{value:.4f}"
                for value in (a.action_level, a.dialogue_mean, a.share_above, a.coverage)
            ),
        )
        for a in alignments
    )
    head = ("sigma", "share of actions", "dialogue mean", "above 0.8", "coverage")
    return Grid(caption="EC of the references: ready sigma turns ahead", head=head, rows=rows)


def _by_action(group: Group) -> Grid:
    totals: dict[str, ActionCounts] = {}
    for row in group.rows:
        for name, counts in row.actions.items():
            totals.setdefault(name, ActionCounts()).add(counts)
    has_references = any(row.has_references for row in group.rows)
    rows = tuple(
        (
            name,
            str(counts.predicted),
            _ratio(counts.matched, counts.predicted if has_references else 0),
            *map(str, (counts.early, counts.in_time, counts.too_late, counts.false)),
            _ratio(counts.met, counts.due),
            _ratio(counts.found, counts.needed),
            _ratio(counts.lead, counts.found),
        )
        for name, counts in sorted(totals.items())
    )
    head = ("action", "n", "AC", "early", "in time", "too late", "false", "met", "found", "lead")
    return Grid(caption=group.method, head=head, rows=rows)


def _ratio(count: float, total: int) -> str:
    return f"{count / total:.2f}" if total else "-"


def _by_subflow(data: ReportData, context: Context) -> list[Grid]:
    def groups(row: ProactorRow) -> Iterator[Where]:
        for where in locate(row) if row.part == "main" else ():
            yield {**where, "subflow": row.subflow or "(unknown)"}

    cells = make_cells(
        data.rows,
        suite=SUITE,
        metrics=METRICS,
        groups=groups,
        levels=LEVELS,
        estimator=RUNS,
        naming=name_cell,
        reference=replace(REFERENCE, numbers=()),
    )
    table = Table("", rows="subflow", split_by=("method",), metrics=("lost turns", *COLUMNS))
    return lay_out(table, complete(cells, data.rows), context)


def _trade_off(metric: str, at: str = "") -> Lines:
    return Lines(
        x="threshold",
        y=metric,
        at=at,
        x_label=at,
        hue="agent",
        without={"part": "time"},
        title=f"{metric} of the stand-in by its {at or 'threshold'}",
        caption="The stand-in over its threshold: gains in readiness cost consistency.",
    )


suite = Suite(
    name=SUITE,
    title="ProActor",
    subtitle="Proactive timing over conversations, and the price of slowness",
    episode=ProactorEpisode,
    play=play,
    takes_key=True,
    judges=judge_models,
    demand=estimate_demand,
    summarize=summarize,
    plan=plan,
    check=check,
    announce=announce,
    finish=finish,
    sweep={
        "agent": ("non-reasoning", "reasoning", "reasoning-asg"),
        "threshold": (CAUTIOUS, EAGER),
        "timing": ("by-turn", "pace"),
        "token_ms": (2.0, 5.0, 10.0, 20.0),
        "run": range(3),
    },
    columns={
        **{
            name: name
            for name in (
                *("key", "part", "agent", "who", "stand_in", "timing", "token_ns", "run"),
                *("dialogue", "subflow", "synthetic", "status", "error", "turns", "scored"),
                *("lost", "lost_late", "empty", "late", "tokens", "ended_s"),
            )
        },
        "ac": lambda row: row.mean("ac"),
        "max_ac": lambda row: row.mean("max_ac"),
        "pt": lambda row: row.mean("pt"),
        "ftr": lambda row: row.mean("ftr"),
        "rar": lambda row: row.mean("rar"),
        "sha256": "sha256",
    },
    order=("part", "timing", "first_ns", "token_ns", "agent", "who", "run", "place"),
    groups=locate,
    derive=derive,
    naming=name_cell,
    levels=LEVELS,
    labels={"timing": TIMINGS},
    metrics=METRICS,
    estimator=RUNS,
    reference=REFERENCE,
    figures=(
        _trade_off("AC", at="RAR"),
        *map(_trade_off, ("AC", "PT", "FTR", "RAR")),
        *(
            Lines(
                x="tokens_per_s",
                y=metric,
                hue="method",
                panel="timing",
                without={"part": "curve"},
                title=f"{metric} by speed of the agent",
                x_label="tokens a second",
                is_log=True,
                caption="A lost turn has no prediction in time.",
            )
            for metric in ("lost turns", "PT, a lost turn as 0")
        ),
    ),
    notice="Stand-in: a rule that retrieves workflows answers; no language model was run there.",
    usage=read_judge_usage,
    remarks=make_remarks,
    extra=make_sections,
    notes=load_notes(Path(__file__).with_name("notes.md")),
)
