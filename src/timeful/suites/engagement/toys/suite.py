"""The toys of the Engagement Process (arXiv 2605.11484, section 5.1, Appendix C)."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from timeful.compiled import why_slow
from timeful.environments.patrol.policies import PATCH_DEADLINES, PATCH_PRO, VERY_URGENT
from timeful.errors import SlowPathWarning
from timeful.experiments.report import setting_rows
from timeful.experiments.suite import ReportData, Suite, load_notes
from timeful.experiments.sweep import encode
from timeful.reports.page import Entry, Grid, Section
from timeful.reports.table import Table
from timeful.suites.engagement.toys import deliberation, patrol
from timeful.suites.engagement.toys.cells import (
    DELIBERATIONS,
    DEPTHS,
    LEVELS,
    METRICS,
    MODULE,
    REFERENCE,
    check_orders,
    make_cells,
)
from timeful.suites.engagement.toys.deliberation import LEARNERS
from timeful.suites.engagement.toys.episode import NAME, Experiment, ToyEpisode
from timeful.suites.engagement.toys.figures import draw_modes, draw_traces
from timeful.suites.engagement.toys.play import play, resolve
from timeful.suites.engagement.toys.rows import ToyRow, summarize


def check(episodes: Sequence[ToyEpisode]) -> None:
    """Warn once if the loops of a run are not compiled."""
    if (reason := why_slow()) is not None:
        warnings.warn(f"numba is not installed: {reason}", SlowPathWarning, stacklevel=2)


def make_extra(data: ReportData) -> Iterator[Section]:
    """Figures 3 to 6, and the settings of worlds and learners."""
    rows: Sequence[ToyRow] = [row for row in data.rows if row.status == "ok"]
    figures = (*draw_modes(rows, data.context), *draw_traces(rows))
    if figures:
        yield Section("Choices and traces", figures)
    worlds = (
        *((f"{name}: world", w) for name, w in deliberation.WORLDS.items()),
        *(
            (f"{name}: {key}", learner)
            for name, all_ in LEARNERS.items()
            for key, learner in all_.items()
        ),
        *((f"{level}: world", w) for level, w in patrol.WORLDS.items()),
        *(
            (f"{level}: {key}", learner)
            for level in patrol.WORLDS
            for key, learner in patrol.learners(level).items()
        ),
    )
    grids = [
        Grid(
            caption=caption,
            head=("setting", "value"),
            rows=tuple(row for name, v in encode(value).items() for row in setting_rows(name, v)),
            words=2,
        )
        for caption, value in worlds
    ]
    yield Section(
        "Worlds and learners; spans in nanoseconds", (*grids, patch_grid()), is_folded=True
    )


def patch_grid() -> Grid:
    """Tables 10 and 11, from the numbers that the policies are played with."""
    rows: list[tuple[str | Entry, ...]] = []
    for depth, name in ((2, "depth-2"), (3, "depth-3")):
        phases = patrol.WORLDS[name].phases  # type: ignore[index]
        for phase, least, limit in zip(
            phases, PATCH_DEADLINES[depth], PATCH_PRO[depth], strict=True
        ):
            patch = "always" if least is None else "never" if least == 0 else f"{least} ticks left"
            pro = (f"{limit.deadline}", f"{limit.progress:g}", f"{limit.ratio:g}")
            rows.append((f"{depth}", phase.name, patch, *pro))
    caption = (
        "Tables 10 and 11: Patch responds with at most these ticks left. PatchPro skips what "
        f"cannot be reached, responds with at most {VERY_URGENT} ticks left and on the way to a "
        "checkpoint, finishes handling first where time allows, and else responds within these "
        "limits"
    )
    head = ("phases", "state", "Patch", "PatchPro: deadline", "progress below", "cost ratio")
    return Grid(caption=caption, head=head, rows=tuple(rows), words=3)


def _table(title: str, experiment: str, *metrics: str) -> Table:
    where = {"experiment": experiment}
    return Table(title, rows=("method", "learner"), metrics=metrics, where=where)


DELIBERATION_METRICS = ("return", "success %", "timeout %", "mode 5 %")
STATE_METRICS = ("return", "resolve %", "expire %", "cost")

suite = Suite(
    name=NAME,
    title="the toys of the Engagement Process",
    subtitle="Engagement Process, section 5.1 and Appendix C",
    episode=ToyEpisode,
    play=play,
    summarize=summarize,
    resolve=resolve,
    check=check,
    cells=make_cells,
    sweep={
        "experiment": get_args(Experiment),
        "method": LEVELS["method"],
        "learner": LEVELS["learner"][:-1],
        "run": range(10),
    },
    presets={
        "quick": {"run": range(2), "training": (800,), "evaluation": (300,)},
        "paper": {"run": range(10), "training": (8_000,), "evaluation": (3_000,)},
    },
    keys=("experiment", "method", "learner", "seed"),
    margins=("seed",),
    order=("experiment", "learner", "method", "seed"),
    levels=LEVELS,
    metrics=METRICS,
    reference=REFERENCE,
    tables=(
        _table("Table 8: deliberation, a single task", DELIBERATIONS[0], *DELIBERATION_METRICS),
        _table("Table 9: deliberation, ten tasks", DELIBERATIONS[1], *DELIBERATION_METRICS),
        _table("Table 14: patrol, modules", MODULE, *STATE_METRICS[:3], "ticks"),
        _table("Table 15: patrol, two phases", DEPTHS[0], *STATE_METRICS),
        _table("Table 16: patrol, three phases", DEPTHS[1], *STATE_METRICS),
    ),
    claims=(lambda cells: list(check_orders(cells)),),
    notes=load_notes(Path(__file__).with_name("notes.md")),
    extra=make_extra,
)
