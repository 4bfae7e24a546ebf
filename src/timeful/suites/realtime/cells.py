"""From episodes to cells: one cell for each experiment, condition and method.

A cell holds our estimate, or why there is none, and the published number that belongs beside
it. Tables, results and figures are made from cells alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from timeful.metrics.statistics import Estimate, bootstrap_grand_mean
from timeful.records.rows import EpisodeRow
from timeful.seeding import child
from timeful.suites.realtime.conditions import (
    TITLES,
    USUAL_RESERVE,
    Condition,
    Experiment,
    agent_order,
    condition_of,
    is_part,
    mean_over_games,
    present_experiments,
)
from timeful.suites.realtime.published import PUBLISHED, Published, look_up
from timeful.suites.realtime.scores import GAMES, score


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One method under one condition, as one experiment shows it.

    `score` is normalised and `raw` in points; both are None where no episode ended well.
    `above_one` counts the episodes whose normalised score exceeds 1. `stand_in` is None where
    nothing was run. `rows` are the episodes, empty in an average over games.
    """

    experiment: Experiment
    condition: Condition
    agent: str
    method: str
    score: Estimate | None
    raw: Estimate | None
    ok: int
    failed: int
    above_one: int
    stand_in: bool | None
    published: Published | None
    rows: tuple[EpisodeRow, ...] = ()

    @property
    def is_run(self) -> bool:
        """Whether any episode of it was tried."""
        return self.ok + self.failed > 0


_Variant = tuple[str, str, str]
"""Agent, model and mode: episodes that differ in one of them are never averaged."""


def make_cells(rows: Iterable[EpisodeRow]) -> list[Cell]:
    """Sort episodes into cells, add averages over games, and the published cells not run.

    The same episodes give the same cells, intervals included, whatever else was run beside
    them. An episode that is listed twice counts once.
    """
    unique = list(dict.fromkeys(rows))
    names = method_names(unique)
    cells: list[Cell] = []
    for (experiment, condition, variant), part in _grouped(unique).items():
        cells.append(_cell(experiment, condition, variant, part, names[variant]))
    cells += _means(cells)
    seen = {(cell.experiment, cell.condition, cell.agent) for cell in cells}
    cells += [
        _not_run(entry)
        for entry in PUBLISHED
        if (entry.experiment, entry.condition, entry.agent) not in seen
    ]
    experiments = list(TITLES)
    return sorted(
        cells,
        key=lambda cell: (
            experiments.index(cell.experiment),
            cell.condition.order,
            agent_order(cell.agent),
            cell.method,
        ),
    )


def run_experiments(cells: Iterable[Cell]) -> tuple[Experiment, ...]:
    """The experiments in which anything of ours was tried, in report order."""
    tried = {cell.experiment for cell in cells if cell.is_run}
    return tuple(experiment for experiment in TITLES if experiment in tried)


def method_names(rows: Iterable[EpisodeRow]) -> dict[_Variant, str]:
    """Name each variant: the agent, and its model or mode only where these differ."""
    variants = sorted({(row.agent, row.model, row.mode) for row in rows})
    names = {}
    for agent, model, mode in variants:
        own = [variant for variant in variants if variant[0] == agent]
        parts = [model] if len({variant[1] for variant in own}) > 1 else []
        parts += [mode] if len({variant[2] for variant in own}) > 1 else []
        names[agent, model, mode] = f"{agent} ({', '.join(parts)})" if parts else agent
    return names


