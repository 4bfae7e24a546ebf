"""The report of an embedded run: tables as text, a page, and the numbers behind them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from timeful.experiments.suite import load_notes
from timeful.reports.claims import claims_grid
from timeful.reports.html import render
from timeful.reports.page import Block, Bullets, Figure, Paragraph, Section, bullets
from timeful.reports.results import save_report, write_csv
from timeful.reports.table import lay_out
from timeful.reports.text import render_text
from timeful.training.folder import METRICS
from timeful.training.quick.answers import Answer, find_collapses, read_answers
from timeful.training.quick.cells import SEED_TABLES, figures, make_all_cells, make_context, tables
from timeful.training.quick.claims import SeedClaim, check_claims, list_missing
from timeful.training.quick.plan import QuickRun, read_run
from timeful.training.quick.steps import Step
from timeful.training.update_metrics import UpdateMetrics, read_metrics


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One update of an arm of a seed, under one budget; `reward` is that of all budgets."""

    fraction: float | None
    seed: int
    model: str
    update: int
    reward: float | None
    budget: str
    right_in_time: float
    tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickReport:
    """A report: its tables as text, and its page."""

    text: str
    page: Path


def write_report(out: Path) -> QuickReport:
    """Write the report of a run from its settings, graded answers and metrics alone.

    Raises:
        RecordError: If the folder holds no such run, or a file of it cannot be read.
    """
    run = read_run(out)
    answers = read_answers(run, out)
    claims = check_claims(run, out, answers)
    cells = make_all_cells(run, answers, claims)
    context, updates = make_context(run), list(_read_updates(run, out))
    grids = [grid for table in tables(run) for grid in lay_out(table, cells, context)]
    seed_cells = [cell for cell in cells if "seed" in cell.where]
    seed_grids = [grid for table in SEED_TABLES for grid in lay_out(table, seed_cells, context)]
    images = {name: figure.draw(cells, context) for name, figure in figures(run).items()}
    images["curves"] = _draw_curves(run, updates)
    sections = [
        Section("Results", (Paragraph(_summary(run)), *grids), is_printed=True),
        *_claims(claims, (*_list_collapses(run, answers), *list_missing(run, out))),
        Section("Figures", tuple(figure for figure in images.values() if figure)),
        Section("Each seed", tuple(seed_grids), is_printed=True),
        Section("Notes", (Bullets(load_notes(Path(__file__).with_name("notes.md"))),)),
    ]
    is_timed = bool(run.recipe.language.opening)
    page = render(
        title="timeful train quick" + " --timer" * is_timed,
        subtitle="A miniature: compare shapes and mechanisms with the papers, not numbers.",
        sections=sections,
    )
    path = save_report(out, page, cells, answers, Answer)
    write_csv(list(_points(updates)), CurvePoint, out / "curves.csv")
    for name, figure in images.items():
        if figure is not None:
            (out / f"{name}.svg").write_text(str(figure.image), encoding="utf-8", newline="\n")
    text = render_text(sections)
    (out / "tables.txt").write_text(text, encoding="utf-8", newline="\n")
    return QuickReport(text=text, page=path)


def _summary(run: QuickRun) -> str:
    recipe = run.recipe
    exam = "" if recipe.exam == "test" else f"{recipe.exam} "
    return (
        f"{len(run.seeds)} seed{'s' * (len(run.seeds) > 1)}, {recipe.problems} {exam}problems of "
        f"{recipe.language.events} events under each budget; n counts seeds."
    )


def _claims(claims: list[SeedClaim], remarks: tuple[str, ...]) -> Iterator[Section]:
    blocks: list[Block] = []
    if claims:
        promised = [claim for claim in claims if claim.is_promised]
        count = sum(claim.holds for claim in promised)
        text = f"Claims: {count} of {len(promised)} hold in each of the {promised[0].cases} seeds."
        blocks += [Paragraph(text), claims_grid(claims)]
    blocks += bullets(remarks)
    if blocks:
        yield Section("Claims", tuple(blocks), is_printed=True)


def _list_collapses(run: QuickRun, answers: list[Answer]) -> Iterator[str]:
    """The collapses of models that are rewarded for their time."""
    timed = {arm.name for arm in run.trained_arms if arm.reward != "correctness"}
    for (fraction, seed, model), alarm in find_collapses(answers).items():
        if alarm and model in timed:
            where = "" if fraction is None else f"fraction {fraction:g}, "
            yield f"{where}seed {seed}, {model}: {alarm}"


# --- learning curves ------------------------------------------------------------------------------

_Updates = tuple[Step, list[UpdateMetrics]]


def _read_updates(run: QuickRun, out: Path) -> Iterator[_Updates]:
    for step in run.steps(out):
        path = step.model.with_name(METRICS)
        if step.kind == "learn" and path.exists():
            yield step, read_metrics(path)


def _points(updates: list[_Updates]) -> Iterator[CurvePoint]:
    for step, lines in updates:
        for line in lines:
            for budget in sorted(line.tokens, key=lambda name: float(name.removesuffix("s"))):
                yield CurvePoint(
                    fraction=step.fraction,
                    seed=step.seed,
                    model=step.model_name,
                    update=line.update,
                    reward=line.reward,
                    budget=budget,
                    right_in_time=line.right_in_time[budget],
                    tokens=line.tokens[budget],
                )


def _draw_curves(run: QuickRun, updates: list[_Updates]) -> Figure | None:
    from timeful.training.curves import draw_curves  # noqa: PLC0415 - loads matplotlib

    curves: dict[str, list[list[UpdateMetrics]]] = {}
    for step, lines in updates:
        where = "" if step.fraction is None else f", fraction {step.fraction:g}"
        curves.setdefault(step.model_name + where, []).append(lines)
    recipe = run.recipe
    budgets = {recipe.budget(tokens): f"{tokens} tokens" for tokens in recipe.language.allowed}
    image = draw_curves(curves, budgets)
    if image is None:
        return None
    text = "Reward, success in time and tokens by update; thin: each seed."
    return Figure(image=image, alt=text, caption=text)
