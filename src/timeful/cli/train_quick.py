"""`timeful train quick`: a model that learns to be on time, from scratch, without a GPU."""

import dataclasses
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from timeful.cli.suite import FILE
from timeful.cli.train_hints import format_command
from timeful.cli.train_progress import format_span
from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.training.quick.asked import Asked
    from timeful.training.quick.recipe import Recipe
    from timeful.training.quick.stages import Tracker

OUT, TIMER_OUT = "runs/quick-train", "runs/quick-timer"
_ABLATED_SEEDS = 3
_BAR = 24


@click.command()
@click.option("--out", type=FILE, help=f"The run folder; a run in it goes on.  [default: {OUT}]")
@click.option("--seeds", metavar="11,12,...", help="Instead of those of the recipe.")
@click.option("--workers", default=2, show_default=True, help="How many processes.")
@click.option("--arm", "arms", multiple=True, help="Learn this one only; repeatable.")
@click.option("--cold-start-fraction", type=float, help="How much sense of time is handed out.")
@click.option("--ablation", is_flag=True, help="Compare cold start fractions, on three seeds.")
@click.option("--timer", is_flag=True, help="A timer on the way, and devices nobody tells of.")
@click.option("--validation", is_flag=True, help="Grade on problems to choose recipes by.")
@click.option("--recipe", "name", default="quick", show_default=True, help="quick or smoke.")
@click.option("--track", type=click.Choice(["mlflow", "wandb"]), help="Send metrics there too.")
@click.option("--replace", is_flag=True, help="Start afresh if the folder holds another run.")
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
    the budget, and to be right in a multiple of its own time; the papers' tables in miniature, for
    several seeds. With --timer it asks the time on its way, and only that tells it how much it has
    left. Everything runs offline, on two cores in about a quarter of an hour. A run that
    was stopped goes on when the same command is given again, and comes to the same numbers.
    """
    if workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {workers}")
    from timeful.training.checks import require

    require(track)
    if timer and ablation:
        raise SettingsError("--ablation is of the run without a timer: leave one of them out")
    recipe = _recipe(name, cold_start_fraction, is_ablation=ablation, is_timed=timer)
    if validation:
        recipe = dataclasses.replace(recipe, exam="validation")
    asked = _asked(recipe, seeds, arms, is_ablation=ablation)
    usual = TIMER_OUT if timer else f"{OUT}-ablation" if ablation else OUT
    folder = out or Path(f"{usual}-validation" if validation else usual)
    failed = _run(asked, folder, workers=workers, track=track, replace=replace)
    show(folder)
    for one in failed:
        print(fill(f"failed   {one}", 80, subsequent_indent=" " * 9), file=sys.stderr)
    if failed:
        print("again    the same command does what is missing", file=sys.stderr)
        raise SystemExit(1)


def _recipe(name: str, fraction: float | None, *, is_ablation: bool, is_timed: bool) -> "Recipe":
    from timeful.training.quick.recipe import find_recipe

    recipe = find_recipe(name, timer=is_timed)
    if fraction is not None:
        if not 0 <= fraction <= 1:
            raise SettingsError(f"a cold start fraction is from 0 to 1, got {fraction}")
        if is_ablation:
            raise SettingsError("--ablation has cold start fractions of its own: leave one out")
        recipe = recipe.with_follow(fraction)
    return recipe


def _asked(
    recipe: "Recipe", seeds: str | None, arms: tuple[str, ...], *, is_ablation: bool
) -> "Asked":
    from timeful.training.quick.asked import ABLATED, ABLATION, Asked

    if is_ablation and arms:
        raise SettingsError(f"--ablation learns {ABLATED} alone: leave --arm out")
    every = tuple(arm.name for arm in recipe.arms)
    return Asked(
        recipe=recipe,
        arms=(ABLATED,) if is_ablation else arms or every,
        seeds=_read_seeds(seeds) or recipe.seeds[: _ABLATED_SEEDS if is_ablation else None],
        fractions=ABLATION if is_ablation else (),
    )


def _read_seeds(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text is not None else ()
    except ValueError:
        raise SettingsError(f"seeds are numbers, as in 11,12,13; got {text!r}") from None


def _run(
    asked: "Asked", out: Path, *, workers: int, track: "Tracker | None", replace: bool
) -> list[str]:
    from timeful.records.folder import open_folder
    from timeful.training.quick.run import QUICK, run

    bar = Bar()
    with open_folder(out, asked.settings(), QUICK, replace=replace):
        prepare_tracking(out, track)
        try:
            return run(asked.stages(out, track=track), workers=workers, watch=bar.watch)
        except KeyboardInterrupt:
            bar.end()
            print(
                f"stopped at {bar.share:.0%}: {out} keeps what was finished, and the same command "
                "goes on from there",
                file=sys.stderr,
            )
            raise SystemExit(130) from None
        finally:
            bar.end()


def prepare_tracking(out: Path, track: "Tracker | None") -> None:
    """Say where metrics go, where nobody said so yet; the workers look there too."""
    name = "timeful train quick"
    if track == "wandb":
        os.environ.setdefault("WANDB_PROJECT", name.replace(" ", "-"))
    elif track == "mlflow":
        os.environ.setdefault("MLFLOW_TRACKING_URI", f"sqlite:///{(out / 'mlflow.db').absolute()}")
        os.environ.setdefault("MLFLOW_EXPERIMENT_NAME", name)
        # Its database is made here: two workers that made it at once would break it.
        import_module("mlflow").set_experiment(os.environ["MLFLOW_EXPERIMENT_NAME"])


class Bar:
    """Says on standard error how far a run is: a bar on a terminal, elsewhere lines."""

    def __init__(self, write: Callable[[str], object] = sys.stderr.write) -> None:
        self.share = 0.0
        self._write = write
        self._is_live = sys.stderr.isatty()
        self._told = -1
        self._shown = False

    def watch(self, share: float, seconds: float | None, what: str) -> None:
        """Say it, if there is news."""
        self.share = share
        left = "" if seconds is None or share >= 1 else f", {format_span(seconds)} left"
        if self._is_live:
            full = round(_BAR * share)
            text = f"[{'#' * full}{'-' * (_BAR - full)}] {share:>4.0%}{left}  {what}"
            self._write(f"\r{text[:79]:<79}")
            self._shown = True
            sys.stderr.flush()
        elif int(20 * share) > self._told:
            self._told = int(20 * share)
            self._write(f"{share:>4.0%}{left}  {what}"[:79].rstrip() + "\n")

    def end(self) -> None:
        """Leave the line, if there is one."""
        if self._shown:
            self._write("\n")
            self._shown = False


def show(out: Path) -> None:
    """Make the report of a run, print its tables, and say what can be done with its models."""
    from timeful.training.quick.report import write_report

    written = write_report(out)
    print(written.text)
    print(f"report   {written.page}")
    print(f"numbers  {out / 'results.json'}")
    for label, command in commands(out):
        print(f"{label:<9}{format_command(command)}")


def commands(out: Path) -> list[tuple[str, list[str]]]:
    """What can be done with the best of what was learnt, as words of a command line."""
    from timeful.training.folder import PACE
    from timeful.training.quick.answers import Score, mean_rows, mean_success, read_answers
    from timeful.training.quick.asked import read_asked

    asked = read_asked(out)
    learnt = [s for s in asked.stages(out) if s.kind == "learn" and s.is_done]
    right = mean_success(mean_rows(Score, read_answers(asked, out)))
    shares = {folder: share for share, _, folder in asked.parts(out)}
    found = [
        (right.get((shares[s.out], s.seed, s.arm.name), -1.0), s.model)
        for s in learnt
        if s.arm is not None
    ]
    if not found:
        return []
    _, policy = max(found, key=lambda one: one[0])
    language = asked.recipe.language
    budgets = [word for n in language.allowed for word in ("--budget", asked.recipe.budget(n))]
    run = [
        *("timeful", "run", "timely/reasoning", "--model", f"local:{policy}"),
        *("--pace", str(policy.with_name(PACE)), "--case", f"levels:{language.events}"),
        *("--split", asked.recipe.exam, "--soft", *budgets, "--out", f"{out}-timely"),
    ]
    return [("try", run), ("serve", ["timeful", "serve", str(policy)])]
