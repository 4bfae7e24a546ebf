"""Numbers from kitchen episodes: ratios of sums, with intervals over cases and spread over sets.

A set is 128 or 72 cases, as many as the paper has. A number is the mean over sets; its interval
resamples the episodes within each set, and its spread is the standard deviation over sets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np
from numpy.typing import NDArray

from timeful.reports.results import ResultRow
from timeful.seeding import child
from timeful.suites.engagement.comparison import Band, Claim, Metric, Published
from timeful.suites.engagement.intervals import draw_weights, resample
from timeful.suites.engagement.kitchen.published import (
    ALL,
    BANDS,
    CRITICAL,
    DEFER,
    DISH,
    FINISHED,
    INTERRUPTED,
    MULTI,
    ONE,
    OVERLAP,
    PRIORITY,
    PUBLISHED,
    RESTART,
    RESUME,
    RESUMED,
    SEEN,
    SOFT,
    SWITCHES,
    UTILITY,
)
from timeful.suites.engagement.kitchen.rows import KitchenRow
from timeful.suites.engagement.kitchen.spec import METHODS, NAME, SETTINGS
from timeful.suites.engagement.numbers import Number, make_number, result_row

WHOLE = {ONE: 128, MULTI: 72}
"""How many cases a whole set has."""

_EACH = "episodes"

METRICS: tuple[Metric, ...] = (
    Metric(name=UTILITY, count="utility", of=_EACH, decimals=2),
    Metric(name=DISH, count="in_time", of="dishes", decimals=3),
    Metric(name=CRITICAL, count="critical_in_time", of="critical", decimals=3),
    Metric(name=SOFT, count="soft_in_time", of="soft", decimals=3),
    Metric(name=SEEN, count="seen_sum", of="seen", decimals=1),
    Metric(name=FINISHED, count="finished_sum", of="finished", decimals=1),
    Metric(name=SWITCHES, count="switches", of=_EACH, decimals=2),
    Metric(name=PRIORITY, count="priority_chosen", of="priority_chances", decimals=3),
    Metric(name=DEFER, count="soft_deferred", of="soft_seen", decimals=3),
    Metric(name=RESUME, count="resumed_sum", of="resumed", decimals=1),
    Metric(name=INTERRUPTED, count="interrupted", of=_EACH, decimals=3),
    Metric(name=RESUMED, count="resumed", of=_EACH, decimals=3),
    Metric(name=OVERLAP, count="overlap_sum", of="goings_on", decimals=3),
    Metric(name=RESTART, count="restarts", of="goings_on", decimals=3),
    Metric(name="Ticks", count="ticks", of=_EACH, decimals=0),
    Metric(name="Checks", count="checks", of=_EACH, decimals=1),
    Metric(name="Calls", count="calls", of=_EACH, decimals=1),
    Metric(name="Refused", count="refused", of=_EACH, decimals=2),
    Metric(name="Complete", count="complete", of="problems", decimals=3),
)
"""The paper's columns, and five of ours."""

