"""From raw counts to numbers: means over seeds, intervals, spreads, beside what was published."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import msgspec
import numpy as np

from timeful.reports.results import ResultRow
from timeful.suites.engagement.comparison import Band, Metric, Published
from timeful.suites.engagement.intervals import draw_weights, interval, resample, value
from timeful.suites.engagement.toys import deliberation
from timeful.suites.engagement.toys.evaluated import Evaluated
from timeful.suites.engagement.toys.published import BANDS, PUBLISHED

SUITE = "engagement"

YARDSTICK = "always respond"
"""What stands for the learner where a policy that learns nothing is shown beside learned ones."""

_PATROL = (
    Metric(name="return", count="return"),
    Metric(name="resolve %", count="resolved", of="alarms", scale=100),
    Metric(name="expire %", count="expired", of="alarms", scale=100),
)
_ALARMS = Metric(name="alarms", count="alarms")
_COST = Metric(name="cost", count="interrupt_cost")

METRICS: Mapping[str, tuple[Metric, ...]] = {
    "deliberation/single": deliberation.METRICS,
    "deliberation/sequential": deliberation.METRICS,
    "patrol/module": (
        *_PATROL,
        Metric(name="ticks", count="active_ticks", of="alarms", decimals=2),
        _ALARMS,
    ),
    "patrol/depth-2": (*_PATROL, _COST, _ALARMS),
    "patrol/depth-3": (*_PATROL, _COST, _ALARMS),
}
"""The metrics of each experiment, in the order of the paper's columns; alarms are ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of ours, beside the published one.

    Attributes:
        experiment: Such as "deliberation/single".
        method: The row of the published table.
        learner: Whose policy it is, or "fixed".
        metric: What was measured.
        by_seed: The number of each training seed.
        low: The lower end of the 95 % interval of the mean over seeds.
        high: The upper end.
        episodes: Evaluation episodes behind it, of all seeds.
    """

    experiment: str
    method: str
    learner: str
    metric: Metric
    by_seed: Mapping[int, float]
    low: float
    high: float
    episodes: int

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return fmean(self.by_seed.values())

    @property
    def spread(self) -> float | None:
        """The standard deviation over training seeds; None for a single one."""
        return stdev(self.by_seed.values()) if len(self.by_seed) > 1 else None

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about, whoever learned it."""
        return self.experiment, self.method, self.metric.name

    @property
    def published(self) -> Published | None:
        """The published number, if there is one."""
        return PUBLISHED.get(self.key)

    @property
    def band(self) -> Band | None:
        """Where it counts as reproduced, if anything says so; a yardstick reproduces nothing."""
        return None if self.learner == YARDSTICK else BANDS.get(self.key)


class SeedRow(msgspec.Struct, frozen=True, kw_only=True):
    """The number of one training seed."""

    experiment: str
    method: str
    learner: str
    seed: int
    metric: str
    value: float


def make_numbers(rows: Iterable[Evaluated], *, rng: np.random.Generator) -> list[Number]:
    """Sum up policies over their seeds.

    Args:
        rows: Policies that were evaluated in equally many episodes, in any order of seeds.
        rng: Draws the resamples, one set for all.
    """
    groups: dict[tuple[str, str, str], list[Evaluated]] = {}
    for row in rows:
        groups.setdefault((row.experiment, row.method, row.learner), []).append(row)
    if not groups:
        return []
    first = next(iter(groups.values()))[0]
    weights = draw_weights(rng, len(first.counts["return"]))
    numbers = []
    for (experiment, method, learner), group in groups.items():
        group.sort(key=lambda row: row.seed)
        sums = [resample(row.counts, weights) for row in group]
        for metric in METRICS[experiment]:
            low, high = interval(metric, sums, weights.shape[1])
            numbers.append(
                Number(
                    experiment=experiment,
                    method=method,
                    learner=learner,
                    metric=metric,
                    by_seed={row.seed: value(metric, row.counts) for row in group},
                    low=low,
                    high=high,
                    episodes=weights.shape[1] * len(group),
                )
            )
    return numbers


def seed_rows(numbers: Iterable[Number]) -> list[SeedRow]:
    """Every seed of every number."""
    return [
        SeedRow(
            experiment=number.experiment,
            method=number.method,
            learner=number.learner,
            seed=seed,
            metric=number.metric.name,
            value=found,
        )
        for number in numbers
        for seed, found in number.by_seed.items()
    ]


def result_rows(
    numbers: Sequence[Number], optima: Mapping[tuple[str, str], float]
) -> list[ResultRow]:
    """All numbers as rows of the shape that all suites share; the setting is the learner."""
    rows = []
    for number in numbers:
        published = number.published
        rows.append(
            ResultRow(
                suite=SUITE,
                experiment=number.experiment,
                setting=number.learner,
                method=number.method,
                metric=number.metric.name,
                value=number.mean,
                low=number.low,
                high=number.high,
                n=number.episodes,
                published=published.value if published else None,
                source=published.source if published else None,
                stand_in=False,
                spread=number.spread,
            )
        )
    for (experiment, method), best in optima.items():
        published = PUBLISHED.get((experiment, method, "return"))
        rows.append(
            ResultRow(
                suite=SUITE,
                experiment=experiment,
                setting="optimum",
                method=method,
                metric="return",
                value=best,
                low=None,
                high=None,
                n=0,
                published=published.value if published else None,
                source=published.source if published else None,
                stand_in=False,
            )
        )
    return rows
