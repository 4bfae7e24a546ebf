"""Figures 3 to 6: the modes chosen at each slack, and five ticks of a patrol."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from timeful.core.units import in_seconds
from timeful.environments.patrol.view import PatrolView
from timeful.reports.figure import Heat, draw_text
from timeful.reports.page import Figure
from timeful.reports.results import ResultRow
from timeful.reports.table import Context
from timeful.suites.engagement.toys import patrol
from timeful.suites.engagement.toys.cells import DELIBERATIONS, MODULE
from timeful.suites.engagement.toys.deliberation import LEARNERS, WORLDS, Kind
from timeful.suites.engagement.toys.rows import ToyRow

SHARE = "share of choices"

EVENTS = {
    "EP": (5, "handling is left for an alarm at once"),
    "Loop": (6, "an alarm goes off, and handling continues"),
}


def draw_modes(rows: Sequence[ToyRow], context: Context) -> Iterator[Figure]:
    """Figures 3 and 4: the share of each mode at each slack, for policies that play in EP."""
    cells = list(count_modes(rows))
    for number, name in enumerate(DELIBERATIONS, start=3):
        heat = Heat(
            x="slack",
            y="mode",
            metric=SHARE,
            panel="method",
            where={"experiment": name},
            title=f"As Figure {number}: modes chosen at each slack, played in EP",
            caption="All seeds of the paper-like learner. Top row: the share of all choices.",
        )
        if figure := heat.draw(cells, context):
            yield figure


def count_modes(rows: Sequence[ToyRow]) -> Iterator[ResultRow]:
    """The share of each mode at each slack, and the share of choices at each slack, as cells."""
    counts: dict[tuple[str, str], NDArray[np.int64]] = {}
    for row in rows:
        if row.modes and row.learner == "paper-like" and row.method.endswith("> EP"):
            key = row.experiment, row.method
            counts[key] = counts.get(key, 0) + np.array(row.modes, dtype=np.int64)
    for (experiment, method), table in counts.items():
        for slack, modes in zip(slack_names(experiment), table, strict=True):
            shares = {"all": modes.sum() / table.sum()}
            shares |= {str(k): n / max(modes.sum(), 1) for k, n in enumerate(modes, start=1)}
            for mode, share in shares.items():
                yield ResultRow(
                    suite="engagement",
                    experiment=experiment,
                    setting=f"slack {slack}, mode {mode}",
                    method=method,
                    metric=SHARE,
                    value=float(share),
                    n=int(table.sum()),
                    where={
                        "experiment": experiment,
                        "method": method,
                        "slack": slack,
                        "mode": mode,
                    },
                )


def slack_names(experiment: str) -> list[str]:
    """The names of the bins of slack, from urgent to relaxed."""
    kind: Kind = "single" if experiment == DELIBERATIONS[0] else "sequential"
    if kind == "single":
        return [f"{in_seconds(gap):g} s" for gap in WORLDS[kind].gaps]
    edges = [in_seconds(edge) for edge in LEARNERS[kind]["paper-like"].slack_edges]
    inner = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return [f"<{edges[0]:g} s", *inner, f"≥{edges[-1]:g} s"]


def draw_traces(rows: Sequence[ToyRow]) -> Iterator[Figure]:
    """Figures 5 and 6: the grid of each tick."""
    training = [row.training for row in rows if row.experiment == MODULE]
    for trace in patrol.traces(training[0]) if training else ():
        number, event = EVENTS[trace.law]
        yield draw_text(
            {f"tick {f.view.turn}: {f.doing}": _show(f.view) for f in trace.frames},
            alt=f"Five ticks of a patrol under {trace.law}: {event}",
            title=f"As Figure {number}: a patrol under {trace.law}, {event}",
            caption="The first such event in the first evaluation episode of the paper-like "
            "learner with the first seed. Letters are checkpoints, @ is the agent, ! the alarm "
            "with the ticks until its deadline.",
        )


def _show(view: PatrolView) -> str:
    grid, _, status = view.text().rpartition("\n")
    return "\n".join([grid, *wrap(status, 38)])
