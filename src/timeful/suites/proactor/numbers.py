"""The numbers of ProActor: means over turns within a run, and their spread over runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from timeful.metrics.proactor.ranking import Ranked, Result, rank
from timeful.metrics.proactor.spread import Spread, difference, over_runs
from timeful.suites.proactor.rows import ActionCounts, ProactorRow

COLUMNS: Mapping[str, str] = {
    "ac": "AC",
    "max_ac": "Max AC",
    "difference": "Difference",
    "pt": "PT",
    "ftr": "FTR",
    "rar": "RAR",
}
"""The columns of Table 1 beside PRI, and what tables call them."""

OF_REFERENCES = ("ac", "max_ac", "difference", "atr", "false_triggered", "frr")
"""What needs references, and not only their ready ranges."""

TITLES = {
    "non-reasoning": "Non-Reasoning",
    "reasoning": "Reasoning",
    "reasoning-asg": "Reasoning + ASG",
}
"""The agents in the package, as the paper calls them."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """All episodes of an agent under a condition."""

    part: str
    agent: str
    who: str
    timing: str
    first_ns: int
    token_ns: int
    rows: tuple[ProactorRow, ...]

    @property
    def title(self) -> str:
        """The agent and who thinks."""
        return f"{TITLES.get(self.agent, self.agent)}, {self.who}"

    @property
    def stand_in(self) -> bool:
        """Whether no language model was run."""
        return all(row.stand_in for row in self.rows)

    @property
    def threshold(self) -> float | None:
        """The stand-in's threshold."""
        return self.rows[0].threshold

    @cached_property
    def ok(self) -> tuple[ProactorRow, ...]:
        """The episodes that came to their end."""
        return tuple(row for row in self.rows if row.status == "ok")

    @property
    def failed(self) -> int:
        """How many did not."""
        return len(self.rows) - len(self.ok)

    @cached_property
    def runs(self) -> list[list[ProactorRow]]:
        """The same, run by run."""
        ordered = sorted(self.ok, key=lambda row: row.run)
        return [list(part) for _, part in groupby(ordered, key=lambda row: row.run)]

    @cached_property
    def numbers(self) -> dict[str, Spread | None]:
        """The columns of Table 1, over runs; a mean over no turn is None."""
        found = {name: self.mean(name) for name in COLUMNS if name != "difference"}
        ac, max_ac = found["ac"], found["max_ac"]
        found["difference"] = difference(ac, max_ac) if ac and max_ac else None
        return {name: found[name] for name in COLUMNS}

    def mean(self, name: str) -> Spread | None:
        """A metric over the turns that were scored; None where it is unknown."""
        is_known = any(name in row.sums for row in self.ok)
        if not is_known or (name in OF_REFERENCES and not self.has_references):
            return None
        return self._over(name, by_scored)

    def of_all(self, name: str) -> Spread | None:
        """A metric over the turns that were scored or lost, a lost one as 0."""
        if name in OF_REFERENCES and not self.has_references:
            return None
        return self._over(name, by_scored_or_lost)

    @property
    def has_references(self) -> bool:
        """Whether there is something to be consistent with, and not only ready ranges."""
        return any(row.has_references for row in self.ok)

    def share(self, name: str) -> Spread | None:
        """A count, such as that of lost turns, as a share of all turns."""
        shares = []
        for run in self.runs:
            turns = sum(row.turns for row in run)
            if turns:
                shares.append(sum(getattr(row, name) for row in run) / turns)
        return over_runs(shares) if shares else None

    def _over(self, name: str, weight: Callable[[ProactorRow], int]) -> Spread | None:
        """A mean over turns within each run, over the runs that have one."""
        means = []
        for run in self.runs:
            count = sum(map(weight, run))
            if count:
                means.append(sum(row.sums.get(name, 0.0) for row in run) / count)
        return over_runs(means) if means else None

    def count(self, name: str) -> int:
        """A count over all episodes."""
        return sum(getattr(row, name) for row in self.ok)

    def actions(self) -> dict[str, ActionCounts]:
        """What became of each action, over all episodes."""
        found: dict[str, ActionCounts] = {}
        for row in self.ok:
            for name, counts in row.actions.items():
                found.setdefault(name, ActionCounts()).add(counts)
        return dict(sorted(found.items()))

    def by_subflow(self) -> dict[str, "Cell"]:
        """The same for the episodes of each subflow alone."""
        names = sorted({row.subflow for row in self.ok})
        return {name: self._of(row for row in self.ok if row.subflow == name) for name in names}

    def _of(self, rows: Iterable[ProactorRow]) -> "Cell":
        return Cell(
            part=self.part,
            agent=self.agent,
            who=self.who,
            timing=self.timing,
            first_ns=self.first_ns,
            token_ns=self.token_ns,
            rows=tuple(rows),
        )


