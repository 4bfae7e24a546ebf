"""`timeful run timely`, its three families, and `timeful baseline`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from timeful.cli.suite import FILE, batch_options, models_elsewhere, run, show
from timeful.cli.timely_options import BATCH, LIMITS, OWN, PRESET, TIME, WHO, Asked, Options
from timeful.cli.timely_plan import plan, remedy
from timeful.errors import check_known

if TYPE_CHECKING:
    from timeful.runs.experiment import Finished
    from timeful.suites.timely.baselines import Baselines
    from timeful.suites.timely.spec import Sweep
    from timeful.tasks.episode import Family, SharedSettings
    from timeful.tasks.rows import TaskRow


def _out(default: str) -> Options:
    return click.option(
        "--out",
        type=FILE,
        default=default,
        show_default=True,
        help="The run folder; a run in it goes on.",
    )


@click.command()
@OWN["fiction"]
@_out("runs/timely/fiction")
@LIMITS
@WHO
@TIME
@BATCH
def fiction(**asked: Any) -> None:
    """Text adventures under a time budget: many quick calls.

    Everything runs offline, with stand-ins that are no language models. With --model openai:NAME
    and --base-url the same runs on a language model; the key is read from OPENAI_API_KEY. A run
    that was stopped goes on when the same command is given again.
    """
    play("fiction", Asked(**asked))


@click.command()
@OWN["coding"]
@_out("runs/timely/coding")
@LIMITS
@WHO
@TIME
@BATCH
def coding(**asked: Any) -> None:
    """Machine learning tasks under a time budget: few slow calls, in a sandbox.

    The time that code takes is measured, so it is another each time: here alone, the same seed
    does not give the same record. Everything runs offline, with stand-ins that are no language
    models; with --model openai:NAME and --base-url the same runs on a language model.
    """
    play("coding", Asked(**asked))


@click.command()
@OWN["reasoning"]
@_out("runs/timely/reasoning")
@LIMITS
@WHO
@TIME
@BATCH
def reasoning(**asked: Any) -> None:
    """Problems under a time budget: thinking alone, with a timer.

    Everything runs offline on problems that we make, with stand-ins that are no language models.
    With --model openai:NAME and --base-url the same runs on a language model, and with --problems
    on your own problems.
    """
    play("reasoning", Asked(**asked))


@click.command()
@_out("runs/timely")
@click.option("--preset", default="quick", show_default=True, help="quick or paper.")
@click.option("--unsafe", is_flag=True, help="Run code even if no sandbox works here.")
@batch_options
@models_elsewhere("timely/fiction", "timely/coding", "timely/reasoning")
def timely(
    *,
    out: Path,
    preset: str,
    unsafe: bool,
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> None:
    """Timely-Eval offline: fiction, coding and reasoning with stand-ins, one after the other.

    This is `timely/fiction`, `timely/coding` and `timely/reasoning` with their defaults; those
    have options of their own, --model among them. What was stopped goes on when the same command
    is given again.
    """
    check_known("preset", preset, ("quick", "paper"))
    has_failed = False
    families: tuple[Family, ...] = ("fiction", "coding", "reasoning")
    for family in families:
        click.echo(f"\n=== timely/{family}\n")
        asked = Asked(
            out=out / family,
            preset=preset,
            unsafe=unsafe and family == "coding",
            workers=workers,
            replace=replace,
            retry_failed=retry_failed,
        )
        try:
            play(family, asked)
        except SystemExit as end:  # episodes that failed; the others are played all the same
            if end.code != 1:
                raise
            has_failed = True
    if has_failed:
        raise SystemExit(1)


def play(family: "Family", asked: Asked) -> None:
    """Play a family, after the unhurried runs that its budgets are multiples of."""
    from timeful.suites.timely.baselines import load_baselines, merged
    from timeful.suites.timely.run import check_budgets, experiment
    from timeful.suites.timely.spec import episodes

    sweep, rig = plan(family, asked)
    known: Baselines = {}
    if any(budget.is_relative for budget in sweep.budgets):
        if any(voice.is_live for voice in sweep.voices):
            known = load_baselines(asked.baselines)
        known = merged(known.values(), _on_the_way(sweep, rig, asked).values())
    specs = episodes(sweep, rig, known, remedy=remedy(family))
    check_budgets(specs, asked.out)
    finished = run(
        lambda key: experiment(family, key),
        specs,
        asked.out,
        settings=rig.settings(),
        workers=_workers(rig, asked),
        replace=asked.replace,
        retry_failed=asked.retry_failed,
    )
    show(finished, asked.out, tables(finished))


def _workers(rig: "SharedSettings", asked: Asked) -> int | None:
    """One in wall time, unless more is asked for: side by side they would slow each other down."""
    return 1 if asked.workers is None and rig.clock == "wall" else asked.workers


def _on_the_way(sweep: "Sweep", rig: "SharedSettings", asked: Asked) -> "Baselines":
    """Make the baselines of those who cost nothing, beside the run's own folder."""
    from dataclasses import replace

    free = [voice for voice in sweep.voices if not voice.is_live]
    if not free:
        return {}
    out = asked.out.with_name(f"{asked.out.name}-baseline")
    finished, made = unhurried_runs(replace(sweep, voices=free), rig, asked, out=out, runs=1)
    if finished.failed:
        show(finished, out, "")
    return made


