"""All numbers of the embedded run as rows of the shape that all suites share."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from timeful.metrics.statistics import Estimate
from timeful.reports.results import ResultRow
from timeful.suites.timely.published import ABLATION as TABLE_3
from timeful.suites.timely.published import TABLE_3 as SOURCE_3
from timeful.training.quick import published
from timeful.training.quick.asked import SUITE, Asked
from timeful.training.quick.claim import one_ways, verdict
from timeful.training.quick.clock import blind, clock_verdict, grids, read_cells
from timeful.training.quick.scores import (
    Measure,
    Score,
    mean_of,
    over_seeds,
    standings,
)

_MEASURES: tuple[Measure, ...] = ("success", "accuracy", "on_time", "tokens")


def result_rows(asked: Asked, out: Path, scores: Sequence[Score]) -> list[ResultRow]:
    """Means over seeds, every seed by itself, the claim, and what was published."""
    return [
        *_over_seeds(scores),
        *_each(scores),
        *_collapses(scores),
        *_claim(asked, out, scores),
        *_clock(asked, out, scores),
        *([] if asked.fractions else _published(asked)),
    ]


def _over_seeds(scores: Sequence[Score]) -> Iterator[ResultRow]:
    groups: dict[tuple[float | None, str, str, str], list[Score]] = {}
    for one in scores:
        groups.setdefault((one.fraction, one.exam, one.model, one.budget), []).append(one)
    for found in groups.values():
        for measure in _MEASURES:
            yield _row(found[0], f"budget {found[0].budget}", measure, over_seeds(found, measure))


def _each(scores: Sequence[Score]) -> Iterator[ResultRow]:
    for one in scores:
        for measure in _MEASURES:
            value = float(getattr(one, measure))
            alone = Estimate(mean=value, low=None, high=None, n=one.count, clusters=1)
            yield _row(one, f"budget {one.budget}, seed {one.seed}", measure, alone)


def _row(one: Score, setting: str, metric: str, found: Estimate) -> ResultRow:
    share = "" if one.fraction is None else f"/fraction {one.fraction:g}"
    return _ours(one.exam + share, setting, one.model, metric, found)


def _ours(experiment: str, setting: str, method: str, metric: str, found: Estimate) -> ResultRow:
    return ResultRow(
        suite=SUITE,
        experiment=experiment,
        setting=setting,
        method=method,
        metric=metric,
        value=found.mean,
        low=found.low,
        high=found.high,
        n=found.n,
        published=None,
        source=None,
        stand_in=True,
    )


def _collapses(scores: Sequence[Score]) -> Iterator[ResultRow]:
    for one in standings(scores):
        first = one.scores[0]
        alone = Estimate(mean=float(bool(one.alarm)), low=None, high=None, n=1, clusters=1)
        yield _row(first, f"all budgets, seed {one.seed}", "collapsed", alone)


def _claim(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[ResultRow]:
    if asked.recipe.language.opening:
        return
    for one in one_ways(asked, out) if not asked.fractions else ():
        alone = Estimate(mean=one.success, low=None, high=None, n=1, clusters=1)
        method = f"always {one.tokens} tokens"
        yield _ours("graded", f"all budgets, seed {one.seed}", method, "success", alone)
    told = verdict(asked, out, scores)
    if told is None:
        return
    for name, seeds in (
        ("best", told.best),
        ("length follows the budget", told.follows),
        ("beats the best single way", told.beats),
    ):
        share = mean_of([float(seed in seeds) for seed in told.seeds], name)
        yield _ours("claim", "all budgets", told.aware, f"seeds: {name}", share)


def _clock(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[ResultRow]:
    """What the clock does, where there is one."""
    if not asked.recipe.language.opening:
        return
    cells = read_cells(asked, out)
    for grid in grids(asked, cells):
        for model, row in grid.rows.items():
            for setting, found in zip(grid.head, row, strict=True):
                if found is not None:
                    yield _ours(grid.key, setting, model, grid.measure, found)
    for seed, success in blind(asked, out).items():
        alone = Estimate(mean=success, low=None, high=None, n=1, clusters=1)
        yield _ours("graded", f"all budgets, seed {seed}", "no clock", "success", alone)
    told = clock_verdict(asked, out, scores, cells)
    if told is None:
        return
    for name, seeds in (
        ("most often on time", told.punctual),
        ("acts on the clock", told.heeds),
        ("believes a clock that lies", told.misled),
        ("beats the budget alone", told.beats),
    ):
        share = mean_of([float(seed in seeds) for seed in told.seeds], name)
        yield _ours("claim", "all budgets", told.timely, f"seeds: {name}", share)


def _published(asked: Asked) -> Iterator[ResultRow]:
    for name, row in published.ROWS.items() if not asked.recipe.language.opening else ():
        for i, tokens in enumerate(published.BUDGETS):
            for metric in ("success", "accuracy", "tokens"):
                value = getattr(row, metric)[i]
                setting = f"budget {tokens} tokens"
                yield _theirs("Table 25", setting, name, metric, value, published.TABLE_25)
    for name, columns in TABLE_3.items():
        for column, value in columns.items():
            yield _theirs("Table 3", f"budget 0.75x, {column}", name, "on time, %", value, SOURCE_3)


def _theirs(
    experiment: str, setting: str, method: str, metric: str, value: float, source: str
) -> ResultRow:
    return ResultRow(
        suite=SUITE,
        experiment=experiment,
        setting=setting,
        method=method,
        metric=metric,
        value=None,
        low=None,
        high=None,
        n=0,
        published=value,
        source=source,
        stand_in=None,
    )
