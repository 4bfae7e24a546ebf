"""The report of the real-time suite: a page, the numbers behind it, and the episodes."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from timeful.records.rows import EpisodeRow
from timeful.reports.html import render
from timeful.reports.page import Block, Figure, Paragraph, Section
from timeful.reports.results import save_report
from timeful.suites.realtime import sections
from timeful.suites.realtime.cells import Cell, make_cells
from timeful.suites.realtime.comparisons import Comparison, compare
from timeful.suites.realtime.conditions import MEAN, TITLES, Experiment
from timeful.suites.realtime.published import PUBLISHED
from timeful.suites.realtime.tables import Grid, make_grids, result_rows

TITLE = "timeful: the real-time suite"


def write_report(rows: Iterable[EpisodeRow], out: Path, settings: Mapping[str, object]) -> Path:
    """Write `report.html`, `results.json`, `table.csv` and `episodes.csv`.

    Any episodes will do: a few, only failures, or none; what is missing is said to be. The same
    episodes give the same bytes.

    Args:
        rows: The episodes of a run, in any order.
        out: Where the files go; made if needed.
        settings: What the run was asked for, by name, as the page shows it.

    Returns:
        The path of the page.
    """
    episodes = sorted(dict.fromkeys(rows), key=_order)
    cells = make_cells(episodes)
    comparisons = compare(cells)
    page = render(
        title=TITLE,
        subtitle="Real-Time Reasoning Gym: ours beside the published numbers",
        sections=_sections(episodes, cells, comparisons, settings),
    )
    return save_report(out, page, result_rows(cells, comparisons), episodes, EpisodeRow)


def _order(row: EpisodeRow) -> tuple[object, ...]:
    """An order of episodes that does not depend on when each was done."""
    place = (row.game, row.difficulty, row.agent, row.model, row.mode, row.clock)
    pressure = (row.tokens_per_step or 0, row.seconds_per_step or 0, row.reserve or 0)
    return (*place, *pressure, row.game_seed, row.sample, row.sha256)


def _sections(
    rows: Sequence[EpisodeRow],
    cells: Sequence[Cell],
    comparisons: Sequence[Comparison],
    settings: Mapping[str, object],
) -> list[Section]:
    made = [sections.what_was_run(rows, settings)]
    grids = make_grids(cells)
    if any(cell.score is not None for cell in cells):
        made.append(_headline(grids))
        made += _experiments(grids, cells)
    if comparisons:
        made += _significance(comparisons)
    if any(row.status == "ok" and row.turns for row in rows):
        made.append(Section("How time was used", (sections.time_table(rows),)))
    failed = sections.failures(rows)
    made += [failed] if failed else []
    shown = {grid.experiment for grid in grids}
    left = sections.not_run(entry for entry in PUBLISHED if entry.experiment not in shown)
    return [*made, *([left] if left else []), sections.notes(rows, cells)]


def _headline(grids: Sequence[Grid]) -> Section:
    """The averages over games, which the paper shows first too."""
    means = [grid for grid in grids if grid.game == MEAN]
    blocks: list[Block] = [
        Paragraph(
            "Normalised scores averaged over the three games, as in the paper's Figure 1: ours "
            "with its 95 % interval, and below it theirs, published for other models."
        )
    ]
    for grid in means:
        blocks.append(sections.grid_table(grid, caption=TITLES[grid.experiment]))
    if not means:
        blocks = [
            Paragraph(
                "No average over games: under no condition do all three games have a score. The "
                "games that were run stand below."
            )
        ]
    return Section("Averages over games", tuple(blocks))


def _experiments(grids: Sequence[Grid], cells: Sequence[Cell]) -> list[Section]:
    """A section for each experiment: its figure, then a table for each game."""
    made = []
    for experiment in dict.fromkeys(grid.experiment for grid in grids):
        own = [grid for grid in grids if grid.experiment == experiment and grid.game != MEAN]
        tables: list[Block] = [sections.grid_table(grid) for grid in own]
        made.append(Section(TITLES[experiment], (*_figures(experiment, cells), *tables)))
    return made


def _figures(experiment: Experiment, cells: Sequence[Cell]) -> list[Figure]:
    """Draw what the paper draws for an experiment, if there is anything of ours to draw."""
    # Heavy, and wanted only by those who write a report: everything else is pure numbers.
    from timeful.suites.realtime import figures  # noqa: PLC0415

    if experiment in ("load", "pressure", "pressure-hard"):
        image = figures.curves(cells, experiment)
        caption = (
            "Solid: ours, with 95 % intervals over game seeds. Dashed: theirs, published for "
            "other models. Methods are set side by side so that intervals stay readable."
        )
    elif experiment == "reserve":
        image = figures.reserve_sweep(cells)
        caption = (
            "Lines: scores under each budget. Shaded: the share of reactive calls that needed no "
            "more tokens than that, measured under the largest budget. The paper prints no "
            "numbers for this figure."
        )
    else:
        return []
    alt = f"{TITLES[experiment]}: normalised scores by game; the numbers are in the tables below"
    return [Figure(image=image, alt=alt, caption=caption)] if image else []


def _significance(comparisons: Sequence[Comparison]) -> list[Section]:
    from timeful.suites.realtime import figures  # noqa: PLC0415  (as above)

    image = figures.p_values(comparisons)
    blocks: list[Block] = []
    if image:
        alt = "p-values of AgileThinker's advantage by load and pressure; the table below has them"
        caption = "In each square: p of the paired t-test, and below it of the sign-flip test."
        blocks.append(Figure(image=image, alt=alt, caption=caption))
    blocks.append(sections.comparison_words(comparisons))
    table = sections.comparison_table(comparisons)
    return [
        Section("Is AgileThinker better?", tuple(blocks)),
        Section("All paired tests", (table,), is_folded=image is not None),
    ]
