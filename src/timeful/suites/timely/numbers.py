"""Numbers from episodes: means over budgets and cases, with intervals over cases or runs.

A number is averaged over budgets first, for each run of a case, so that every budget counts alike
(Timely Machine, section 5.2.2). Its interval is the 95 % bootstrap interval over cases, the runs
of a case within it; of a single case, over its runs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean

from timeful.environments.timed.latency import Constant, LogNormal, Uniform, read_latency
from timeful.metrics.budgets import right_in_time
from timeful.metrics.statistics import Estimate, bootstrap_grand_mean
from timeful.seeding import child
from timeful.suites.timely.published import ACCURACY, ON_TIME, TOOL_USE
from timeful.suites.timely.spec import NAME
from timeful.tasks.budgets import read_budget
from timeful.tasks.episode import FAMILIES, Family
from timeful.tasks.rows import TaskRow

RESAMPLES = 2_000
ALL = "all"
HURRY = "0.75x"
"""The budget of Tables 2 and 3."""

_SECOND = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is averaged: a value of each row, times a scale."""

    name: str
    of: Callable[[TaskRow], float]
    scale: float = 1.0
    decimals: int = 1


RIGHT = Measure(name=ACCURACY, of=right_in_time, scale=100)
ANY_TIME = Measure(name="right, late or not", of=lambda row: row.value, scale=100)
QUALITY = Measure(name=ACCURACY, of=lambda row: row.value, scale=100)
SCORE = Measure(name="score", of=lambda row: row.value)
GAIN = Measure(name="gain", of=lambda row: row.gain or 0.0)
IN_TIME = Measure(name=ON_TIME, of=lambda row: row.is_on_time, scale=100)
TOOLS = Measure(name=TOOL_USE, of=lambda row: row.used_tool, scale=100)
VALID = Measure(name="valid", of=lambda row: (row.valid_runs or 0) > 0, scale=100)
TOKENS = Measure(name="tokens", of=lambda row: row.tokens, decimals=0)
ROUNDS = Measure(name="steps", of=lambda row: row.rounds)
BAD = Measure(name="bad calls", of=lambda row: row.bad_calls, decimals=2)
SECONDS = Measure(name="seconds", of=lambda row: row.counted_ns / _SECOND, decimals=2)
IN_TOOLS = Measure(name="in tools, s", of=lambda row: row.tool_ns / _SECOND, decimals=2)
USE = Measure(name="utilisation", of=lambda row: row.utilisation or 0.0, decimals=3)

HEADLINE: dict[Family, Measure] = {"fiction": SCORE, "coding": QUALITY, "reasoning": RIGHT}
"""What Table 1 reports of each family."""

MEASURES: dict[Family, tuple[Measure, ...]] = {
    "fiction": (SCORE, GAIN, ROUNDS, TOKENS, BAD, SECONDS, IN_TOOLS, USE),
    "coding": (QUALITY, VALID, IN_TIME, ROUNDS, TOKENS, BAD, SECONDS, IN_TOOLS, USE),
    "reasoning": (RIGHT, ANY_TIME, IN_TIME, TOOLS, ROUNDS, TOKENS, BAD, SECONDS, USE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The episodes of somebody at a group of cases, such as a game, with a latency.

    `rows` are those that did not fail, under whatever budgets.
    """

    family: Family
    who: str
    stand_in: bool
    latency: str
    group: str
    rows: tuple[TaskRow, ...]
    failed: int

    def number(self, measure: Measure, *, budget: str | None = None) -> Estimate | None:
        """A measure with its interval: averaged over budgets, or under one of them."""
        rows = [row for row in self.rows if budget in (None, row.budget)]
        if not rows:
            return None
        rng = child(0, NAME, "bootstrap", measure.name)
        return bootstrap_grand_mean([_clusters(rows, measure)], rng=rng, resamples=RESAMPLES)

    @property
    def cases(self) -> int:
        """How many cases it holds."""
        return len({row.case for row in self.rows})


def _clusters(rows: Iterable[TaskRow], measure: Measure) -> list[list[float]]:
    """The values of each case, one for each of its runs; of a single case, of each run alone."""
    cases: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        runs = cases.setdefault(row.case, {})
        runs.setdefault(row.run, []).append(measure.scale * measure.of(row))
    clusters = [[fmean(values) for values in runs.values()] for runs in cases.values()]
    return [[value] for value in clusters[0]] if len(clusters) == 1 else clusters


def sorted_rows(rows: Iterable[TaskRow]) -> list[TaskRow]:
    """Rows in an order that does not depend on when an episode was done."""
    return sorted(
        rows,
        key=lambda r: (
            FAMILIES.index(_family(r)),
            latency_order(r.latency),
            r.case,
            r.who,
            budget_order(r.budget),
            r.run,
        ),
    )


def latency_order(law: str) -> tuple[float, str]:
    """Where a latency stands among others: by how long it usually is."""
    match read_latency(law):
        case Constant(span) | LogNormal(span, _):
            return span, law
        case Uniform(low, high):
            return (low + high) / 2, law
    return inf, law


def budget_order(budget: str) -> tuple[str, str, float]:
    """Where a budget stands among others."""
    read = read_budget(budget)
    return read.kind, read.player, read.amount


def _family(row: TaskRow) -> Family:
    return next(family for family in FAMILIES if family == row.family)


def make_cells(rows: Sequence[TaskRow]) -> list[Cell]:
    """Put episodes together; beside several sets of problems, "all" holds those of all sets."""
    groups: dict[tuple[Family, str, str, str], list[TaskRow]] = {}
    rows = sorted_rows(rows)
    sets = {row.group for row in rows if row.family == "reasoning"}
    for row in rows:
        is_one_of_many = row.family == "reasoning" and len(sets) > 1
        for group in (ALL, row.group) if is_one_of_many else (row.group,):
            groups.setdefault((_family(row), row.latency, row.who, group), []).append(row)
    return [
        Cell(
            family=family,
            who=who,
            stand_in=part[0].stand_in,
            latency=latency,
            group=group,
            rows=tuple(row for row in part if row.status == "ok"),
            failed=sum(row.status == "failed" for row in part),
        )
        for (family, latency, who, group), part in groups.items()
    ]


def budgets_of(cells: Iterable[Cell]) -> list[str]:
    """The budgets of some cells, the least first."""
    return sorted({row.budget for cell in cells for row in cell.rows}, key=budget_order)