def unhurried_runs(
    sweep: "Sweep", rig: "SharedSettings", asked: Asked, *, out: Path, runs: int
) -> "tuple[Finished[TaskRow], Baselines]":
    """Play a sweep without limits; what it came to, and the baselines."""
    from timeful.suites.timely.run import baselines_of, experiment
    from timeful.suites.timely.spec import unhurried

    specs = unhurried(sweep, rig, runs=runs)
    finished = run(
        lambda key: experiment(sweep.family, key),
        specs,
        out,
        settings=rig.settings(),
        workers=_workers(rig, asked),
        replace=asked.replace,
        retry_failed=asked.retry_failed,
    )
    return finished, baselines_of(zip(specs, finished.rows, strict=True))


def tables(finished: "Finished[TaskRow]") -> str:
    """What the command prints of a run."""
    from timeful.suites.timely.tables import text_tables

    return text_tables(finished.rows)


# --- baselines ------------------------------------------------------------------------------------


def _baseline(family: "Family", asked: Asked) -> None:
    """Make baselines, keep their records, and add them to the file."""
    from timeful.suites.timely.baselines import load_baselines, merged, save_baselines
    from timeful.suites.timely.tables import unhurried_table

    sweep, rig = plan(family, asked)
    known = load_baselines(asked.baselines)
    finished, made = unhurried_runs(sweep, rig, asked, out=asked.out, runs=asked.runs or 1)
    known = merged(known.values(), made.values())
    save_baselines(asked.baselines, known)
    took = unhurried_table(known[key] for key in made)
    kept = f"kept     {len(made)} baselines in {asked.baselines}"
    show(finished, asked.out, f"{tables(finished)}\n{took}\n\n{kept}")


@click.command("fiction")
@OWN["fiction"]
@_out("runs/timely-baseline/fiction")
@PRESET
@WHO
@TIME
@BATCH
def baseline_fiction(**asked: Any) -> None:
    """Play text adventures without a limit, and keep how long that took."""
    _baseline("fiction", Asked(**asked))


@click.command("coding")
@OWN["coding"]
@_out("runs/timely-baseline/coding")
@PRESET
@WHO
@TIME
@BATCH
def baseline_coding(**asked: Any) -> None:
    """Work on ML tasks without a limit, and keep how long that took."""
    _baseline("coding", Asked(**asked))


@click.command("reasoning")
@OWN["reasoning"]
@_out("runs/timely-baseline/reasoning")
@PRESET
@WHO
@TIME
@BATCH
def baseline_reasoning(**asked: Any) -> None:
    """Solve problems without a limit, and keep how long that took."""
    _baseline("reasoning", Asked(**asked))
