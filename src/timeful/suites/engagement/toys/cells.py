"""The cells of the toys: intervals over evaluation episodes, spread over seeds, and claims."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np

from timeful.metrics.statistics import Estimate
from timeful.reports import cube
from timeful.reports.claims import Claim
from timeful.reports.cube import CellName
from timeful.reports.estimate import estimate_sets
from timeful.reports.metric import Metric
from timeful.reports.published import load_reference
from timeful.reports.results import ResultRow, Where
from timeful.suites.engagement.toys import deliberation, patrol
from timeful.suites.engagement.toys.deliberation import CELLS, LEARNERS
from timeful.suites.engagement.toys.episode import Experiment
from timeful.suites.engagement.toys.rows import Floats, ToyRow, resample

OPTIMUM = "optimum"
UNMEASURED = (OPTIMUM, "always respond")
"""Rows that reproduce nothing: they have no bands."""

MODULE, DEPTHS = "patrol/module", ("patrol/depth-2", "patrol/depth-3")
DELIBERATIONS = ("deliberation/single", "deliberation/sequential")
PATROL_METHODS = ("EP", "PatchPro", "Patch", "Loop")

METRICS = (
    Metric("return", "return"),
    Metric("success %", "succeeded", per="tasks", scale=100, digits=1),
    Metric("timeout %", "timed out", per="tasks", scale=100, digits=1, better="lower"),
    Metric("mode 5 %", "deepest", per="chosen", scale=100, digits=1, better=""),
    Metric("resolve %", "resolved", per="alarms", scale=100, digits=1),
    Metric("expire %", "expired", per="alarms", scale=100, digits=1, better="lower"),
    Metric("ticks", "active_ticks", per="alarms", better="lower"),
    Metric("cost", "interrupt_cost", digits=1, better="lower"),
    Metric("alarms", "alarms", digits=1, better="", is_further=True),
)
"""The columns of the paper; alarms are ours. Tasks that expired by themselves had no mode."""

OMITTED = {MODULE: "cost", **dict.fromkeys(DEPTHS, "ticks")}
"""The metric that an experiment counts but does not show."""

LEVELS = {
    "experiment": get_args(Experiment),
    "method": (*CELLS, *PATROL_METHODS),
    "learner": (
        "paper-like",
        "converged",
        "converged, all seen",
        "fixed",
        "always respond",
        OPTIMUM,
    ),
}


def reference_key(where: Where) -> Where:
    """The values that numbers and bands of a cell are looked up by."""
    return {"seed": "all", "is_measured": where.get("learner") not in UNMEASURED, **where}


REFERENCE = load_reference(Path(__file__).with_name("published.toml"), reference_key)


def make_cells(rows: Sequence[ToyRow]) -> list[ResultRow]:
    """Compute the cells of all seeds and of each seed, and add the optimum returns."""
    cells = cube.make_cells(
        rows,
        suite="engagement",
        metrics=METRICS,
        groups=lambda row: cube.with_margins(
            [{name: getattr(row, name) for name in ("experiment", "method", "learner", "seed")}],
            ("seed",),
        ),
        levels=LEVELS,
        estimator=estimate_policies,
        naming=name_cell,
        reference=REFERENCE,
    )
    optima = [
        cube.make_cell(
            Estimate(mean=best, low=None, high=None, n=0, clusters=0),
            suite="engagement",
            metric="return",
            where=(where := {"experiment": experiment, "method": method, "learner": OPTIMUM}),
            name=name_cell(where),
            members=rows[:1],
            reference=REFERENCE,
        )
        for (experiment, method), best in deliberation.optima().items()
        if any((row.experiment, row.method) == (experiment, method) for row in rows)
    ]
    return [cell for cell in cells if cell.value is not None or cell.failed] + optima


def name_cell(where: Where) -> CellName:
    """The names of a cell in results; the setting is the learner."""
    seed = f", seed {where['seed']}" if "seed" in where else ""
    return CellName(
        experiment=str(where["experiment"]),
        setting=f"{where['learner']}{seed}",
        method=str(where["method"]),
    )


def estimate_policies(
    metrics: Sequence[Metric], rows: Sequence[ToyRow], where: Where
) -> dict[str, Estimate]:
    """Estimate metrics of one policy or of those of several seeds.

    The interval is over evaluation episodes, and the spread over seeds.
    """
    policies = [resample(row.counts) for row in rows]
    episodes, omitted = policies[0].episodes, OMITTED.get(str(where["experiment"]))
    estimates = {}
    for metric in metrics:
        if metric.value in policies[0].totals and metric.name != omitted:
            sums = [(_pair(metric, p.totals), _pair(metric, p.resampled)) for p in policies]
            estimates[metric.name] = estimate_sets(metric, sums, n=episodes * len(policies))
    return estimates


def _pair(metric: Metric, sums: Mapping[str, Any]) -> Floats:
    """The sums of a metric's columns, one pair for each resample."""
    per = sums["episodes" if metric.per is None else str(metric.per)]
    pair = np.broadcast_arrays(np.atleast_1d(sums[str(metric.value)]), per)
    return np.array(pair, dtype=np.float64)


# --- claims ---------------------------------------------------------------------------------------


def check_orders(cells: Sequence[ResultRow]) -> Iterator[Claim]:
    """The claims about returns, on means and for each seed; policies without learner join each."""
    timeouts = [c for c in cells if c.metric == "timeout %" and "seed" in c.where]
    steps = [cell.value == 0 for cell in timeouts if cell.method.endswith("Step")]
    if steps:
        yield Claim(text="Nothing times out in Step", held=sum(steps), cases=len(steps))
    order = partial(_order, [cell for cell in cells if cell.metric == "return"])
    for experiment in DELIBERATIONS:
        for learner in LEARNERS[experiment.partition("/")[2]]:  # type: ignore[index]
            yield from order(experiment, learner, ("EP -> EP", "Step -> EP"), by_seed=True)
            yield from order(experiment, learner, ("Step -> Step", "EP -> Step"))
    for learner in patrol.learners("module"):
        yield from order(MODULE, learner, ("EP", "Loop"), gap=850)
        for experiment in DEPTHS:
            yield from order(experiment, learner, PATROL_METHODS)
            # One noisy table in several is worse than the best hand-written policy.
            is_promised = learner != "paper-like"
            yield from order(
                experiment, learner, PATROL_METHODS[:2], by_seed=True, is_promised=is_promised
            )


def _order(
    cells: Sequence[ResultRow],
    experiment: str,
    learner: str,
    methods: Sequence[str],
    *,
    by_seed: bool = False,
    gap: float = 0.0,
    is_promised: bool = True,
) -> Iterator[Claim]:
    """Claim that each method has a greater return than the next, if all were run."""
    columns = [
        [
            cell.value
            for cell in cells
            if cell.matches({"experiment": experiment, "method": method})
            and cell.where["learner"] in (learner, "fixed")
            and ("seed" in cell.where) == by_seed
            and cell.value is not None
        ]
        for method in methods
    ]
    if all(columns):
        is_held = [
            all(first - second > gap for first, second in pairwise(values))
            for values in zip(*columns, strict=False)
        ]
        text = f"{experiment}, {learner}: {' > '.join(methods)}"
        text += f" by {gap:g}" if gap else ""
        text += ", per seed" if by_seed else ", on means"
        yield Claim(text=text, held=sum(is_held), cases=len(is_held), is_promised=is_promised)
