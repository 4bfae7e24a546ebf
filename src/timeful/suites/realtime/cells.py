"""From episodes to cells: scores for each experiment, condition and method, and paired tests.

Intervals are percentile intervals of a bootstrap that draws game seeds, then samples within them.
AgileThinker is compared with each single paradigm by paired tests over game seeds (Real-Time
Reasoning Gym, App. C.2): each score is the mean over a seed's samples, and H1 says that the mean
difference is positive.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from timeful.metrics.statistics import (
    Estimate,
    bootstrap_grand_mean,
    paired_t_test,
    permutation_test,
)
from timeful.records.rows import EpisodeRow
from timeful.reports.cube import CellName, make_cell
from timeful.reports.published import Published, Reference, load_reference
from timeful.reports.results import ResultRow, Scalar
from timeful.seeding import child
from timeful.suites.realtime.conditions import (
    MEAN,
    TITLES,
    USUAL_RESERVE,
    Condition,
    Experiment,
    agent_order,
    condition_of,
    is_part,
    present_experiments,
)
from timeful.suites.realtime.scores import GAMES, normalise

SUITE = "realtime"
BETTER = "agile"
BASELINES = ("reactive", "planning")

REFERENCE = load_reference(Path(__file__).with_name("published.toml"))

Variant = tuple[str, str, str]
"""Agent, model and mode: episodes that differ in one of them are never averaged."""

Group = tuple[Experiment, Condition, Variant]


def _with_averages(reference: Reference) -> Reference:
    """Add the averages of published scores over games."""
    games: dict[tuple[tuple[str, Scalar], ...], list[Published]] = defaultdict(list)
    for number in reference.numbers:
        if number.where["experiment"] != "reduced":
            games[tuple({**number.where, "game": MEAN}.items())].append(number)
    averages = (
        replace(
            numbers[0],
            where=dict(where),
            value=sum(number.value for number in numbers) / len(numbers),
            source=f"{numbers[0].source}; averaged over the games by us",
        )
        for where, numbers in games.items()
    )
    return replace(reference, numbers=(*reference.numbers, *averages))


COMPARED = _with_averages(REFERENCE)
"""The published scores, averages over games included."""


def make_cells(rows: Sequence[EpisodeRow]) -> list[ResultRow]:
    """Compute all cells, averages over games and paired tests, and list published ones not run.

    The same episodes give the same cells, whatever else was run.
    """
    groups = group_rows(rows)
    methods = method_names(rows)
    games = {group: [members] for group, members in groups.items()} | _over_games(groups)
    cells = [
        cell
        for (experiment, condition, variant), members in games.items()
        for cell in _score_cells(experiment, condition, variant, members, methods)
    ]
    cells += _not_run(cells)
    experiments = list(TITLES)
    cells.sort(key=lambda cell: experiments.index(cell.experiment))  # type: ignore[arg-type]
    return [*cells, *_tests(groups, methods)]


def method_names(rows: Iterable[EpisodeRow]) -> dict[Variant, str]:
    """Name each variant: the agent, and its model or mode only where these differ."""
    variants = sorted({_variant(row) for row in rows})
    names = {}
    for agent, model, mode in variants:
        siblings = [variant for variant in variants if variant[0] == agent]
        differences = [model] if len({variant[1] for variant in siblings}) > 1 else []
        differences += [mode] if len({variant[2] for variant in siblings}) > 1 else []
        names[agent, model, mode] = f"{agent} ({', '.join(differences)})" if differences else agent
    return names


def main_reserves(rows: Iterable[EpisodeRow]) -> dict[tuple[object, ...], int]:
    """The reserve that a two-thread agent is shown with where several were tried.

    Averaging over reserves would mix different agents. A table outside the sweep shows the one
    that was run at most loads, then in most episodes, then the nearest to the usual one.
    """
    loads: dict[tuple[object, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    episodes: dict[tuple[object, ...], Counter[int]] = defaultdict(Counter)
    for row in rows:
        if row.reserve is not None:
            loads[_pressure_key(row)][row.reserve].add(row.difficulty)
            episodes[_pressure_key(row)][row.reserve] += 1
    return {
        key: max(
            reserves,
            key=lambda r: (len(reserves[r]), episodes[key][r], -abs(r - USUAL_RESERVE), r),
        )
        for key, reserves in loads.items()
    }


def _pressure_key(row: EpisodeRow) -> tuple[object, ...]:
    pressure = (row.clock, row.tokens_per_step, row.seconds_per_step)
    return (row.agent, row.model, row.mode, row.game, *pressure)


def group_rows(rows: Sequence[EpisodeRow]) -> dict[Group, list[EpisodeRow]]:
    """Put each episode into the cells that it serves, or into a custom one; cells in order."""
    main, swept, present = main_reserves(rows), _swept(rows), present_experiments(rows)
    groups: dict[Group, list[EpisodeRow]] = defaultdict(list)
    for row in rows:
        is_main = row.reserve is None or main[_pressure_key(row)] == row.reserve
        experiments = [e for e in present if is_main and is_part(row, e)]
        for experiment in experiments:
            groups[experiment, condition_of(row), _variant(row)].append(row)
        if is_part(row, "reserve") and _pressure_key(row) in swept:
            groups["reserve", condition_of(row, row.reserve), _variant(row)].append(row)
        elif not experiments:
            reserve = None if is_main else row.reserve
            experiment = "custom" if row.clock == "token" else row.clock
            groups[experiment, condition_of(row, reserve), _variant(row)].append(row)
    ordered = sorted(groups, key=lambda g: (g[1].order, agent_order(g[2][0]), g[2]))
    return {group: groups[group] for group in ordered}


def _swept(rows: Iterable[EpisodeRow]) -> set[tuple[object, ...]]:
    """Where several reserves were tried under the sweep's condition."""
    reserves: dict[tuple[object, ...], set[int | None]] = defaultdict(set)
    for row in rows:
        if is_part(row, "reserve"):
            reserves[_pressure_key(row)].add(row.reserve)
    return {key for key, values in reserves.items() if len(values) > 1}