_SUMS = {
    "seen_sum": "seen_after",
    "finished_sum": "finished_after",
    "resumed_sum": "resumed_after",
    "overlap_sum": "overlaps",
}
_LENGTHS = {"seen": "seen_after", "finished": "finished_after", "goings_on": "overlaps"}
_PLAIN = tuple(
    dict.fromkeys(
        name
        for metric in METRICS
        for name in (metric.count, metric.of)
        if name in KitchenRow.__struct_fields__
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A setting, a family ("all" for all) and a method, with its numbers by metric."""

    setting: str
    family: str
    method: str
    controller: str
    stand_in: bool
    episodes: int
    failed: int
    numbers: Mapping[str, Number]

    def mean(self, metric: str) -> float:
        """A number without its interval; nan if there is none."""
        return self.numbers[metric].mean if metric in self.numbers else float("nan")

    def published(self, metric: str) -> Published | None:
        """The published number beside it."""
        return PUBLISHED.get((self.setting, self.family, self.method, metric))

    def band(self, metric: str) -> Band | None:
        """Where it counts as reproduced; neither language models nor parts of a set have bands."""
        key = (self.setting, self.family, self.method, metric)
        is_whole = self.episodes >= WHOLE[self.setting]
        return BANDS.get(key) if self.stand_in and is_whole else None


def make_cells(rows: Iterable[KitchenRow]) -> list[Cell]:
    """Sum up episodes: all of a method first, then by family; in the order of the tables."""
    groups: dict[tuple[str, str, str], list[KitchenRow]] = {}
    for row in sorted(rows, key=_order):
        for family in (ALL, row.family):
            groups.setdefault((row.setting, family, row.method), []).append(row)
    weights: dict[int, NDArray[np.float64]] = {}
    return [_cell(key, group, weights) for key, group in groups.items()]


def _order(row: KitchenRow) -> tuple[int, str, int, int, str]:
    """An order that does not depend on when an episode was done."""
    methods = [method.name for method in METHODS]
    settings: Sequence[str] = SETTINGS
    return (
        settings.index(row.setting),
        row.family,
        methods.index(row.method),
        row.sample,
        row.case,
    )


def _cell(
    key: tuple[str, str, str], group: Sequence[KitchenRow], weights: dict[int, NDArray[np.float64]]
) -> Cell:
    good: dict[int, list[KitchenRow]] = {}
    for row in group:
        if row.status == "ok":
            good.setdefault(row.sample, []).append(row)
    numbers = {}
    if good:
        sets = [_counts(rows) for rows in good.values()]
        drawn = [resample(counts, _weights(len(counts[_EACH]), weights)) for counts in sets]
        numbers = {metric.name: make_number(metric, sets, drawn) for metric in METRICS}
    episodes = sum(len(rows) for rows in good.values())
    return Cell(
        setting=key[0],
        family=key[1],
        method=key[2],
        controller=group[0].controller,
        stand_in=group[0].stand_in,
        episodes=episodes,
        failed=len(group) - episodes,
        numbers=numbers,
    )


def _weights(episodes: int, known: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    if episodes not in known:
        known[episodes] = draw_weights(child(0, "kitchen", "bootstrap", episodes), episodes)
    return known[episodes]


def _counts(rows: Sequence[KitchenRow]) -> dict[str, NDArray[np.float64]]:
    columns: dict[str, list[float]] = {_EACH: [1.0] * len(rows)}
    for name in _PLAIN:
        columns[name] = [getattr(row, name) for row in rows]
    for name, values in _SUMS.items():
        columns[name] = [sum(getattr(row, values)) for row in rows]
    for name, values in _LENGTHS.items():
        columns[name] = [len(getattr(row, values)) for row in rows]
    return {name: np.array(column, dtype=np.float64) for name, column in columns.items()}


# --- orders -----------------------------------------------------------------------------------

_CALL = 12
"""What a controller's call, or the reflex, costs in ticks."""

_FAR = 3.0
"""How many times as long signals stay hidden under the loop as under polls, at least."""


def claims(cells: Sequence[Cell]) -> list[Claim]:
    """What must hold on means for the rule over whole sets (engagement facts, 4.3)."""
    found = {
        (c.setting, c.method): c
        for c in cells
        if c.family == ALL and c.stand_in and c.episodes >= WHOLE[c.setting]
    }
    made = []
    for setting, success in ((ONE, DISH), (MULTI, CRITICAL)):
        four = [
            found.get((setting, name))
            for name in ("AgentLoop", "Periodic Poll", "ReflexPatch", "EP")
        ]
        order = [cell for cell in four if cell is not None and cell.numbers]
        if len(order) < 4:
            continue
        loop, poll, reflex, ep = (cell.mean(success) for cell in order)
        text = f"{setting}: {success} AgentLoop < Poll < ReflexPatch <= EP"
        made.append(_claim(text, loop < poll < reflex <= ep))
        loop, poll, reflex, ep = (cell.mean(SEEN) for cell in order)
        text = f"{setting}: {SEEN} AgentLoop > {_FAR:g} x Poll, Poll > ReflexPatch >= EP"
        made.append(_claim(text, loop > _FAR * poll and poll > reflex >= ep))
    for method in ("ReflexPatch", "EP"):
        cell = found.get((ONE, method))
        if cell is not None and cell.numbers:
            text = f"one-dish, {method}: finishing begins {_CALL} ticks after seeing"
            gap = cell.mean(FINISHED) - cell.mean(SEEN)
            made.append(_claim(text, isclose(gap, _CALL)))
    return made


def _claim(text: str, held: bool) -> Claim:
    return Claim(text=text, held=int(held), cases=1)


# --- rows of results --------------------------------------------------------------------------


def result_rows(cells: Iterable[Cell]) -> list[ResultRow]:
    """All numbers as rows of the shape that all suites share."""
    return [
        result_row(
            number,
            cell.published(name),
            experiment=NAME.partition("/")[2] + f"/{cell.setting}",
            setting=cell.controller if cell.family == ALL else f"{cell.controller}, {cell.family}",
            method=cell.method,
            episodes=cell.episodes,
            stand_in=cell.stand_in,
        )
        for cell in cells
        for name, number in cell.numbers.items()
    ]
