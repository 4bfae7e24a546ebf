"""Numbers from inbox episodes: means and ratios of sums with their intervals, as in Table 18."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from timeful.environments.inbox.settings import URGENCIES
from timeful.environments.inbox.task import DECOMPOSITIONS
from timeful.runs.results import ResultRow
from timeful.seeding import child
from timeful.suites.engagement.comparison import Band, Claim, Metric, Published
from timeful.suites.engagement.inbox.published import BANDS, MAIN_MODEL, PUBLISHED
from timeful.suites.engagement.inbox.rows import InboxRow
from timeful.suites.engagement.inbox.spec import METHODS, POLICIES
from timeful.suites.engagement.intervals import draw_weights, resample
from timeful.suites.engagement.numbers import Number, make_number, result_row

COLUMNS: tuple[Metric, ...] = (
    Metric(name="Utility", count="utility", decimals=3),
    Metric(name="Balanced", count="balanced", decimals=3),
    Metric(name="Timeout", count="timed_out", of="emails", decimals=3),
    Metric(name="Latency", count="latency", of="responses", decimals=2),
    Metric(name="Main", count="main", decimals=3),
)
"""The paper's columns."""

FURTHER: tuple[Metric, ...] = (
    Metric(name="emails", count="emails", decimals=1),
    *(
        Metric(name=f"{name} on time", count=f"on_time_{name}", of=f"arrived_{name}", decimals=2)
        for name in URGENCIES
    ),
    Metric(name="late", count="late", of="emails", decimals=3),
    Metric(name="open", count="open", of="emails", decimals=3),
    Metric(name="reminders", count="reminders", decimals=1),
    Metric(name="looks", count="looks", decimals=1),
    Metric(name="switches", count="switches", decimals=1),
    Metric(name="interruptions", count="interruptions", decimals=1),
    Metric(name="malformed", count="malformed", decimals=2),
    Metric(name="end", count="ended", decimals=1),
)
"""What else was counted: per episode, or as a share of the emails that arrived."""

_PLAIN = tuple(
    dict.fromkeys(
        name
        for metric in (*COLUMNS, *FURTHER)
        for name in (metric.count, metric.of)
        if name is not None and name in InboxRow.__struct_fields__
    )
)
_SEED = 42  # the paper's, of its resamples


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One decomposition, policy and interface, with its numbers by the name of the metric."""

    decomposition: str
    policy: str
    interface: str
    model: str
    stand_in: bool
    episodes: int
    failed: int
    numbers: dict[str, Number]

    def mean(self, metric: str) -> float:
        """A number without its interval; nan if every episode failed."""
        return self.numbers[metric].mean if self.numbers else float("nan")

    def published(self, metric: str) -> Published | None:
        """The number of Table 3 beside it, if there is one."""
        return PUBLISHED[MAIN_MODEL].get((self.decomposition, self.interface, metric))

    def band(self, metric: str) -> Band | None:
        """Where it counts as reproduced, if anything says so."""
        return BANDS.get((self.policy, (self.decomposition, self.interface, metric)))


def make_cells(rows: Iterable[InboxRow]) -> list[Cell]:
    """Sum up episodes, in the order of the paper's tables."""
    groups: dict[tuple[str, str, str], list[InboxRow]] = {}
    for row in sorted(rows, key=_order):
        groups.setdefault((row.decomposition, row.policy, row.interface), []).append(row)
    weights: dict[int, NDArray[np.float64]] = {}
    return [_cell(group, weights) for group in groups.values()]


def _order(row: InboxRow) -> tuple[int, ...]:
    """An order that does not depend on when an episode was done."""
    return (
        _place(row.policy, POLICIES),
        _place(row.decomposition, DECOMPOSITIONS),
        _place(row.interface, tuple(METHODS)),
        row.seed,
        row.episode,
    )


def _place(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


def _cell(group: Sequence[InboxRow], weights: dict[int, NDArray[np.float64]]) -> Cell:
    first, good = group[0], [row for row in group if row.status == "ok"]
    numbers: dict[str, Number] = {}
    if good:
        counts = _counts(good)
        if len(good) not in weights:
            rng = child(_SEED, "inbox", "bootstrap", len(good))
            weights[len(good)] = draw_weights(rng, len(good))
        drawn = resample(counts, weights[len(good)])
        numbers = {
            metric.name: make_number(metric, [counts], [drawn]) for metric in (*COLUMNS, *FURTHER)
        }
    return Cell(
        decomposition=first.decomposition,
        policy=first.policy,
        interface=first.interface,
        model=first.model,
        stand_in=first.stand_in,
        episodes=len(good),
        failed=len(group) - len(good),
        numbers=numbers,
    )


def _counts(rows: Sequence[InboxRow]) -> dict[str, NDArray[np.float64]]:
    counts = {
        name: np.array([getattr(row, name) for row in rows], dtype=np.float64) for name in _PLAIN
    }
    for place, urgency in enumerate(URGENCIES):
        counts[f"arrived_{urgency}"] = np.array(
            [row.arrived_by_urgency[place] for row in rows], dtype=np.float64
        )
        counts[f"on_time_{urgency}"] = np.array(
            [row.on_time_by_urgency[place] for row in rows], dtype=np.float64
        )
    return counts


def claims(cells: Sequence[Cell]) -> list[Claim]:
    """What must hold on means: the order of the paper's three interfaces (facts, 3.3)."""
    found = {(cell.decomposition, cell.policy, cell.interface): cell for cell in cells}
    made = []
    for decomposition, policy in dict.fromkeys((c.decomposition, c.policy) for c in cells):
        order = [
            found.get((decomposition, policy, name)) for name in ("event-driven", "polling", "loop")
        ]
        three = [cell for cell in order if cell is not None and cell.numbers]
        if len(three) < 3:
            continue
        for metric, sign in (("Utility", 1), ("Balanced", 1), ("Timeout", -1), ("Latency", -1)):
            held = all(
                sign * (one.mean(metric) - other.mean(metric)) > 0 for one, other in pairwise(three)
            )
            mark = ">" if sign > 0 else "<"
            text = f"{decomposition}, {policy}: {metric} EP {mark} Periodic Poll {mark} AgentLoop"
            made.append(Claim(text=text, held=int(held), cases=1))
    return made


def result_rows(cells: Iterable[Cell]) -> list[ResultRow]:
    """All numbers as rows of the shape that all suites share, then what was published only."""
    rows = [
        result_row(
            number,
            cell.published(name),
            experiment=f"inbox/{cell.decomposition}",
            setting=cell.policy if cell.stand_in else cell.model,
            method=METHODS.get(cell.interface, cell.interface),
            episodes=cell.episodes,
            stand_in=cell.stand_in,
        )
        for cell in cells
        for name, number in cell.numbers.items()
    ]
    return rows + [
        ResultRow(
            suite="engagement",
            experiment=f"inbox/{decomposition}",
            setting=model,
            method=METHODS[interface],
            metric=metric,
            value=None,
            low=None,
            high=None,
            n=0,
            published=published.value,
            source=published.source,
            stand_in=None,
        )
        for model, numbers in PUBLISHED.items()
        if model != MAIN_MODEL
        for (decomposition, interface, metric), published in numbers.items()
    ]
