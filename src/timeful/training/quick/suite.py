"""`train/quick` as a suite: the steps of a training, and the report of its graded answers."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

import msgspec

from timeful.errors import SettingsError
from timeful.experiments.suite import ReportData, Steps, Suite, load_notes
from timeful.records.folder import FolderKind
from timeful.reports.claims import Claim
from timeful.reports.page import Figure, Section
from timeful.reports.results import write_csv
from timeful.training.folder import METRICS, PACE
from timeful.training.quick.answers import Answer, find_collapses, mean_success, read_answers
from timeful.training.quick.cells import (
    MARGINS,
    figures,
    make_all_cells,
    make_context,
    tables,
)
from timeful.training.quick.claims import SeedClaim, check_claims, list_missing
from timeful.training.quick.plan import SUITE, QuickRun, read_run
from timeful.training.quick.recipe import find_recipe
from timeful.training.quick.run import run_steps
from timeful.training.quick.steps import Step, perform
from timeful.training.update_metrics import UpdateMetrics, read_metrics


def make_suite(run: QuickRun, claims: Sequence[SeedClaim] = ()) -> Suite:
    """Make the suite with the tables and labels of a run."""
    context = make_context(run)

    def give_claims(_: object) -> Sequence[Claim]:
        return claims

    return Suite(
        name=SUITE,
        title="train quick" + " --timer" * bool(run.recipe.language.opening),
        subtitle=_summary(run),
        episode=QuickRun,
        play=perform,
        steps=Steps(
            folder=FolderKind(noun="run", contents=("seed-*", "fraction-*")),
            row=Answer,
            plan=plan_steps,
            do=run_steps,
            read=read_folder,
            hints=list_hints,
        ),
        presets={
            f"timer-{name}" if is_timed else name: {"recipe": (find_recipe(name, timer=is_timed),)}
            for is_timed in (False, True)
            for name in ("quick", "smoke")
        },
        plan=_check_single,
        cells=partial(make_all_cells, run, claims=claims),
        margins=MARGINS,
        order=("fraction", "seed", "model", "exam", "budget"),
        labels=context.labels,
        levels=context.levels,
        metrics=tuple(context.metrics.values()),
        reference=context.reference,
        tables=tables(run),
        figures=figures(run),
        claims=(give_claims,),
        notes=load_notes(Path(__file__).with_name("notes.md")),
        notice=f"A miniature: compare shapes with the papers, not numbers. {_summary(run)}",
        remarks=partial(_remarks, run),
        extra=partial(_sections, run),
    )


def plan_steps(run: QuickRun, out: Path) -> list[Step]:
    """The steps of a run; their metrics also go where the environment or its option says."""
    name = "timeful train quick"
    if run.track == "wandb":
        os.environ.setdefault("WANDB_PROJECT", name.replace(" ", "-"))
    elif run.track == "mlflow":
        os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{(out / 'mlflow.db').absolute()}")
        os.environ.setdefault("MLFLOW_EXPERIMENT_NAME", name)
        # Its database is made here: two workers that made it at once would break it.
        import_module("mlflow").set_experiment(os.environ["MLFLOW_EXPERIMENT_NAME"])
    return run.steps(out)


def read_folder(out: Path) -> tuple[Suite, list[Answer]]:
    """Read a run folder: the suite of its settings, and all answers.

    Raises:
        RecordError: If the folder holds no such run, or a file of it cannot be read.
    """
    run = read_run(out)
    answers = read_answers(run, out)
    return make_suite(run, check_claims(run, out, answers)), answers


def list_hints(out: Path) -> list[tuple[str, list[str]]]:
    """The commands that use the best trained model, as words of a command line."""
    run = read_run(out)
    success = mean_success(read_answers(run, out))
    steps = [step for step in run.steps(out) if step.kind == "learn" and step.is_done]
    if not steps:
        return []
    best = max(steps, key=lambda s: success.get((s.fraction, s.seed, s.model_name), -1.0))
    policy, language = best.model, run.recipe.language
    budgets = [word for n in language.allowed for word in ("--budget", run.recipe.budget(n))]
    play = [
        *("timeful", "run", "timely/reasoning", "--model", f"local:{policy}"),
        *("--pace", str(policy.with_name(PACE)), "--case", f"levels:{language.events}"),
        *("--split", run.recipe.exam, "--soft", *budgets, "--out", f"{out}-timely"),
    ]
    return [("try", play), ("serve", ["timeful", "serve", str(policy)])]


def _check_single(runs: Sequence[QuickRun], _: object) -> Sequence[QuickRun]:
    if len(runs) != 1:
        raise SettingsError("a folder has one run: give all seeds at once, as [(11, 12)]")
    return runs


def _summary(run: QuickRun) -> str:
    recipe = run.recipe
    exam = "" if recipe.exam == "test" else f"{recipe.exam} "
    return (
        f"{len(run.seeds)} seed{'s' * (len(run.seeds) > 1)}, {recipe.problems} {exam}problems of "
        f"{recipe.language.events} events under each budget; n counts seeds."
    )


def _remarks(run: QuickRun, data: ReportData) -> Iterator[str]:
    """The collapses of models that are rewarded for their time, and what is not done."""
    timed = {arm.name for arm in run.trained_arms if arm.reward != "correctness"}
    for (fraction, seed, model), alarm in find_collapses(data.rows).items():
        if alarm and model in timed:
            where = "" if fraction is None else f"fraction {fraction:g}, "
            yield f"{where}seed {seed}, {model}: {alarm}"
    yield from list_missing(run, data.out)


def _sections(run: QuickRun, data: ReportData) -> Iterator[Section]:
    """The learning curves, as a figure and as a file."""
    updates = list(_read_updates(run, data.out))
    write_csv(list(_points(updates)), CurvePoint, data.out / "curves.csv")
    if (curves := _draw_curves(run, updates)) is not None:
        yield Section("Learning curves", (curves,))


# --- learning curves ------------------------------------------------------------------------------


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
    title = "Reward, success in time and tokens by update"
    return Figure(image=image, alt=title, title=title, caption="Thin: each seed.", name="curves")


suite = make_suite(QuickRun())
