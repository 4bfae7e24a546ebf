"""All numbers of ProActor as rows of the shape that all suites share, the published ones too."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from timeful.domains.dialogue_set import DialogueSource
from timeful.metrics.proactor.spread import Spread
from timeful.reports.results import ResultRow
from timeful.suites.proactor.further import FURTHER, alike_runs, further, of_references
from timeful.suites.proactor.judging import Bench
from timeful.suites.proactor.numbers import COLUMNS, Cell, main_cells, ranking
from timeful.suites.proactor.published import PUBLISHED, SOURCE, nearest_data
from timeful.suites.proactor.rows import ProactorRow
from timeful.suites.proactor.spec import NAME
from timeful.suites.proactor.words import TIMINGS, tokens_a_second


class EpisodeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row as a spreadsheet reads it: means over its scored turns, and no nested values."""

    key: str
    part: str
    agent: str
    who: str
    stand_in: bool
    timing: str
    token_ns: int
    run: int
    dialogue: str
    subflow: str
    synthetic: bool
    status: str
    error: str | None
    turns: int
    scored: int
    lost: int
    lost_late: int
    empty: int
    late: int
    tokens: int
    ended_s: float
    ac: float | None
    max_ac: float | None
    pt: float | None
    ftr: float | None
    rar: float | None
    sha256: str


def episode_lines(rows: Sequence[ProactorRow]) -> list[EpisodeLine]:
    """The rows of a run, flat."""
    means = [name for name in COLUMNS if name != "difference"]
    kept = [name for name in EpisodeLine.__struct_fields__ if name not in means]
    found = []
    for row in rows:
        values: dict[str, Any] = {name: getattr(row, name) for name in kept}
        for name in means:
            values[name] = row.sums[name] / row.scored if row.scored else None
        found.append(EpisodeLine(**values))
    return found


def result_rows(cells: Sequence[Cell], source: DialogueSource, bench: Bench) -> list[ResultRow]:
    """All numbers, and below them the published ones of models that were not run here."""
    return [
        *(row for cell in cells for row in _cell(cell, source)),
        *_of_main(main_cells(cells), source, bench),
        *_references(main_cells(cells), source),
        *_published(nearest_data(source.title)),
    ]


def _cell(cell: Cell, source: DialogueSource) -> Iterator[ResultRow]:
    for name, found in cell.numbers.items():
        yield _row(cell, source, COLUMNS[name], found)
    for name in ("lost", "lost_late", "late", "empty"):
        yield _row(cell, source, f"{name.replace('_', ' ')} turns", cell.share(name))
    for name in ("ac", "pt"):
        yield _row(cell, source, f"{COLUMNS[name]}, a lost turn as 0", cell.of_all(name))


def _of_main(cells: Sequence[Cell], source: DialogueSource, bench: Bench) -> Iterator[ResultRow]:
    ranked, more = ranking(cells), further(cells)
    group = f"PRI in the group {'; '.join(sorted(ranked))}"
    for cell in cells:
        pri = ranked.get(cell.title)
        if pri is not None:
            yield _row(cell, source, group, Spread(mean=pri.pri, std=None, n=len(ranked)))
        for name, title in FURTHER.items():
            by = " by tfidf" if name == "ic" else ""
            yield _row(cell, source, title + by, more[cell.title][name])
        for one in bench.judged.get(cell.title, ()):
            yield _row(cell, source, f"PR by {one.judge} ({one.model})", one.spread)
        alike = alike_runs(cell)
        if alike is not None:
            for title, value in (
                ("means", alike.final),
                ("by conversation", alike.trajectory),
                ("combined", alike.combined),
            ):
                found = None if value is None else Spread(mean=value, std=None, n=len(cell.runs))
                yield _row(cell, source, f"run-to-run consistency, {title}", found)


def _references(cells: Sequence[Cell], source: DialogueSource) -> Iterator[ResultRow]:
    for one in of_references(cells):
        for metric, value, n in (
            (f"EC, sigma {one.sigma}", one.action_level, one.n_actions),
            (f"EC by dialogue, sigma {one.sigma}", one.dialogue_mean, one.n_dialogues),
        ):
            yield ResultRow(
                suite=NAME,
                experiment=f"references: {source.title}",
                setting="unmatched actions left out",
                method="the references",
                metric=metric,
                value=value,
                low=None,
                high=None,
                n=n,
                published=None,
                source=None,
                stand_in=None,
            )


def _row(cell: Cell, source: DialogueSource, metric: str, found: Spread | None) -> ResultRow:
    pace = "" if cell.timing == "by-turn" else f", {tokens_a_second(cell)} tokens/s"
    return ResultRow(
        suite=NAME,
        experiment=f"{cell.part}: {source.title}",
        setting=TIMINGS[cell.timing] + pace,
        method=cell.title,
        metric=metric,
        value=None if found is None else found.mean,
        low=None,
        high=None,
        n=0 if found is None else found.n,
        published=None,
        source=None,
        stand_in=cell.stand_in,
        spread=None if found is None else found.std,
    )


def _published(data: str) -> Iterator[ResultRow]:
    for row in PUBLISHED[data]:
        numbers: Mapping[str, float] = {"pri": row.pri, **row.means}
        for name, value in numbers.items():
            yield ResultRow(
                suite=NAME,
                experiment=f"published: {data}",
                setting="test split",
                method=row.name,
                metric="PRI in the paper's group" if name == "pri" else COLUMNS[name],
                value=None,
                low=None,
                high=None,
                n=0,
                published=value,
                source=SOURCE,
                stand_in=None,
                spread=row.stds.get(name),
            )
