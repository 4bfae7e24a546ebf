"""The kitchen of the Engagement Process (arXiv 2605.11484, section 5.2.2, Appendix E)."""

from collections.abc import Callable, Iterator, Sequence
from math import isclose
from pathlib import Path
from typing import get_args

from timeful.experiments.suite import ReportData, Suite, load_notes
from timeful.models.pace import TOKEN_TIME
from timeful.records.recorder import read_record
from timeful.reports.claims import Claim
from timeful.reports.cube import CellName
from timeful.reports.estimate import EpisodeBootstrap
from timeful.reports.metric import Metric
from timeful.reports.page import Figure, Section
from timeful.reports.published import load_reference
from timeful.reports.results import ResultRow, Where
from timeful.reports.table import Table
from timeful.suites.engagement.kitchen.episode import (
    CASES,
    METHODS,
    NAME,
    VARIANTS,
    KitchenEpisode,
    Setting,
    resolve,
)
from timeful.suites.engagement.kitchen.play import play
from timeful.suites.engagement.kitchen.rows import KitchenRow, summarize
from timeful.suites.engagement.kitchen.trace import read_trace
from timeful.suites.remarks import count_unusable

METHOD_NAMES = (
    "AgentLoop",
    "AgentLoop, quits",
    "Periodic Poll",
    "ReflexPatch",
    "EP",
    "EP, soft deferred",
)

FIGURE_CASE = "resume_pressure-3d3q1s"
"""The paper's Figure 7: three dishes, three problems, one slot; here the first such case."""

CALL = 12
"""Ticks of a controller's call, and of the reflex."""

FAR = 3
"""The least ratio of the visibility delays under the loop and under polls."""

ORDERS: dict[str, Callable[[float, float, float, float], bool]] = {
    "AgentLoop < Poll < ReflexPatch <= EP": lambda loop, poll, reflex, ep: (
        loop < poll < reflex <= ep
    ),
    f"AgentLoop > {FAR} x Poll, Poll > ReflexPatch >= EP": lambda loop, poll, reflex, ep: (
        loop > FAR * poll and poll > reflex >= ep
    ),
}
"""Orders of the methods: of success, and of the visibility delay."""


def check(episodes: Sequence[KitchenEpisode]) -> None:
    """Find what would make episodes fail, before anything runs.

    Raises:
        SettingsError: If a model cannot be made.
        RecordError: If a cassette cannot be read.
    """
    for role in {role: None for e in episodes for role in (e.controller, e.tutor)}:
        role.check(pace=TOKEN_TIME)


def name_cell(where: Where) -> CellName:
    """The names of a cell in results."""
    names = [where["controller"], *([where["family"]] if "family" in where else [])]
    return CellName(
        experiment=f"kitchen/{where['setting']}",
        setting=", ".join(map(str, names)),
        method=str(where["method"]),
    )


def check_orders(cells: Sequence[ResultRow]) -> Iterator[Claim]:
    """The claims about means of the rules over whole sets (engagement facts, 4.3)."""
    means = {
        (cell.where["setting"], cell.where["method"], cell.metric): cell.value
        for cell in cells
        if cell.stand_in and "family" not in cell.where and cell.value is not None
        if cell.n >= CASES[cell.where["setting"]]  # type: ignore[index]
    }
    for setting, success in (("one-dish", "Dish done"), ("multi-dish", "Critical")):
        for metric, (text, is_ordered) in zip((success, "Vis. delay"), ORDERS.items(), strict=True):
            keys = [(setting, method, metric) for method in METHODS.values()]
            values = [means[key] for key in keys if key in means]
            if len(values) == len(keys):
                yield Claim(text=f"{setting}: {metric} {text}", held=int(is_ordered(*values)))
    for method in ("ReflexPatch", "EP"):
        finished = means.get(("one-dish", method, "Fin. delay"))
        visible = means.get(("one-dish", method, "Vis. delay"))
        if finished is not None and visible is not None:
            text = f"one-dish, {method}: finishing begins {CALL} ticks after a signal is visible"
            yield Claim(text=text, held=int(isclose(finished - visible, CALL)))


def make_remarks(data: ReportData) -> Iterator[str]:
    """What a reader must know about these episodes."""
    rows: Sequence[KitchenRow] = [row for row in data.rows if not row.stand_in]
    if rows:
        yield count_unusable(sum(row.refused for row in rows), sum(row.calls for row in rows))
        ended = sum(row.out_of_calls for row in rows)
        yield f"Episodes that ended without calls left (--calls): {ended} of {len(rows)}."
    elif not any(cell.n >= CASES["multi-dish"] for cell in data.cells):
        yield "Bands and claims apply to whole sets of cases, 128 and 72."


