"""The report of an embedded run: a page, the numbers behind it, and the curves."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from timeful.reports.html import render
from timeful.reports.page import Block, Bullets, Entry, Figure, Notice, Paragraph, Section
from timeful.reports.page import Grid as Table
from timeful.reports.results import save_report, write_csv
from timeful.suites.timely.published import ABLATION as TABLE_3
from timeful.training.folder import METRICS
from timeful.training.quick import published
from timeful.training.quick.asked import Asked, read_asked
from timeful.training.quick.claim import AWARE, one_ways, sentences, verdict
from timeful.training.quick.clock import (
    TIMELY,
    Cell,
    clock_sentences,
    clock_verdict,
    grids,
    read_cells,
)
from timeful.training.quick.recipe import BASE
from timeful.training.quick.results import result_rows
from timeful.training.quick.rows import read_metrics
from timeful.training.quick.scores import Measure, Score, Standing, read_scores, standings
from timeful.training.quick.tables import (
    ELSEWHERE,
    HURRIED,
    MEASURES,
    budgets,
    estimate,
    hurried_models,
    models,
    notes,
    over_budgets,
    pick,
    problems,
    seeds,
    shown,
    text_tables,
)
from timeful.training.update_metrics import UpdateMetrics

_Row = tuple[str | Entry, ...]

CUT = "A multiple is cut to the largest step of the budget that the model has a word for."


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """An update of an arm of a seed, under one budget; `reward` is that of all budgets."""

    fraction: float | None
    seed: int
    model: str
    update: int
    reward: float | None
    budget: str
    right_in_time: float
    tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A report: its tables as text, and where its page lies."""

    text: str
    page: Path


def write_report(out: Path) -> Written:
    """Make the report of a run from its settings, graded rows and metrics alone.

    Raises:
        RecordError: If the folder holds no such run, or a file of it cannot be read.
    """
    asked = read_asked(out)
    scores = read_scores(asked, out)
    text = text_tables(asked, out, scores)
    page = render(
        title="timeful train quick" + " --timer" * bool(asked.recipe.language.opening),
        subtitle=_subtitle(asked),
        sections=list(_sections(asked, out, scores)),
    )
    path = save_report(out, page, result_rows(asked, out, scores), scores, Score, name="scores")
    write_csv(list(_points(asked, out)), CurvePoint, out / "curves.csv")
    if asked.recipe.language.opening:
        write_csv(read_cells(asked, out), Cell, out / "clock.csv")
    (out / "tables.txt").write_text(text, encoding="utf-8", newline="\n")
    return Written(text=text, page=path)


def _subtitle(asked: Asked) -> str:
    return (
        f"A decoder of our own on problems of {asked.recipe.language.events} events, "
        f"{seeds(asked)}, {problems(asked)} a budget. A miniature: shapes "
        "and mechanisms can be compared with the papers, numbers cannot."
    )


