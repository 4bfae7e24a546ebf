"""`timeful train quick`: train a tiny model to be on time, from scratch, without a GPU."""

from dataclasses import fields
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.cli.options import FILE
from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.training.quick.plan import QuickRun
    from timeful.training.quick.steps import Tracker

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
@click.option("--records", is_flag=True, help="Keep the records of rollouts for the viewer.")
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
    records: bool,
    replace: bool,
) -> None:
    """Train a tiny model from scratch to be punctual.

    From one cold start it learns to be right (with a long cap and a short one), to be right within
    the budget, and to be right within a multiple of its own time: the papers' tables in miniature,
    for several seeds. With --timer it may ask for the time during the task. Everything runs
    offline, on two cores in about a quarter of an hour. The same command resumes a run that was
    stopped, and reaches the same numbers.
    """
    from timeful.cli.progress import show_progress
    from timeful.cli.suite_command import show
    from timeful.experiments.run import run_suite
    from timeful.experiments.sweep import Choice
    from timeful.training.checks import require
    from timeful.training.quick.suite import suite

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
        run = replace_fields(run, recipe=replace_fields(run.recipe, exam="validation"))
    default = TIMER_OUT if timer else f"{OUT}-ablation" if ablation else OUT
    folder = out or Path(f"{default}-validation" if validation else default)
    values = {field.name: getattr(run, field.name) for field in fields(run)}
    choice = Choice(fixed={**values, "track": track, "records": records})
    with show_progress(folder, "steps") as progress:
        results = run_suite(
            suite, choice, folder, workers=workers, replace=replace, watcher=progress
        )
    show(results)


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
        arms=(ABLATED,) if is_ablation else arms,
        seeds=seeds or recipe.seeds[: _ABLATION_SEEDS if is_ablation else None],
        fractions=ABLATION if is_ablation else (),
    )


def _read_seeds(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(seed) for seed in text.split(",")) if text is not None else ()
    except ValueError:
        raise SettingsError(f"seeds are numbers, as in 11,12,13; got {text!r}") from None
