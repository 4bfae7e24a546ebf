"""Timely-Eval of the Timely Machine (section 5): one suite for each family of tasks."""

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

from timeful.environments.timed.latency import Constant, LogNormal, Uniform, read_latency
from timeful.experiments.options import load_presets
from timeful.experiments.suite import Baseline, ReportData, Suite, load_notes
from timeful.metrics.budgets import right_in_time
from timeful.reports.cube import CellName
from timeful.reports.estimate import ClusterBootstrap
from timeful.reports.figure import Lines
from timeful.reports.metric import Metric
from timeful.reports.results import Where
from timeful.reports.table import Table
from timeful.suites.remarks import count_unusable
from timeful.suites.timely.baselines import check_spans, complete, keep, plan_unhurried
from timeful.suites.timely.episode import (
    CodingEpisode,
    FictionEpisode,
    ReasoningEpisode,
    TimelyEpisode,
    check,
    plan,
    play,
)
from timeful.suites.timely.published import load_published
from timeful.tasks.budgets import NO_LIMIT, read_budget
from timeful.tasks.episode import Family
from timeful.tasks.rows import TaskRow, summarize

HURRIED = "0.75x"
"""The budget of Tables 2 and 3."""


def groups(row: TaskRow) -> list[Where]:
    """The cell of an episode."""
    names = {"latency": row.latency, "who": row.who}
    return [{"group": row.group, **names, "budget": row.budget}]


def name_cell(family: Family) -> Callable[[Where], CellName]:
    """How a family names its cells in results."""

    def name(where: Where) -> CellName:
        is_ours = "latency" in where
        latency = f"latency {where['latency']}, " if is_ours else ""
        group = where.get("group", "all") if is_ours else where["benchmark"]
        return CellName(
            experiment=f"{family}/{group}",
            setting=f"{latency}budget {where.get('budget', 'all')}",
            method=str(where["who" if is_ours else "model"]),
        )

    return name


def order_budgets(budget: str) -> float:
    """The position of a budget among others: by its kind, then by its amount."""
    value = read_budget(budget)
    return 1e7 * ("none", "seconds", "steps", "times").index(value.kind) + value.amount


def order_latencies(latency: str) -> float:
    """The position of a latency among others: by its usual length."""
    match read_latency(latency):
        case Constant(span) | LogNormal(span, _):
            return span
        case Uniform(low, high):
            return (low + high) / 2
    return inf


def make_remarks(data: ReportData) -> Iterator[str]:
    """What a reader must know about these episodes."""
    stand_ins = sorted({row.who for row in data.rows if row.stand_in})
    models = [row for row in data.rows if not row.stand_in and row.status == "ok"]
    if models and stand_ins:
        yield f"Stand-ins, no language models: {', '.join(stand_ins)}."
    stopped = Counter((row.rounds, row.who) for row in data.rows if row.is_out_of_rounds)
    for (rounds, player), count in sorted(stopped.items()):
        episodes = sum(row.who == player for row in data.rows)
        yield f"Stopped after {rounds} rounds: {player} in {count} of {episodes} episodes."
    if models:
        bad_calls = sum(row.bad_calls for row in models)
        calls = bad_calls + sum(row.calls + row.timer_calls for row in models)
        yield count_unusable(bad_calls, calls).replace("answers", "calls")
    if sandbox := data.settings.get("sandbox"):
        yield f"Sandbox of programs: {sandbox}."


ROUNDS = Metric("steps", "rounds", digits=1, better="")
TOKENS = Metric("tokens", "tokens", digits=0, better="")
SECONDS = Metric("seconds", lambda row: row.counted_ns / 1e9, better="", is_further=True)
BUDGET = Metric(
    "budget, s",
    lambda row: None if row.budget_ns is None else row.budget_ns / 1e9,
    better="",
    is_further=True,
)
IN_TIME = Metric("on time", "is_on_time", scale=100, digits=1)
COUNTS = (
    Metric("bad calls", "bad_calls", better="lower", is_further=True),
    SECONDS,
    BUDGET,
    Metric("utilisation", lambda row: row.utilisation or 0.0, digits=3, is_further=True),
)
IN_TOOLS = Metric("in tools, s", lambda row: row.tool_ns / 1e9, better="", is_further=True)

METRICS: dict[Family, tuple[Metric, ...]] = {
    "fiction": (
        Metric("score", "value", digits=1),
        Metric("gain", lambda row: row.gain or 0.0, digits=1),
        ROUNDS,
        TOKENS,
        *COUNTS,
        IN_TOOLS,
    ),
    "coding": (
        Metric("accuracy", "value", scale=100, digits=1),
        Metric("valid", lambda row: (row.valid_runs or 0) > 0, scale=100, digits=1),
        ROUNDS,
        IN_TIME,
        TOKENS,
        *COUNTS,
        IN_TOOLS,
    ),
    "reasoning": (
        Metric("accuracy", right_in_time, scale=100, digits=1),
        TOKENS,
        Metric("right, late or not", "value", scale=100, digits=1),
        IN_TIME,
        Metric("tool use", "used_tool", scale=100, digits=1),
        ROUNDS,
        *COUNTS,
    ),
}
"""The first metric of a family is that of Table 1; the next ones are shown by budget too."""

