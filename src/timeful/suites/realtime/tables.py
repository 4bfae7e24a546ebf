"""Tables: cells laid out as grids, as plain text, and as the rows of `results.json`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from timeful.metrics.statistics import Estimate
from timeful.records.rows import EpisodeRow
from timeful.reports.results import ResultRow
from timeful.suites.realtime.cells import Cell, make_cells, run_experiments
from timeful.suites.realtime.comparisons import Comparison
from timeful.suites.realtime.conditions import (
    TITLES,
    Condition,
    Experiment,
    agent_order,
)

SUITE = "realtime"
STAND_IN = "Stand-in: search reasoner, no language model was run."
THEIRS = "[theirs]: published for other models, so not a target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """One experiment and game: methods down, conditions across, cells where there are any."""

    experiment: Experiment
    game: str
    columns: tuple[Condition, ...]
    methods: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    @property
    def title(self) -> str:
        """What the grid shows."""
        return f"{TITLES[self.experiment]}: {self.game}"

    @property
    def is_full(self) -> bool:
        """Whether an absent cell is one that was not run, rather than one nobody planned."""
        return self.experiment not in ("wall", "paced", "reserve", "custom")

    @property
    def usual_n(self) -> int:
        """How many episodes most cells of ours hold; 0 if none ended well."""
        counts = Counter(cell.ok for cell in self.cells.values() if cell.ok)
        return max(counts, key=lambda n: (counts[n], n), default=0)

    def is_run(self, method: str) -> bool:
        """Whether anything of ours was tried with a method."""
        return any(cell.is_run for (name, _), cell in self.cells.items() if name == method)

    def at(self, method: str, column: Condition) -> Cell | None:
        """The cell of a method under a column's condition."""
        return self.cells.get((method, column.column))


def make_grids(cells: Sequence[Cell]) -> list[Grid]:
    """Lay out every experiment and game in which anything of ours was tried."""
    return [
        _grid(experiment, part)
        for experiment in run_experiments(cells)
        for part in _by_game(cell for cell in cells if cell.experiment == experiment)
        if any(cell.is_run for cell in part)
    ]


def _by_game(cells: Iterable[Cell]) -> list[list[Cell]]:
    games: dict[str, list[Cell]] = {}
    for cell in cells:
        games.setdefault(cell.condition.game, []).append(cell)
    return list(games.values())


def _grid(experiment: Experiment, cells: Sequence[Cell]) -> Grid:
    columns = {cell.condition.column: cell.condition for cell in cells}
    methods = {cell.method: cell.agent for cell in cells}
    return Grid(
        experiment=experiment,
        game=cells[0].condition.game,
        columns=tuple(sorted(columns.values(), key=lambda condition: condition.order)),
        methods=tuple(sorted(methods, key=lambda name: (agent_order(methods[name]), name))),
        cells={(cell.method, cell.condition.column): cell for cell in cells},
    )


_WIDTH = 80
_NAME = 17
_ENTRY = 16
_ACROSS = (_WIDTH - _NAME + 1) // _ENTRY


def text_table(rows: Iterable[EpisodeRow]) -> str:
    """The results as plain text of at most 80 columns, for the end of a run.

    Methods that were not run are left out; the report has them, with the published numbers.
    """
    cells = make_cells(rows)
    grids = make_grids(cells)
    if not grids:
        return "No episodes: there is nothing to show.\n"
    blocks = [block for grid in grids for block in _blocks(grid)]
    return "\n\n".join([*blocks, "\n".join(_legend(cells))]) + "\n"


def _legend(cells: Sequence[Cell]) -> list[str]:
    lines = [
        "Normalised scores, with half of the 95 % interval over game seeds.",
        f"{THEIRS}.",
    ]
    if any(cell.score and cell.score.low is None for cell in cells):
        lines.append("±?: one game seed only, which gives no interval.")
    if any(cell.above_one for cell in cells):
        lines.append("*: some episodes score above 1, more than the paper's authors ever saw.")
    if any(cell.stand_in for cell in cells):
        lines.append(STAND_IN)
    return lines


def _blocks(grid: Grid) -> list[str]:
    """One grid as text, cut into as many blocks as its columns need."""
    starts = range(0, len(grid.columns), _ACROSS)
    return [_block(grid, grid.columns[start : start + _ACROSS]) for start in starts]


