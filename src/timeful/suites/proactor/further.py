"""What Table 1 leaves out: ATR, false triggers, FRR, AD, IC, and how alike the runs are."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from statistics import fmean

from timeful.errors import SettingsError
from timeful.metrics.proactor.alignment import Alignment, tally
from timeful.metrics.proactor.questions import Similarity, Tfidf, information_consistency
from timeful.metrics.proactor.repeatability import Repeatability, between_runs
from timeful.metrics.proactor.spread import Spread, over_runs
from timeful.suites.proactor.numbers import COLUMNS, Cell
from timeful.suites.proactor.rows import ProactorRow

FURTHER: Mapping[str, str] = {
    "atr": "ATR",
    "false_triggered": "false triggered",
    "frr": "FRR",
    "ad": "AD",
    "ic": "IC",
}
"""The further metrics, and what results call them."""

_COMPARED = tuple(name for name in COLUMNS if name != "difference")


def further(cells: Sequence[Cell]) -> dict[str, dict[str, Spread | None]]:
    """The further metrics over runs, by title; None where one is unknown."""
    similarity = similarity_of(cells)
    return {
        cell.title: {
            name: _asked(cell, similarity) if name == "ic" else cell.mean(name) for name in FURTHER
        }
        for cell in cells
    }


def similarity_of(cells: Iterable[Cell]) -> Tfidf | None:
    """Learnt from all reference questions, whoever asked; None if nobody did, or without extra."""
    pairs = [pair for cell in cells for row in cell.ok for pair in row.asked]
    corpus = sorted({text for _, theirs in pairs for text in theirs})
    if not corpus or not any(ours for ours, _ in pairs):
        return None
    try:
        return Tfidf(corpus)
    except SettingsError:
        return None


def _asked(cell: Cell, similarity: Similarity | None) -> Spread | None:
    """IC over runs, each the mean of its turns with questions on both sides."""
    if similarity is None:
        return None

    @cache
    def alike(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float | None:
        return information_consistency(ours, theirs, similarity)

    means = []
    for run in cell.runs:
        found = [alike(*pair) for row in run for pair in row.asked]
        scored = [value for value in found if value is not None]
        if scored:
            means.append(fmean(scored))
    return over_runs(means) if means else None


def alike_runs(cell: Cell) -> Repeatability | None:
    """How alike the runs of an agent are, over the means of Table 1; None for a single run."""
    names = [name for name in _COMPARED if cell.mean(name) is not None]
    runs = [rows for rows in cell.runs if any(row.scored for row in rows)]
    return between_runs([{name: _run(rows, name) for name in names} for rows in runs])


def _run(rows: Sequence[ProactorRow], name: str) -> tuple[float, dict[int, float]]:
    """A metric's mean in a run, and in each of its conversations."""
    scored = [row for row in rows if row.scored]
    count = sum(row.scored for row in scored)
    mean = sum(row.sums[name] for row in scored) / count
    return mean, {row.place: row.sums[name] / row.scored for row in scored}


def of_references(cells: Sequence[Cell]) -> list[Alignment]:
    """EC of the references of the conversations, each once; none where no action was observed."""
    by_place = {row.place: row.margins for cell in cells for row in cell.ok}
    if not any(by_place.values()):
        return []
    return tally(by_place[place] for place in sorted(by_place))
