"""From rows to cells: means over turns within a run, their spread over runs, and what groups add.

PRI ranks the agents of Table 1 within their group; IC, repeatability and EC are computed from rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np

from timeful.errors import SettingsError
from timeful.experiments.suite import ReportData
from timeful.metrics.proactor.alignment import Alignment, tally
from timeful.metrics.proactor.questions import Tfidf, information_consistency
from timeful.metrics.proactor.ranking import Result, rank
from timeful.metrics.proactor.repeatability import between_runs
from timeful.metrics.proactor.spread import Spread, difference, over_runs
from timeful.reports.cube import CellName, group_rows
from timeful.reports.metric import Metric
from timeful.reports.published import load_reference
from timeful.reports.results import ResultRow, Where
from timeful.suites.proactor.judging import Bench, read_bench
from timeful.suites.proactor.rows import ProactorRow

SUITE = "proactor"
REFERENCE = load_reference(Path(__file__).with_name("published.toml"))

MEANS = {"ac": "AC", "max_ac": "Max AC", "pt": "PT", "ftr": "FTR", "rar": "RAR"}
COLUMNS = ("AC", "Max AC", "Difference", "PT", "FTR", "RAR")
"""The columns of Table 1 without PRI."""

NEED_REFERENCES = (
    *("AC", "Max AC", "Difference", "AC, a lost turn as 0"),
    *("ATR", "false triggered", "FRR"),
)
"""The metrics that need references, in addition to ready ranges."""

READY = ("turns", *(f"ready, {name}" for name in ("mean", "std", "min")))
READY = (*READY, *(f"ready, {name}" for name in ("25 %", "50 %", "75 %", "max")))
"""The columns of Table 8, ready actions a turn."""

ALIKE = "run-to-run consistency, "

TIMINGS = {
    "by-turn": "by turn",
    "timestamps": "at the times of the data",
    "pace": "at a pace of reading and speaking",
}
LEVELS = {"part": ("main", "curve", "time")}


def _sum(name: str) -> Callable[[ProactorRow], float | None]:
    return lambda row: row.sums.get(name)


def _answerable(row: ProactorRow) -> int:
    return row.scored + row.lost


METRICS = (
    Metric("PRI", digits=4),
    *(
        Metric(title, _sum(name), per="scored", digits=4 if name in ("pt", "ftr") else 3)
        for name, title in MEANS.items()
    ),
    Metric("Difference", digits=3),
    *(
        Metric(f"{name.replace('_', ' ')} turns", name, per="turns", digits=3, better="lower")
        for name in ("lost", "lost_late", "late", "empty")
    ),
    *(
        Metric(f"{MEANS[name]}, a lost turn as 0", _sum(name), per=_answerable, digits=3)
        for name in ("ac", "pt")
    ),
    *(
        Metric(title, _sum(name), per="scored", digits=3)
        for name, title in {
            "atr": "ATR",
            "false_triggered": "false triggered",
            "frr": "FRR",
            "ad": "AD",
        }.items()
    ),
    Metric("IC by tfidf", digits=3),
    *(Metric(ALIKE + name, digits=3) for name in ("combined", "means", "by conversation")),
    *(Metric(name, digits=0 if name == "turns" else 2) for name in READY),
)


@dataclass(frozen=True, slots=True)
class Group:
    """The completed episodes of a cell, in the order of their runs."""

    where: Where
    rows: list[ProactorRow]

    @property
    def method(self) -> str:
        """The agent and its model."""
        return str(self.where["method"])

    @property
    def runs(self) -> list[list[ProactorRow]]:
        """The rows by run."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda row: row.run)]


def locate(row: ProactorRow) -> Iterator[Where]:
    """The cell of a row."""
    names = (
        *("part", "timing", "first_ns", "token_ns", "agent", "who"),
        *("method", "threshold", "tokens_per_s", "source"),
    )
    yield {name: getattr(row, name) for name in names}


def make_groups(rows: Iterable[ProactorRow]) -> list[Group]:
    """Group the episodes that completed."""
    completed = [row for row in rows if row.status == "ok"]
    return [
        Group(where, sorted(members, key=lambda row: (row.run, row.place)))
        for where, members in group_rows(completed, locate, LEVELS)
    ]