def main_reserves(rows: Iterable[EpisodeRow]) -> dict[tuple[object, ...], int]:
    """Which reserve stands for a two-thread agent where several were tried.

    Averaging over reserves would mix different agents, so a table outside the sweep shows one:
    that which was run at most loads, then in most episodes, then the nearest to the usual one.
    """
    loads: dict[tuple[object, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    episodes: dict[tuple[object, ...], Counter[int]] = defaultdict(Counter)
    for row in rows:
        if row.reserve is not None:
            loads[_pressure_key(row)][row.reserve].add(row.difficulty)
            episodes[_pressure_key(row)][row.reserve] += 1
    return {
        key: max(tried, key=lambda r: (len(tried[r]), episodes[key][r], -abs(r - USUAL_RESERVE), r))
        for key, tried in loads.items()
    }


def _pressure_key(row: EpisodeRow) -> tuple[object, ...]:
    pressure = (row.clock, row.tokens_per_step, row.seconds_per_step)
    return (row.agent, row.model, row.mode, row.game, *pressure)


_Group = tuple[Experiment, Condition, _Variant]


def _grouped(rows: Sequence[EpisodeRow]) -> dict[_Group, list[EpisodeRow]]:
    """Put every episode into the cells that it serves; into a custom one if it serves none."""
    main = main_reserves(rows)
    swept = _swept(rows)
    present = present_experiments(rows)
    groups: dict[_Group, list[EpisodeRow]] = defaultdict(list)
    for row in rows:
        is_main = row.reserve is None or main[_pressure_key(row)] == row.reserve
        served = [e for e in present if is_main and is_part(row, e)]
        for experiment in served:
            groups[experiment, condition_of(row), _variant(row)].append(row)
        if is_part(row, "reserve") and _pressure_key(row) in swept:
            groups["reserve", condition_of(row, row.reserve), _variant(row)].append(row)
        elif not served:
            own = None if is_main else row.reserve
            experiment = "custom" if row.clock == "token" else row.clock
            groups[experiment, condition_of(row, own), _variant(row)].append(row)
    return groups


def _swept(rows: Iterable[EpisodeRow]) -> set[tuple[object, ...]]:
    """Where more than one reserve was tried under the sweep's condition."""
    tried: dict[tuple[object, ...], set[int | None]] = defaultdict(set)
    for row in rows:
        if is_part(row, "reserve"):
            tried[_pressure_key(row)].add(row.reserve)
    return {key for key, reserves in tried.items() if len(reserves) > 1}


def _variant(row: EpisodeRow) -> _Variant:
    return (row.agent, row.model, row.mode)


def _cell(
    experiment: Experiment,
    condition: Condition,
    variant: _Variant,
    rows: Sequence[EpisodeRow],
    method: str,
) -> Cell:
    scores = [score(row.game, row.score) for row in rows if row.score is not None]
    return Cell(
        experiment=experiment,
        condition=condition,
        agent=variant[0],
        method=method,
        score=_estimate([clusters_of(rows)], condition, variant, "score"),
        raw=_estimate([clusters_of(rows, raw=True)], condition, variant, "raw"),
        ok=len(scores),
        failed=len(rows) - len(scores),
        above_one=sum(one.is_above_one for one in scores),
        stand_in=any(row.stand_in for row in rows),
        published=look_up(experiment, condition, variant[0]),
        rows=tuple(rows),
    )


def clusters_of(rows: Iterable[EpisodeRow], *, raw: bool = False) -> dict[int, list[float]]:
    """The scores of the episodes that ended well, by game seed, in a fixed order."""
    clusters: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: (row.game_seed, row.sample, row.sha256)):
        if row.score is not None:
            value = row.score if raw else score(row.game, row.score).normalised
            clusters.setdefault(row.game_seed, []).append(value)
    return clusters


def _estimate(
    groups: Sequence[Mapping[int, list[float]]],
    condition: Condition,
    variant: _Variant,
    metric: str,
) -> Estimate | None:
    """Estimate with chance of its own, so that no other cell shifts this one's interval."""
    if not all(groups):
        return None
    rng = child(0, "interval", condition.text, *variant, metric)
    return bootstrap_grand_mean([list(group.values()) for group in groups], rng=rng)


def _means(cells: Iterable[Cell]) -> list[Cell]:
    """Average over the three games, where all three have a score (paper, Figure 1)."""
    by_place: dict[_Group, dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        if cell.rows and cell.condition.reserve is None:
            mean, game = mean_over_games(cell.condition), cell.condition.game
            by_place[cell.experiment, mean, _variant(cell.rows[0])][game] = cell
    return [
        _mean_cell(experiment, mean, variant, [parts[game] for game in GAMES])
        for (experiment, mean, variant), parts in by_place.items()
        if all(game in parts and parts[game].score for game in GAMES)
    ]


def _mean_cell(
    experiment: Experiment, mean: Condition, variant: _Variant, parts: Sequence[Cell]
) -> Cell:
    return Cell(
        experiment=experiment,
        condition=mean,
        agent=variant[0],
        method=parts[0].method,
        score=_estimate([clusters_of(part.rows) for part in parts], mean, variant, "score"),
        raw=None,
        ok=sum(part.ok for part in parts),
        failed=sum(part.failed for part in parts),
        above_one=sum(part.above_one for part in parts),
        stand_in=any(part.stand_in for part in parts),
        published=look_up(experiment, mean, variant[0]),
    )


def _not_run(entry: Published) -> Cell:
    return Cell(
        experiment=entry.experiment,
        condition=entry.condition,
        agent=entry.agent,
        method=entry.agent,
        score=None,
        raw=None,
        ok=0,
        failed=0,
        above_one=0,
        stand_in=None,
        published=entry,
    )