def _variant(row: EpisodeRow) -> Variant:
    return (row.agent, row.model, row.mode)


def _over_games(
    groups: Mapping[Group, Sequence[EpisodeRow]],
) -> dict[Group, list[list[EpisodeRow]]]:
    """The groups of the three games, where all three have a score (paper, Figure 1)."""
    games: dict[Group, dict[str, list[EpisodeRow]]] = defaultdict(dict)
    for (experiment, condition, variant), rows in groups.items():
        if condition.reserve is None:
            games[experiment, replace(condition, game=MEAN), variant][condition.game] = list(rows)
    return {
        group: [rows_by_game[game] for game in GAMES]
        for group, rows_by_game in games.items()
        if all(any(row.score is not None for row in rows_by_game.get(game, ())) for game in GAMES)
    }


def clusters(rows: Iterable[EpisodeRow], *, raw: bool = False) -> dict[int, list[float]]:
    """The scores of the episodes without a failure, by game seed, in a fixed order."""
    scores: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: (row.game_seed, row.sample, row.sha256)):
        if row.score is not None:
            value = row.score if raw else normalise(row.game, row.score)
            scores.setdefault(row.game_seed, []).append(value)
    return scores


def _score_cells(
    experiment: Experiment,
    condition: Condition,
    variant: Variant,
    games: Sequence[Sequence[EpisodeRow]],
    methods: Mapping[Variant, str],
) -> Iterator[ResultRow]:
    """The score of a group of episodes, and its raw return if it is of a single game."""
    rows = [row for game_rows in games for row in game_rows]

    def cell(metric: str, estimate: Estimate | None) -> ResultRow:
        return make_cell(
            estimate,
            suite=SUITE,
            metric=metric,
            where=_where(experiment, condition, variant[0], methods[variant]),
            name=CellName(experiment=experiment, setting=condition.text, method=methods[variant]),
            members=rows,
            reference=COMPARED,
        )

    score = [clusters(game_rows) for game_rows in games]
    yield cell("score", _estimate(score, condition, variant, "score"))
    raw = [clusters(game_rows, raw=True) for game_rows in games]
    if len(games) == 1 and all(raw):
        yield cell("raw", _estimate(raw, condition, variant, "raw"))
    if experiment == "reserve":
        share = cell("calls not cut", None)
        yield msgspec.structs.replace(share, value=_calls_not_cut(rows))


def _calls_not_cut(rows: Sequence[EpisodeRow]) -> float | None:
    """The share of reactive calls that ended within their budget."""
    calls = sum(len(row.reactor_tokens) for row in rows)
    return 1 - sum(row.reactor_cut for row in rows) / calls if calls else None