def main_groups(rows: Iterable[ProactorRow]) -> list[Group]:
    """The groups of Table 1."""
    return [group for group in make_groups(rows) if group.where["part"] == "main"]


def name_cell(where: Where) -> CellName:
    """The names of a cell, or of a published number."""
    if "data" in where:
        experiment, setting = f"published: {where['data']}", "test split"
    else:
        experiment = f"{where['part']}: {where['source']}"
        setting = TIMINGS[str(where["timing"])]
        if where["timing"] != "by-turn":
            setting += f", {show_pace(where)} tokens/s"
        if "subflow" in where:
            setting += f", subflow {where['subflow']}"
    return CellName(experiment=experiment, setting=setting, method=str(where["method"]))


def show_pace(where: Where) -> str:
    """The pace of the model, in tokens a second."""
    first, token = int(where["first_ns"] or 0), int(where["token_ns"] or 0)
    delay = f" +{first / 1e9:g} s" if first else ""
    return f"{1e9 / token:.4g}{delay}" if token else "at once"


def derive(data: ReportData) -> list[ResultRow]:
    """Add what does not follow from one cell's rows alone, and blank what has no references."""
    bench = read_bench(data.out, {g.method: g.runs for g in main_groups(data.rows)})
    cells = complete(data.cells, data.rows)
    return [*cells, *_main_cells(cells, data.rows, bench), *_alignment_cells(data.rows)]


def complete(cells: Sequence[ResultRow], rows: Sequence[ProactorRow]) -> list[ResultRow]:
    """Add Difference; a metric that needs references is unknown where there are none."""
    has_references = any(row.has_references for row in rows)
    completed = []
    for cell in cells:
        is_unknown = cell.value is None or (cell.metric in NEED_REFERENCES and not has_references)
        if is_unknown and cell.stand_in is not None:
            cell = msgspec.structs.replace(cell, value=None, n=0, spread=None)
        completed.append(cell)
        if cell.metric == "Max AC" and cell.stand_in is not None:
            ac = next(c for c in completed if c.metric == "AC" and c.where == cell.where)
            first, second = spread_of(ac), spread_of(cell)
            value = difference(first, second) if first and second else None
            completed.append(_with(cell, "Difference", value))
    return completed


def spread_of(cell: ResultRow) -> Spread | None:
    """The value of a cell and its deviation over runs."""
    return None if cell.value is None else Spread(mean=cell.value, std=cell.spread, n=cell.n)


def _with(cell: ResultRow, metric: str, value: Spread | None) -> ResultRow:
    """Make another cell of the same episodes."""
    return msgspec.structs.replace(
        cell,
        metric=metric,
        value=None if value is None else value.mean,
        spread=None if value is None else value.std,
        n=0 if value is None else value.n,
    )


def _main_cells(
    cells: Sequence[ResultRow], rows: Sequence[ProactorRow], bench: Bench
) -> Iterator[ResultRow]:
    groups = main_groups(rows)
    ranked = rank_agents(cells)
    similarity = _similarity(groups)
    for group in groups:
        first = next(cell for cell in cells if cell.where == group.where)
        if group.method in ranked:
            members = "; ".join(sorted(ranked))
            pri = Spread(mean=ranked[group.method], std=None, n=len(ranked))
            yield _with(first, f"PRI in the group {members}", pri)
        yield _with(first, "IC by tfidf", _consistency(group, similarity))
        for rating in bench.ratings.get(group.method, ()):
            yield _with(first, f"PR by {rating.judge} ({rating.model})", rating.spread)
        for name, value in compare_runs(group).items():
            is_known = value is not None
            spread = Spread(mean=value, std=None, n=len(group.runs)) if is_known else None  # type: ignore[arg-type]
            yield _with(first, ALIKE + name, spread)
        for name, value in ready_per_turn(group.rows).items():
            yield _with(first, name, Spread(mean=value, std=None, n=len(group.runs)))