def _block(grid: Grid, columns: Sequence[Condition]) -> str:
    heads = [column.label(grid.experiment) for column in columns]
    usual = f" (n={grid.usual_n})" if grid.usual_n else ""
    lines = [f"{grid.title}{usual}", _line("", heads)]
    for method in grid.methods:
        if not grid.is_run(method):
            continue
        cells = [grid.at(method, column) for column in columns]
        entries = [text_entry(cell, is_expected=grid.is_full) for cell in cells]
        if any(entry != "-" for entry in entries):
            if len(method) >= _NAME:
                lines.append(method)
            lines.append(_line(method if len(method) < _NAME else "", entries))
            remarks = [_remark(cell, grid.usual_n) for cell in cells]
            lines += [_line("", remarks)] if any(remarks) else []
    return "\n".join(lines)


def _line(name: str, entries: Iterable[str]) -> str:
    return (name.ljust(_NAME) + "".join(entry.ljust(_ENTRY) for entry in entries)).rstrip()


def text_entry(cell: Cell | None, *, is_expected: bool = True) -> str:
    """One cell in at most 15 characters, such as "0.52±.04 [0.84]"."""
    if cell is None:
        return "not run" if is_expected else "-"
    theirs = f"[{cell.published.value:.2f}]" if cell.published else ""
    if cell.score is None:
        return f"{'failed' if cell.failed else 'not run'} {theirs}".rstrip()
    mark = "*" if cell.above_one else " "
    return f"{cell.score.mean:.2f}{half_width(cell.score)}{mark}{theirs}".rstrip()


def half_width(estimate: Estimate) -> str:
    """Half of an interval, such as "±.04"; "±?" where there is none."""
    if estimate.low is None or estimate.high is None:
        return "±?"
    text = f"{(estimate.high - estimate.low) / 2:.2f}"
    return "±" + text.removeprefix("0")


def _remark(cell: Cell | None, usual: int) -> str:
    """What a cell's number of episodes needs said, if anything."""
    if cell is None or not cell.is_run or (cell.ok == usual and not cell.failed):
        return ""
    failed = f", {cell.failed} bad" if cell.failed else ""
    return f"n={cell.ok}{failed}"


def result_rows(cells: Iterable[Cell], comparisons: Iterable[Comparison]) -> list[ResultRow]:
    """All numbers as rows of one shape: scores, raw returns and p-values, published ones too."""
    rows = []
    for cell in cells:
        rows.append(_score_row(cell))
        if cell.raw is not None:
            rows.append(_raw_row(cell, cell.raw))
    for comparison in comparisons:
        rows += _p_rows(comparison)
    return rows


def _score_row(cell: Cell) -> ResultRow:
    return ResultRow(
        suite=SUITE,
        experiment=cell.experiment,
        setting=cell.condition.text,
        method=cell.method,
        metric="score",
        value=cell.score.mean if cell.score else None,
        low=cell.score.low if cell.score else None,
        high=cell.score.high if cell.score else None,
        n=cell.ok,
        published=cell.published.value if cell.published else None,
        source=cell.published.source if cell.published else None,
        stand_in=cell.stand_in,
    )


def _raw_row(cell: Cell, raw: Estimate) -> ResultRow:
    return ResultRow(
        suite=SUITE,
        experiment=cell.experiment,
        setting=cell.condition.text,
        method=cell.method,
        metric="raw",
        value=raw.mean,
        low=raw.low,
        high=raw.high,
        n=raw.n,
        published=None,
        source=None,
        stand_in=cell.stand_in,
    )


def _p_rows(comparison: Comparison) -> list[ResultRow]:
    values = {"p_t": comparison.p_t, "p_permutation": comparison.p_permutation}
    return [
        ResultRow(
            suite=SUITE,
            experiment=comparison.experiment,
            setting=comparison.condition.text,
            method=comparison.method,
            metric=metric,
            value=value,
            low=None,
            high=None,
            n=comparison.pairs,
            published=None,
            source=None,
            stand_in=comparison.stand_in,
        )
        for metric, value in values.items()
    ]


def short_p(p: float | None) -> str:
    """A p-value in few characters; "undef." where its test is undefined."""
    if p is None:
        return "undef."
    if p < 0.001:
        return "<.001"
    return f"{p:.3f}".removeprefix("0")


def used_reserves(cells: Iterable[Cell]) -> tuple[tuple[str, str, str, str], ...]:
    """Method, pressure, budget and games of each two-thread agent, outside the sweep."""
    used: dict[tuple[str, str, str], dict[str, None]] = {}
    for cell in cells:
        if cell.condition.reserve is None:
            for row in cell.rows:
                if row.reserve is not None:
                    unit = "tokens" if row.clock == "token" else "ms"
                    key = (cell.method, cell.condition.pressure, f"{row.reserve} {unit}")
                    used.setdefault(key, {})[row.game] = None
    return tuple((*key, ", ".join(games)) for key, games in used.items())