def _where(
    experiment: Experiment, condition: Condition, agent: str, method: str
) -> dict[str, Scalar]:
    return {
        "experiment": experiment,
        "game": condition.game,
        "method": method,
        "condition": condition.reserve or condition.label(experiment),
        "agent": agent,
        "difficulty": condition.difficulty,
        "tokens_per_step": condition.tokens_per_step,
        "seconds_per_step": condition.seconds_per_step,
        "reserve": condition.reserve,
    }


def _estimate(
    games: Sequence[Mapping[int, list[float]]],
    condition: Condition,
    variant: Variant,
    metric: str,
) -> Estimate | None:
    """Estimate with a generator of its own, so that no other cell changes the interval."""
    if not all(games):
        return None
    rng = child(0, "interval", condition.text, *variant, metric)
    return bootstrap_grand_mean([list(game_clusters.values()) for game_clusters in games], rng=rng)


def _not_run(cells: Sequence[ResultRow]) -> Iterator[ResultRow]:
    run = {(cell.experiment, cell.setting, cell.where["agent"]) for cell in cells}
    for number in COMPARED.numbers:
        where: dict[str, Any] = dict(number.where)
        experiment, agent = where.pop("experiment"), where.pop("agent")
        condition = Condition(**where)
        if (experiment, condition.text, agent) not in run:
            yield ResultRow(
                suite=SUITE,
                experiment=experiment,
                setting=condition.text,
                method=agent,
                metric="score",
                published=number.value,
                source=number.source,
                where=_where(experiment, condition, agent, agent),
            )


# --- paired tests ---------------------------------------------------------------------------------


def _tests(
    groups: Mapping[Group, Sequence[EpisodeRow]], methods: Mapping[Variant, str]
) -> Iterator[ResultRow]:
    """Compare AgileThinker with each single paradigm, wherever both were run.

    Variants are compared within one mode; with several models, the baseline of the same model is
    taken, or the only one there is.
    """
    compared: set[tuple[Condition, str]] = set()
    for (experiment, condition, variant), rows in groups.items():
        if variant[0] != BETTER:
            continue
        for baseline in BASELINES:
            baselines = [
                (baseline_variant, members)
                for (e, c, baseline_variant), members in groups.items()
                if (e, c, baseline_variant[0], baseline_variant[2])
                == (experiment, condition, baseline, variant[2])
            ]
            same = [pair for pair in baselines if pair[0][1] == variant[1]] or baselines
            if len(same) == 1:
                baseline_variant, members = same[0]
                names = methods[variant], methods[baseline_variant]
                for cell in _test(experiment, condition, names, rows, members):
                    cell.where.update(
                        baseline=baseline, is_first=(condition, cell.method) not in compared
                    )
                    yield cell
                compared.add((condition, f"{names[0]} vs {names[1]}"))


def _test(
    experiment: Experiment,
    condition: Condition,
    names: tuple[str, str],
    agile_rows: Sequence[EpisodeRow],
    baseline_rows: Sequence[EpisodeRow],
) -> Iterator[ResultRow]:
    """Test one pair of groups; nothing if they share no game seed."""
    first, second = clusters(agile_rows), clusters(baseline_rows)
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return
    a, b = [fmean(first[seed]) for seed in seeds], [fmean(second[seed]) for seed in seeds]
    rng = child(0, "permutation", condition.text, *names)
    t_test, flips = paired_t_test(a, b), permutation_test(a, b, rng=rng)
    are_copies = is_copy(agile_rows[0])
    method = f"{names[0]} vs {names[1]}"
    where = _where(experiment, condition, BETTER, method)
    where["are_copies"] = are_copies
    values = {
        "difference": fmean(a) - fmean(b),
        "p_t": t_test.p,
        # Copies without noise are one pair counted several times, which is no evidence.
        "p_permutation": None if are_copies and t_test.p is None else flips.p,
    }
    for metric, value in values.items():
        yield ResultRow(
            suite=SUITE,
            experiment=experiment,
            setting=condition.text,
            method=method,
            metric=metric,
            value=value,
            n=len(seeds),
            stand_in=any(row.stand_in for row in (*agile_rows, *baseline_rows)),
            where=dict(where),
        )


def is_copy(row: EpisodeRow) -> bool:
    """Whether all game seeds of an episode's game are one game: Overcooked in compat mode."""
    return row.game == "overcooked" and row.mode == "compat"