def _sections(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[Section]:
    if asked.fractions:
        yield Section("Cold start fraction", (_fractions(asked, scores), _seeds(asked, scores)))
        return
    if asked.recipe.language.opening:
        yield from _clock(asked, out, scores)
        return
    told = verdict(asked, out, scores)
    if told is not None:
        kind = Paragraph if told.holds else Notice
        said = sentences(told)
        yield Section("The claim", (kind(said[0]), *map(Paragraph, said[1:])))
    yield Section("Table 5 in miniature", tuple(_main(asked, scores)))
    yield Section("Each seed", tuple(_each(asked, out, scores)))
    yield from _figures(asked, out, scores)
    if any(arm.is_relative for arm in asked.learnt):
        yield Section("Timely-RL in miniature", tuple(_hurried(asked, scores)))


def _clock(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[Section]:
    """With a timer on the way: the claim, Table 3, what the clock does, and all rooms."""
    cells = read_cells(asked, out)
    told = clock_verdict(asked, out, scores, cells)
    if told is not None:
        kind = Paragraph if told.holds else Notice
        said = clock_sentences(told)
        yield Section("The claim", (kind(said[0]), *map(Paragraph, said[1:])))
    yield Section("Table 3 in miniature", tuple(_hurried(asked, scores)))
    tables = [
        Table(
            caption=grid.title,
            head=("", *grid.head),
            rows=tuple(
                (model, *(shown(one, grid.measure) for one in row))
                for model, row in grid.rows.items()
            ),
        )
        for grid in grids(asked, cells)
    ]
    yield Section("The clock", tuple(tables))
    yield Section("By how many tokens there was room for", tuple(_main(asked, scores)))
    yield Section("Each seed", (_seeds(asked, scores),))
    yield from _figures(asked, out, scores)


def _main(asked: Asked, scores: Sequence[Score]) -> Iterator[Block]:
    steps = asked.recipe.language.allowed
    for measure, caption in MEASURES.items():
        body: list[_Row] = [
            (model, *_cells(asked, scores, model, measure), over_budgets(scores, model, measure))
            for model in models(asked)
        ]
        heads = ("", *(f"{n} tokens" for n in steps), "mean")
        yield Table(caption=caption, head=heads, rows=tuple(body))
    yield Paragraph("Means over seeds; ± is half of a 95 % interval by drawing seeds.")
    if not asked.recipe.language.opening:
        yield _table_25()


def _each(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[Block]:
    yield _seeds(asked, scores)
    found = one_ways(asked, out)
    if found:
        yield Table(
            caption="Always answering in the best single way",
            head=("seed", "tokens", "right", "budgeted success"),
            rows=tuple(
                (str(one.seed), str(one.tokens), f"{one.accuracy:.3f}", f"{one.success:.3f}")
                for one in found
            ),
        )
        yield Paragraph(
            "How often a way is right is taken from the model of the seed that is best at it."
        )


def _seeds(asked: Asked, scores: Sequence[Score]) -> Table:
    """Every seed of every model, those that are missing too."""
    steps = asked.recipe.language.allowed
    found = {(one.fraction, one.seed, one.model): one for one in standings(scores)}
    names = (BASE, *asked.arms) if asked.fractions else models(asked)
    aware = {arm.name for arm in asked.learnt if arm.reward in (AWARE, TIMELY)}
    body = [
        (
            f"{seed}" if share is None else f"{seed}, fraction {share:g}",
            model,
            *_standing(found.get((share, seed, model)), len(steps), is_aware=model in aware),
        )
        for share in asked.fractions or (None,)
        for seed in asked.seeds
        for model in names
    ]
    heads = [f"{what} {n}" for what in ("right in", "tokens at") for n in steps]
    return Table(
        caption="Budgeted success and tokens by budget",
        head=("seed", "model", "length", *heads),
        rows=tuple(body),
        words=3,
    )


def _standing(one: Standing | None, steps: int, *, is_aware: bool) -> _Row:
    if one is None:
        return (Entry("failed, or not reached", tone="alarm"), *[""] * 2 * steps)
    right = [f"{score.success:.3f}" for score in one.scores]
    return (_length(one, is_aware), *right, *(f"{score.tokens:.1f}" for score in one.scores))


def _length(one: Standing, is_aware: bool) -> str | Entry:
    if not one.alarm:
        return "follows the budget"
    # Whom nobody rewards for being in time has no reason to follow it.
    return Entry("collapsed", small=one.alarm, tone="alarm") if is_aware else "one length"


def _hurried(asked: Asked, scores: Sequence[Score]) -> Iterator[Block]:
    factors = [f"{factor:g}x" for factor in asked.recipe.factors]
    for measure, caption in HURRIED.items():
        body: list[_Row] = [
            (
                name,
                *(
                    shown(estimate(pick(scores, model, "hurried", one), measure), measure)
                    for one in factors
                ),
            )
            for model, name in hurried_models(asked).items()
        ]
        yield Table(caption=caption, head=("", *factors), rows=tuple(body))
    yield Table(
        caption=f"On time at {factors[0]}, each seed",
        head=("seed", *hurried_models(asked).values()),
        rows=tuple(
            (
                str(seed),
                *(
                    f"{one.on_time:.3f}" if one else "-"
                    for one in _of_seed(asked, scores, factors[0], seed)
                ),
            )
            for seed in asked.seeds
        ),
    )
    yield _table_3()
    first, *others = notes(asked)
    yield Bullets((first, *([] if asked.recipe.language.opening else [CUT]), *others))


def _of_seed(
    asked: Asked, scores: Sequence[Score], factor: str, seed: int
) -> Iterator[Score | None]:
    for model in hurried_models(asked):
        mine = pick(scores, model, "hurried", factor)
        yield next((one for one in mine if one.seed == seed), None)


def _fractions(asked: Asked, scores: Sequence[Score]) -> Table:
    heads = [f"{what} {n}" for what in ("right in", "tokens at") for n in _steps(asked)]
    body: list[_Row] = []
    for share in asked.fractions:
        mine = [one for one in scores if one.fraction == share]
        for name in asked.arms:
            alarms = [one.alarm for one in standings(mine) if one.model == name]
            body.append(
                (
                    f"{share:g}",
                    f"{sum(map(bool, alarms))} of {len(alarms)}",
                    *_cells(asked, mine, name, "success"),
                    *_cells(asked, mine, name, "tokens"),
                )
            )
    return Table(
        caption="By cold start fraction", head=("fraction", "one length", *heads), rows=tuple(body)
    )


def _cells(asked: Asked, scores: Sequence[Score], model: str, measure: Measure) -> Iterable[str]:
    for budget in budgets(asked):
        yield shown(estimate(pick(scores, model, "graded", budget), measure), measure)


def _steps(asked: Asked) -> Sequence[int]:
    return asked.recipe.language.budgets


# --- published ------------------------------------------------------------------------------------


def _table_25() -> Table:
    body: list[_Row] = [
        (
            name,
            *(Entry(f"{value:.3f}", tone="quiet") for value in row.success),
            *(Entry(f"{value:.0f}", tone="quiet") for value in row.tokens),
        )
        for name, row in published.ROWS.items()
    ]
    heads = [f"{what} {n}" for what in ("right in", "tokens at") for n in published.BUDGETS]
    caption = f"{published.TABLE_25} ({ELSEWHERE})"
    return Table(caption=caption, head=("", *heads), rows=tuple(body))


def _table_3() -> Table:
    body: list[_Row] = [
        (name, *(Entry(f"{value:.1f}", tone="quiet") for value in row.values()))
        for name, row in TABLE_3.items()
    ]
    caption = f"Timely Machine, Table 3: % on time at 0.75x ({ELSEWHERE})"
    return Table(caption=caption, head=("", *next(iter(TABLE_3.values()))), rows=tuple(body))


# --- curves ---------------------------------------------------------------------------------------


def _curves(asked: Asked, out: Path) -> dict[str, list[list[UpdateMetrics]]]:
    """The updates of each arm, of each seed that has begun it."""
    found: dict[str, list[list[UpdateMetrics]]] = {arm.name: [] for arm in asked.learnt}
    for stage in asked.stages(out):
        path = stage.model.with_name(METRICS)
        if stage.kind == "learn" and stage.arm is not None and path.exists():
            found[stage.arm.name].append(read_metrics(path))
    return found


def _points(asked: Asked, out: Path) -> Iterator[CurvePoint]:
    shares = {folder: share for share, _, folder in asked.parts(out)}
    for stage in asked.stages(out):
        path = stage.model.with_name(METRICS)
        if stage.kind != "learn" or stage.arm is None or not path.exists():
            continue
        for line in read_metrics(path):
            for budget in sorted(line.tokens, key=lambda name: float(name.removesuffix("s"))):
                yield CurvePoint(
                    fraction=shares[stage.out],
                    seed=stage.seed,
                    model=stage.arm.name,
                    update=line.update,
                    reward=line.reward,
                    budget=budget,
                    right_in_time=line.right_in_time[budget],
                    tokens=line.tokens[budget],
                )


def _names(asked: Asked) -> dict[str, str]:
    told = (f"{n} tokens" for n in asked.recipe.language.allowed)
    return dict(zip(budgets(asked), told, strict=True))


def _figures(asked: Asked, out: Path, scores: Sequence[Score]) -> Iterator[Section]:
    # matplotlib takes a while to load, and nothing but a figure needs it.
    from timeful.training import curves  # noqa: PLC0415
    from timeful.training.quick import figures  # noqa: PLC0415

    drawn: tuple[tuple[str, str, str | None], ...] = (
        (
            "budgets",
            "What came of it, by budget; dotted: all of the budget.",
            figures.by_budget(asked, scores),
        ),
        (
            "curves",
            "Reward, right in time and tokens while it learns; thin: each seed.",
            curves.draw_curves(_curves(asked, out), _names(asked)),
        ),
    )
    if asked.recipe.language.opening:
        cells = read_cells(asked, out)
        says = (
            "How much is said after the clock, by what it told. Right: Timely-RL, also by clocks "
            "that lie; some of what those tell stands in no lesson."
        )
        drawn = (("clock", says, figures.by_clock(asked, cells)), *drawn)
    blocks: list[Block] = []
    for name, says, image in drawn:
        path = out / f"{name}.svg"
        path.unlink(missing_ok=True)
        if image is not None:
            path.write_text(image, encoding="utf-8", newline="\n")
            blocks.append(Figure(image=image, alt=says, caption=says))
    if blocks:
        yield Section("Figures", tuple(blocks))