def by_scored(row: ProactorRow) -> int:
    """Weigh a row by its turns with predictions in time."""
    return row.scored


def by_scored_or_lost(row: ProactorRow) -> int:
    """Weigh a row by these and those that were lost."""
    return row.scored + row.lost


def sorted_rows(rows: Iterable[ProactorRow]) -> list[ProactorRow]:
    """In one order, in whatever order they were played."""
    parts = ("main", "curve", "time")
    return sorted(
        rows,
        key=lambda row: (
            parts.index(row.part),
            row.timing,
            row.first_ns + row.token_ns,
            row.agent,
            row.who,
            row.run,
            row.place,
        ),
    )


def make_cells(rows: Sequence[ProactorRow]) -> list[Cell]:
    """Group rows by all that is not a repetition."""

    def kind(row: ProactorRow) -> tuple[str, str, int, int, str, str]:
        return (row.part, row.timing, row.first_ns, row.token_ns, row.agent, row.who)

    found: dict[tuple[str, str, int, int, str, str], list[ProactorRow]] = {}
    for row in sorted_rows(rows):
        found.setdefault(kind(row), []).append(row)
    return [
        Cell(
            part=part,
            timing=timing,
            first_ns=first,
            token_ns=token,
            agent=agent,
            who=who,
            rows=tuple(some),
        )
        for (part, timing, first, token, agent, who), some in found.items()
    ]


def main_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Those of Table 1."""
    return [cell for cell in cells if cell.part == "main"]


def timed_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Those in which the conversation did not wait, by agent and then by pace."""
    mine = [cell for cell in cells if cell.part != "curve" and cell.timing != "by-turn"]
    return sorted(mine, key=lambda c: (c.timing, c.agent, c.who, c.first_ns + c.token_ns))


def curve_cells(cells: Sequence[Cell]) -> list[Cell]:
    """One agent of the stand-in over thresholds, in their order; none if there is no curve."""
    if not any(cell.part == "curve" for cell in cells):
        return []
    agent = next(cell.agent for cell in cells if cell.part == "curve")
    mine = [c for c in cells if c.part in ("main", "curve") and c.agent == agent]
    return sorted((c for c in mine if c.threshold is not None), key=lambda c: c.threshold or 0)


def has_all(cell: Cell) -> bool:
    """Whether it has all of the numbers that PRI is made from."""
    return all(found is not None for found in cell.numbers.values())


def ranking(cells: Sequence[Cell]) -> dict[str, Ranked]:
    """PRI of cells by title, within their group; who has not all numbers is not in it.

    One alone is no group: its PRI would be 0.5, whatever it does.
    """
    group = []
    for cell in filter(has_all, cells):
        means = {name: found.mean for name, found in cell.numbers.items() if found is not None}
        group.append(Result(name=cell.title, **means))
    return {one.result.name: one for one in rank(group)} if len(group) > 1 else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How many ready actions a turn has (Table 8); the deviation is the sample's."""

    count: int
    mean: float
    std: float | None
    least: float
    quartiles: tuple[float, float, float]
    most: float


def ready_per_turn(cell: Cell) -> Distribution | None:
    """The distribution over all turns of all runs, a lost one with 0; None without any."""
    every = np.array([count for row in cell.ok for count in row.ready], dtype=np.float64)
    if not len(every):
        return None
    low, middle, high = (float(value) for value in np.quantile(every, (0.25, 0.5, 0.75)))
    return Distribution(
        count=len(every),
        mean=float(every.mean()),
        std=float(every.std(ddof=1)) if len(every) > 1 else None,
        least=float(every.min()),
        quartiles=(low, middle, high),
        most=float(every.max()),
    )
