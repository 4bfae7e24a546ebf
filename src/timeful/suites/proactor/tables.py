"""The tables of ProActor as plain text of at most 80 columns, for the end of a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap

from timeful.domains.dialogue_set import DialogueSource
from timeful.metrics.proactor.tables import alignment_table
from timeful.suites.proactor.breakdowns import actions, subflows, timed
from timeful.suites.proactor.further import FURTHER, alike_runs, further, of_references
from timeful.suites.proactor.judging import NOBODY, Bench
from timeful.suites.proactor.numbers import (
    Cell,
    Distribution,
    curve_cells,
    has_all,
    main_cells,
    make_cells,
    ranking,
    ready_per_turn,
)
from timeful.suites.proactor.published import PUBLISHED, READY, nearest_data
from timeful.suites.proactor.rows import ProactorRow
from timeful.suites.proactor.words import WIDTH, condition, mean_of, remarks, text

HEADS = ("PRI", "AC", "MaxAC", "Diff", "PT", "FTR", "RAR")
READY_HEADS = ("turns", "mean", "std", "min", "25 %", "50 %", "75 %", "max")
_NAME, _ENTRY = 31, 7
_SHOWN = 4
"""So many published rows are printed, the best by PRI; all of them are in the report."""


def text_tables(
    rows: Sequence[ProactorRow], settings: Mapping[str, object], bench: Bench = NOBODY
) -> str:
    """All tables of a run and what is to be said about them.

    Args:
        rows: The episodes.
        settings: What they have in common, as the run's folder keeps it.
        bench: What judges said of them.
    """
    cells = make_cells(rows)
    source = source_of(settings)
    mine = main_cells(cells)
    best = the_best(mine)
    blocks: list[Iterable[str]] = [
        _table_1(mine, source),
        _further(mine, bench),
        _references(mine, source),
        _published(source),
        _ready(mine, source),
    ]
    if best is not None:
        why = "the best by PRI" if best.title in ranking(mine) else "the first"
        blocks += [actions(best, why), subflows(best, why)]
    blocks += [timed(cells), _wrapped(remarks(cells, settings)), _beyond(cells, settings, source)]
    return "\n\n".join("\n".join(block) for block in map(list, blocks) if block) + "\n"


def _beyond(
    cells: Sequence[Cell], settings: Mapping[str, object], source: DialogueSource
) -> Iterator[str]:
    """What else there is to see, and what to try next."""
    curve = "the trade-off over thresholds, " if curve_cells(cells) else ""
    yield from _wrapped(
        [
            f"In the report: {curve}pages of dialogues with each prediction drawn, every agent by "
            "action and by subflow, and all published rows."
        ]
    )
    is_made = source.data is None
    untried = {
        "--domain loan, where nothing is observed": is_made
        and source.domain == DialogueSource().domain,
        "--questions": not settings.get("asks"),
        "--data FILE, conversations of your own (docs/annotation.md)": is_made,
        "--model openai:NAME with --base-url URL": all(cell.stand_in for cell in cells),
    }
    if any(untried.values()):
        yield from _wrapped(
            [f"Next: {'; '.join(one for one, is_new in untried.items() if is_new)}"]
        )


def _wrapped(sentences: Iterable[str]) -> Iterator[str]:
    for one in sentences:
        yield from wrap(one, WIDTH, break_on_hyphens=False)


def source_of(settings: Mapping[str, object]) -> DialogueSource:
    """Which conversations a run was about."""
    told = settings["source"]
    assert isinstance(told, dict), "a run says what it was about"
    return DialogueSource(**told)


def the_best(cells: Sequence[Cell]) -> Cell | None:
    """The cell of the highest PRI, or the first one where nothing can be ranked."""
    ranked = ranking(cells)
    found = max(
        (cell for cell in cells if cell.title in ranked),
        key=lambda cell: ranked[cell.title].pri,
        default=None,
    )
    return found or (cells[0] if cells else None)


# --- Table 1 --------------------------------------------------------------------------------------


def _table_1(cells: Sequence[Cell], source: DialogueSource) -> Iterator[str]:
    if not cells:
        return
    yield from wrap(f"Table 1: {source.title}; {condition(cells[0])}", WIDTH)
    yield from _head()
    ranked = ranking(cells)
    for cell in cells:
        pri = ranked[cell.title].pri if cell.title in ranked else None
        yield _line(cell.title, [pri, *(mean_of(found) for found in cell.numbers.values())])
        stds = [None if found is None else found.std for found in cell.numbers.values()]
        if any(std is not None for std in stds):
            runs = len({row.run for row in cell.ok})
            yield _line(f"  ± over {runs} runs", ["", *stds])
        if cell.failed:
            yield f"  {cell.failed} of {len(cell.rows)} episodes failed, and are left out"
    yield from group_words(cells)


def group_words(cells: Sequence[Cell]) -> list[str]:
    """Who the group is within which PRI was made."""
    names = list(ranking(cells))
    if not names:
        alone = sum(has_all(cell) for cell in cells) == 1
        why = "it compares, and one is alone" if alone else "nobody has all of its numbers"
        return [f"No PRI: {why}"]
    members = "; ".join(sorted(names))
    return wrap(
        f"PRI within this group of {len(names)} alone, with other members it is another: {members}",
        WIDTH,
        break_on_hyphens=False,
    )


FURTHER_HEADS = ("ATR", "false", "FRR", "AD", "IC", "PR", "alike")


def _further(cells: Sequence[Cell], bench: Bench) -> Iterator[str]:
    """The second table, and what its columns are."""
    if not cells:
        return
    found = further(cells)
    yield "Further metrics of the same turns"
    yield " " * _NAME + "".join(f"{head:>{_ENTRY}}" for head in FURTHER_HEADS)
    for cell in cells:
        judged = bench.judged.get(cell.title, ())
        spreads = [found[cell.title][name] for name in FURTHER]
        spreads.append(judged[0].spread if judged else None)
        alike = alike_runs(cell)
        yield _line(cell.title, [*map(mean_of, spreads), None if alike is None else alike.combined])
        stds = [None if each is None else each.std for each in spreads]
        if any(std is not None for std in stds):
            yield _line(f"  ± over {len(cell.runs)} runs", [*stds, ""])
    yield from wrap(
        "false: triggered where the reference has no such action. AD: chance of following the "
        "turn before, by the workflows. IC: by TF-IDF, of agents that ask (--questions). alike: "
        "run-to-run consistency, the mean of how alike runs are in their means and in what they "
        "were in each conversation.",
        WIDTH,
    )
    for cell in cells:
        alike = alike_runs(cell)
        if alike is not None:
            yield (
                f"  {cell.title:<29} means {text(alike.final, 3)}, "
                f"by conversation {text(alike.trajectory, 3)}"
            )
    yield from wrap(judges_words(bench), WIDTH)


def judges_words(bench: Bench) -> str:
    """Who judged, and what it cost; or that nobody did."""
    if not bench.judged:
        return "PR: no judge was asked; --judge names a language model."
    judges = next(iter(bench.judged.values()), ())
    said = []
    for place, one in enumerate(judges):
        every = [judged[place] for judged in bench.judged.values()]
        missing = sum(each.n_missing for each in every)
        why = f": {bench.errors.get(one.judge, 'not asked')}; --judge asks again" if missing else ""
        said.append(
            f"PR by {one.judge} ({one.model}), {bench.requests[one.judge]:,} requests: "
            f"{sum(each.ratings.n_rated for each in every):,} turns rated from 1 to 5, "
            f"{sum(each.ratings.n_unjudged for each in every):,} that cannot be judged, "
            f"{missing:,} without an answer{why}."
        )
    return " ".join(said)


def _references(cells: Sequence[Cell], source: DialogueSource) -> Iterator[str]:
    found = of_references(cells)
    if found:
        yield "The references themselves: EC, ready so many turns before it was done"
        # Who made the references of a file, no episode knows.
        yield from alignment_table(found, by_rule=source.data is None).splitlines()
    elif cells:
        yield "The references: nobody recorded what was done, so that there is no EC"


def _published(source: DialogueSource) -> Iterator[str]:
    data = nearest_data(source.title)
    rows = sorted(PUBLISHED[data], key=lambda row: -row.pri)
    yield from wrap(
        f"Published, {data} (Table 5), for orientation: other data and other models, none of "
        f"which was run here; PRI within its {len(rows)} rows, of which the first {_SHOWN} are "
        "shown",
        WIDTH,
    )
    yield from _head()
    for row in rows[:_SHOWN]:
        yield _line(row.name, [row.pri, *row.means.values()])


def _head() -> Iterator[str]:
    yield " " * _NAME + "".join(f"{head:>{_ENTRY}}" for head in HEADS)


# --- Table 8 and the breakdowns -------------------------------------------------------------------


def _ready(cells: Sequence[Cell], source: DialogueSource) -> Iterator[str]:
    found = [(cell, ready_per_turn(cell)) for cell in cells]
    if not any(each for _, each in found):
        return
    yield "Table 8: ready actions predicted a turn, over all turns of all runs"
    yield f"{'':<31}" + "".join(f"{head:>6}" for head in READY_HEADS)
    for cell, each in found:
        if each is not None:
            yield f"{cell.title:<31}" + "".join(ready_entries(each, 6))
    data = nearest_data(source.title)
    numbers = [f"{value:>6.2f}" if place else f"{value:>6.0f}" for place, value in _placed(data)]
    yield f"{'published, ' + data:<31}" + "".join(numbers)


def _placed(data: str) -> list[tuple[int, float]]:
    return list(enumerate(READY[data]))


def ready_entries(found: Distribution, width: int = 0) -> list[str]:
    """A distribution, in the order of `READY_HEADS`."""
    numbers = (found.mean, found.std, found.least, *found.quartiles, found.most)
    return [f"{found.count:>{width}}", *(f"{text(value, 2):>{width}}" for value in numbers)]


def _line(name: str, entries: Sequence[float | str | None]) -> str:
    cells = [each if isinstance(each, str) else text(each, 3) for each in entries]
    label = name if len(name) < _NAME else f"{name[: _NAME - 2]}…"
    return (f"{label:<{_NAME}}" + "".join(f"{each:>{_ENTRY}}" for each in cells)).rstrip()