def rank_agents(cells: Sequence[ResultRow]) -> dict[str, float]:
    """PRI by method, within the group of all agents of Table 1 that have each of its columns.

    A single agent is no group: its PRI would be 0.5 in any case.
    """
    fields = dict(zip(COLUMNS, ("ac", "max_ac", "difference", "pt", "ftr", "rar"), strict=True))
    values: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell.where.get("part") == "main" and cell.metric in fields and cell.value is not None:
            values.setdefault(cell.method, {})[fields[cell.metric]] = cell.value
    group = [
        Result(name=method, **numbers)
        for method, numbers in values.items()
        if len(numbers) == len(fields)
    ]
    return {item.result.name: item.pri for item in rank(group)} if len(group) > 1 else {}


def _similarity(groups: Iterable[Group]) -> Tfidf | None:
    """Fit to all reference questions; None if no agent asks, or scikit-learn is missing."""
    pairs = [pair for group in groups for row in group.rows for pair in row.asked]
    corpus = sorted({text for _, references in pairs for text in references})
    if not corpus or not any(predicted for predicted, _ in pairs):
        return None
    try:
        return Tfidf(corpus)
    except SettingsError:
        return None


def _consistency(group: Group, similarity: Tfidf | None) -> Spread | None:
    """IC over runs: in each, the mean of its turns with questions on both sides."""
    if similarity is None:
        return None
    compare = cache(partial(information_consistency, similarity=similarity))
    means = []
    for rows in group.runs:
        values = [compare(*pair) for row in rows for pair in row.asked]
        if scores := [value for value in values if value is not None]:
            means.append(fmean(scores))
    return over_runs(means) if means else None


def compare_runs(group: Group) -> dict[str, float | None]:
    """How similar the runs of an agent are in the means of Table 1; empty for a single run."""
    has_references = any(row.has_references for row in group.rows)
    names = [
        name for name, title in MEANS.items() if has_references or title not in NEED_REFERENCES
    ]
    runs = [rows for rows in group.runs if any(row.scored for row in rows)]
    similar = between_runs([{name: _series(rows, name) for name in names} for rows in runs])
    if similar is None:
        return {}
    return {
        "means": similar.final,
        "by conversation": similar.trajectory,
        "combined": similar.combined,
    }


def _series(rows: Sequence[ProactorRow], name: str) -> tuple[float, dict[int, float]]:
    """A metric's mean in a run, and in each of its dialogues."""
    scored = [row for row in rows if row.scored]
    mean = sum(row.sums[name] for row in scored) / sum(row.scored for row in scored)
    return mean, {row.place: row.sums[name] / row.scored for row in scored}


def ready_per_turn(rows: Iterable[ProactorRow]) -> Mapping[str, float]:
    """Table 8: the distribution of ready actions over all turns, a lost turn with 0."""
    counts = np.array([count for row in rows for count in row.ready], dtype=np.float64)
    if not len(counts):
        return {}
    std = float(counts.std(ddof=1)) if len(counts) > 1 else 0.0
    least, *quartiles, most = (float(v) for v in np.quantile(counts, (0, 0.25, 0.5, 0.75, 1)))
    numbers = (float(len(counts)), float(counts.mean()), std, least, *quartiles, most)
    return dict(zip(READY, numbers, strict=True))


def align_references(rows: Iterable[ProactorRow]) -> list[Alignment]:
    """EC of the references, each dialogue once; none if no action was observed."""
    margins = {row.place: row.margins for group in main_groups(rows) for row in group.rows}
    return tally(margins[place] for place in sorted(margins)) if any(margins.values()) else []


def _alignment_cells(rows: Sequence[ProactorRow]) -> Iterator[ResultRow]:
    for alignment in align_references(rows):
        for metric, value, n in (
            (f"EC, sigma {alignment.sigma}", alignment.action_level, alignment.n_actions),
            (
                f"EC by dialogue, sigma {alignment.sigma}",
                alignment.dialogue_mean,
                alignment.n_dialogues,
            ),
        ):
            yield ResultRow(
                suite=SUITE,
                experiment=f"references: {rows[0].source}",
                setting="unmatched actions left out",
                method="the references",
                metric=metric,
                value=value,
                n=n,
            )