TITLES: dict[Family, str] = {
    "fiction": "Table 1, interactive fiction: points, averaged over budgets",
    "coding": "Table 1, machine learning: reward accuracy in %, averaged over budgets",
    "reasoning": "Table 1, reasoning: right and in time in %, averaged over budgets",
}

_NOT_RUN = "published, not run here"
_IN_HURRY = ("on time", "accuracy", "tool use")


def make_tables(family: Family) -> Iterator[Table]:
    """The tables of a family."""
    headline, *further = METRICS[family][: 2 if family == "reasoning" else 3]
    players = ("who", "latency")
    yield Table(TITLES[family], rows=players, columns="group", metrics=(headline.name,))
    yield Table(
        f"Table 1, {_NOT_RUN}",
        rows="model",
        columns="benchmark",
        metrics=(headline.name,),
        where={"budget": "all"},
        is_published=True,
    )
    yield Table(
        "By budget",
        rows=players,
        columns="budget",
        metrics=(headline.name, *(metric.name for metric in further)),
        split_by=() if family == "reasoning" else ("group",),
    )
    if family == "reasoning":
        title = f"Tables 2 and 3: under {HURRIED} of the own unhurried time, in %"
        where = {"budget": HURRIED}
        yield Table(title, rows=players, metrics=_IN_HURRY, where=where)
        yield Table(
            f"Table 2, {_NOT_RUN}",
            rows=("model", "benchmark"),
            metrics=_IN_HURRY,
            where={**where, "table": None},
            is_published=True,
        )
        yield Table(
            f"Table 3, {_NOT_RUN}",
            rows="model",
            columns="benchmark",
            metrics=("on time",),
            where={**where, "table": 3},
            is_published=True,
        )


def make_figures(family: Family) -> Iterator[Lines]:
    """The figures of a family: what a longer budget brings. The paper prints no numbers of them."""
    common: dict[str, Any] = {
        "hue": "who",
        "panel": ("group", "latency"),
        "without": {"budget": "none"},
        "caption": "Means with 95 % intervals.",
    }
    y = METRICS[family][0].name
    if family == "fiction":
        title = "Figure 2: points by time budget and latency"
        yield Lines(x="budget", y=y, at="budget, s", is_log=True, title=title, **common)
    if family == "reasoning":
        yield Lines(x="budget", y="tokens", title="Figure 3: tokens by budget", **common)
    else:
        yield Lines(x="budget", y=y, title=f"Figure 4: {y} by budget", **common)


def make_suite(family: Family, episode: type[TimelyEpisode]) -> Suite:
    """Make the suite of a family."""
    presets = load_presets(Path(__file__).with_name(f"{family}.toml"), episode)
    return Suite(
        name=f"timely/{family}",
        title="Timely-Eval",
        subtitle="Timely Machine, section 5: ours, and the published numbers",
        episode=episode,
        play=play,
        takes_key=True,
        summarize=summarize,
        plan=plan,
        check=check,
        sweep=presets["quick"],
        presets=presets,
        baseline=Baseline(
            plan=plan_unhurried,
            complete=complete,
            check=check_spans,
            keep=keep,
            fixed={
                "budget": NO_LIMIT,
                "timer_scale": 1.0,
                "timer_jitter": 0.0,
                "tells": "elapsed",
            },
            values={"run": range(1)},
            tables=(
                Table("Unhurried", rows=("who", "latency", "group"), metrics=("seconds", "steps")),
            ),
        ),
        keys=("group", "latency", "who", "budget"),
        groups=groups,
        margins=("group", "budget") if family == "reasoning" else ("budget",),
        naming=name_cell(family),
        order=("latency", "case", "who", "budget", "run"),
        labels={"latency": {"none": "no latency"}},
        levels={"budget": order_budgets, "latency": order_latencies},
        metrics=METRICS[family],
        estimator=ClusterBootstrap(
            cluster="case", repetition="run", purpose=("timely", "bootstrap")
        ),
        reference=load_published(family),
        tables=tuple(make_tables(family)),
        figures=tuple(make_figures(family)),
        notice="Stand-in: rules work on the cases; no language model was run.",
        notes=load_notes(Path(__file__).with_name("notes.md")),
        remarks=make_remarks,
    )


fiction = make_suite("fiction", FictionEpisode)
coding = make_suite("coding", CodingEpisode)
reasoning = make_suite("reasoning", ReasoningEpisode)