def draw_figure(data: ReportData) -> Iterator[Section]:
    """Figure 7, from the records of its case; nothing if it was not played."""
    cases = [
        (row.sample, row.case)
        for row in data.rows
        if row.case.startswith(FIGURE_CASE) and row.status == "ok"
    ]
    if not cases:
        return
    sample, case = min(cases)
    paths = sorted((data.out / "episodes").glob(f"multi-dish-*-{case}-set{sample}.jsonl"))
    traces = {t.method: t for t in (read_trace(read_record(path)) for path in paths)}
    ordered = [traces[method] for method in METHODS.values() if method in traces]
    from timeful.suites.engagement.kitchen.figure import timeline  # noqa: PLC0415  (matplotlib)

    figure = Figure(
        image=timeline(ordered),
        name="figure7",
        alt="Timelines of one case under each interface: tutoring, signals, windows and actions",
        title="As Figure 7: three dishes, three problems and one slot under each interface",
        caption=f"Case {case} of set {sample}. The published case is not known. "
        "`timeful draw` draws any other record.",
    )
    yield Section("Figure 7", (figure,))


CONTINUITY = ("Interrupted", "Resumed", "Overlap", "Restart")


def make_table(title: str, setting: Setting, *metrics: str, by_family: bool = False) -> Table:
    """A table of one setting."""
    return Table(
        title,
        rows="method",
        metrics=metrics,
        where={"setting": setting},
        split_by=("family",) if by_family else (),
        without={"family": None} if by_family else {},
    )


suite = Suite(
    name=NAME,
    title="the kitchen of the Engagement Process",
    subtitle="Engagement Process, section 5.2.2 and Appendix E",
    episode=KitchenEpisode,
    play=play,
    takes_key=True,
    summarize=summarize,
    resolve=resolve,
    check=check,
    sweep={
        "setting": get_args(Setting),
        "interface": tuple(METHODS),
        "variant": ("", *VARIANTS),
        "sample": range(5),
        "case": range(max(CASES.values())),
    },
    presets={
        "quick": {"sample": range(1), "case": range(24)},
        "paper": {"sample": range(5), "case": range(max(CASES.values()))},
    },
    keys=("setting", "controller", "method", "family"),
    margins=("family",),
    naming=name_cell,
    order=("setting", "sample", "case", "method"),
    levels={"method": METHOD_NAMES},
    estimator=EpisodeBootstrap(purpose=("kitchen", "bootstrap"), sets="sample"),
    metrics=(
        Metric("Utility", "utility"),
        Metric("Dish done", "in_time", per="dishes", digits=3),
        Metric("Critical", "critical_in_time", per="critical", digits=3),
        Metric("Soft qual.", "soft_in_time", per="soft", digits=3),
        Metric("Vis. delay", "seen_after.sum", per="seen_after.len", digits=1, better="lower"),
        Metric(
            "Fin. delay", "finished_after.sum", per="finished_after.len", digits=1, better="lower"
        ),
        Metric("Switches", "switches", better=""),
        Metric("Priority", "priority_chosen", per="priority_chances", digits=3),
        Metric("Soft defer", "soft_deferred", per="soft_seen", digits=3, better=""),
        Metric("Resume del.", "resumed_after.sum", per="resumed", digits=1, better="lower"),
        Metric("Interrupted", "interrupted", digits=3, better=""),
        Metric("Resumed", "resumed", digits=3, better=""),
        Metric("Overlap", "overlaps.sum", per="overlaps.len", digits=3, better="lower"),
        Metric("Restart", "restarts", per="overlaps.len", digits=3, better="lower"),
        Metric("Ticks", "ticks", digits=0, is_further=True),
        Metric("Checks", "checks", digits=1, is_further=True),
        Metric("Calls", "calls", digits=1, is_further=True),
        Metric("Refused", "refused", is_further=True),
        Metric("Complete", "complete", per="problems", digits=3, is_further=True),
    ),
    reference=load_reference(
        Path(__file__).with_name("published.toml"), lambda where: {"family": "all", **where}
    ),
    tables=(
        make_table(
            "Tables 4 and 20: one dish, one problem",
            "one-dish",
            *("Utility", "Dish done", "Vis. delay", "Fin. delay", "Switches"),
        ),
        make_table(
            "Tables 4 and 22: several dishes and problems",
            "multi-dish",
            *("Utility", "Critical", "Soft qual.", "Vis. delay", "Fin. delay"),
            *("Priority", "Soft defer", "Resume del."),
        ),
        make_table("Table 24: continuity of tutoring, one dish", "one-dish", *CONTINUITY),
        make_table("Table 24: continuity of tutoring, several dishes", "multi-dish", *CONTINUITY),
        make_table(
            "Table 21: one dish, by dish family",
            "one-dish",
            *("Utility", "Vis. delay", "Fin. delay"),
            by_family=True,
        ),
        make_table(
            "Table 23: several dishes, by case family",
            "multi-dish",
            *("Utility", "Critical", "Soft qual.", "Soft defer", "Resume del."),
            by_family=True,
        ),
    ),
    claims=(lambda cells: list(check_orders(cells)),),
    notice="Stand-in: rules cook and prose is tutored; no language model was run.",
    notes=load_notes(Path(__file__).with_name("notes.md")),
    remarks=make_remarks,
    extra=draw_figure,
)
