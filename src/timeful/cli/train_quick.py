"""`timeful train quick`: train a tiny model to be on time, from scratch, without a GPU."""

import dataclasses
import os
import sys
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from timeful.cli.options import FILE
from timeful.cli.train_hints import format_command
from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.training.quick.plan import QuickRun
    from timeful.training.quick.steps import Step, Tracker

OUT, TIMER_OUT = "runs/quick-train", "runs/quick-timer"
_ABLATION_SEEDS = 3


@click.command()
@click.option("--out", type=FILE, help=f"Run folder; a run in it is resumed.  [default: {OUT}]")
@click.option("--seeds", metavar="11,12,...", help="Seeds, in place of those of the recipe.")
@click.option("--workers", default=2, show_default=True, help="Number of processes.")
@click.option("--arm", "arms", multiple=True, help="Arm to train; repeatable; all by default.")
@click.option("--cold-start-fraction", type=float, help="Share of lessons that follow the budget.")
@click.option("--ablation", is_flag=True, help="Compare cold start fractions on three seeds.")
@click.option("--timer", is_flag=True, help="A timer during the task, and devices of other speeds.")
@click.option("--validation", is_flag=True, help="Grade on the problems for choosing recipes.")
@click.option("--recipe", "name", default="quick", show_default=True, help="quick or smoke.")
@click.option("--track", type=click.Choice(["mlflow", "wandb"]), help="Also send metrics there.")
@click.option("--replace", is_flag=True, help="Start again if the folder holds another run.")
def quick(
    *,
    out: Path | None,
    seeds: str | None,
    workers: int,
    arms: tuple[str, ...],
    cold_start_fraction: float | None,
    ablation: bool,
    timer: bool,
    validation: bool,
    name: str,
    track: "Tracker | None",
    replace: bool,
) -> None:
    """Train a tiny model from scratch to be punctual.

    From one cold start it learns to be right (with a long cap and a short one), to be right within
    the budget, and to be right within a multiple of its own time: the papers' tables in miniature,
    for several seeds. With --timer it may ask for the time during the task. Everything runs
    offline, on two cores in about a quarter of an hour. The same command resumes a run that was
    stopped, and reaches the same numbers.
    """
    if workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {workers}")
    from timeful.training.checks import require

    require(track)
    run = _make_run(
        name,
        _read_seeds(seeds),
        arms,
        fraction=cold_start_fraction,
        is_ablation=ablation,
        is_timed=timer,
    )
    if validation:
        run = dataclasses.replace(run, recipe=dataclasses.replace(run.recipe, exam="validation"))
    default = TIMER_OUT if timer else f"{OUT}-ablation" if ablation else OUT
    folder = out or Path(f"{default}-validation" if validation else default)
    failures = _run(run, folder, workers=workers, track=track, replace=replace)
    show(folder)
    for failure in failures:
        print(fill(f"failed   {failure}", 80, subsequent_indent=" " * 9), file=sys.stderr)
    if failures:
        print("again    the same command does the missing steps", file=sys.stderr)
        raise SystemExit(1)


def _make_run(
    name: str,
    seeds: tuple[int, ...],
    arms: tuple[str, ...],
    *,
    fraction: float | None,
    is_ablation: bool,
    is_timed: bool,
) -> "QuickRun":
    from timeful.training.quick.plan import ABLATED, ABLATION, QuickRun
    from timeful.training.quick.recipe import find_recipe

    for is_given, option in ((is_timed, "timer"), (arms, "arm"), (fraction, "cold-start-fraction")):
        if is_ablation and is_given not in (False, (), None):
            raise SettingsError(f"--ablation has its own arm and fractions: remove --{option}")
    recipe = find_recipe(name, timer=is_timed)
    if fraction is not None:
        if not 0 <= fraction <= 1:
            raise SettingsError(f"a cold start fraction is from 0 to 1, got {fraction}")
        recipe = recipe.with_follow(fraction)
    return QuickRun(
        recipe=recipe,
        arms=(ABLATED,) if is_ablation else arms or tuple(arm.name for arm in recipe.arms),
        seeds=seeds or recipe.seeds[: _ABLATION_SEEDS if is_ablation else None],
        fractions=ABLATION if is_ablation else (),
    )


def _read_seeds(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text is not None else ()
    except ValueError:
        raise SettingsError(f"seeds are numbers, as in 11,12,13; got {text!r}") from None


def _run(
    run: "QuickRun", out: Path, *, workers: int, track: "Tracker | None", replace: bool
) -> list[str]:
    from timeful.records.folder import open_folder
    from timeful.training.quick.run import QUICK, run_steps

    with open_folder(out, run.settings(), QUICK, replace=replace):
        prepare_tracking(out, track)
        steps = run.steps(out, track=track)
        count = 0

        def watch(step: "Step") -> None:
            nonlocal count
            count += 1
            print(f"{count}/{len(steps)} {step.name}", file=sys.stderr)

        try:
            return run_steps(steps, workers=workers, watch=watch)
        except KeyboardInterrupt:
            print(
                f"stopped after {count} of {len(steps)} steps, which {out} keeps; the same command "
                "resumes the run",
                file=sys.stderr,
            )
            raise SystemExit(130) from None


def prepare_tracking(out: Path, track: "Tracker | None") -> None:
    """Set where metrics are sent, for the workers too, unless the environment sets it."""
    name = "timeful train quick"
    if track == "wandb":
        os.environ.setdefault("WANDB_PROJECT", name.replace(" ", "-"))
    elif track == "mlflow":
        os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{(out / 'mlflow.db').absolute()}")
        os.environ.setdefault("MLFLOW_EXPERIMENT_NAME", name)
        # Its database is made here: two workers that made it at once would break it.
        import_module("mlflow").set_experiment(os.environ["MLFLOW_EXPERIMENT_NAME"])


def show(out: Path) -> None:
    """Write the report of a run, and print its tables and the next commands."""
    from timeful.training.quick.report import write_report

    report = write_report(out)
    print(report.text)
    print(f"report   {report.page}")
    print(f"numbers  {out / 'results.json'}")
    for label, command in commands(out):
        print(f"{label:<9}{format_command(command)}")


def commands(out: Path) -> list[tuple[str, list[str]]]:
    """Commands that use the best trained model, as words of a command line."""
    from timeful.training.folder import PACE
    from timeful.training.quick.answers import mean_success, read_answers
    from timeful.training.quick.plan import read_run

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
