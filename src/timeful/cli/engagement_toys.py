"""`timeful run engagement/toys`: the experiments without language models."""

import os
import sys
import warnings
from pathlib import Path

import click

from timeful.cli.suite import FILE
from timeful.errors import SettingsError, SlowPathWarning, check_known

PRESETS = {"quick": (2, 800, 300), "paper": (10, 8_000, 3_000)}
"""Training seeds, and episodes to learn from and to evaluate."""
MOST_SEEDS = 1_000


@click.command()
@click.option(
    "--out",
    type=FILE,
    default="runs/engagement-toys",
    show_default=True,
    help="The run folder.",
)
@click.option(
    "--preset",
    default="paper",
    help="paper: 10 seeds, 8,000 episodes to learn from and 3,000 to evaluate (default). "
    "quick: 2 seeds, 800 and 300.",
)
@click.option("--seeds", type=int, help="How many training seeds, from 42 on; else as the preset.")
@click.option("--training", type=int, help="Episodes to learn from; else as the preset.")
@click.option("--evaluation", type=int, help="Episodes to evaluate; else as the preset.")
@click.option("--workers", type=int, help="How many threads.  [default: one a core]")
@click.option("--replace", is_flag=True, help="Start afresh if the folder holds another run.")
def toys(
    *,
    out: Path,
    preset: str,
    seeds: int | None,
    training: int | None,
    evaluation: int | None,
    workers: int | None,
    replace: bool,
) -> None:
    """Deliberation and patrol: tabular policies beside Tables 1, 2 and 8 to 16.

    Every policy is learned once for each training seed, all seeds are shown, and the report has
    Figures 3 to 6. It takes about a minute with numba, which compiles its loops first; without
    it an hour, or a minute with --preset quick. A run that was stopped begins anew.
    """
    from timeful.compiled import why_slow
    from timeful.suites.engagement.toys.evaluated import Plan
    from timeful.suites.engagement.toys.run import run_toys

    check_known("preset", preset, tuple(PRESETS))
    usual = PRESETS[preset]
    if seeds is not None and seeds > MOST_SEEDS:
        raise SettingsError(f"at most {MOST_SEEDS:,} training seeds, got {seeds}")
    plan = Plan(
        seeds=tuple(range(42, 42 + (usual[0] if seeds is None else seeds))),
        training=usual[1] if training is None else training,
        evaluation=usual[2] if evaluation is None else evaluation,
    )
    slow = why_slow()
    if slow is not None:
        print(f"numba is not installed: {slow}", file=sys.stderr)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPathWarning)  # it was said, in one line
        try:
            finished = run_toys(
                plan,
                out,
                workers=workers if workers is not None else os.cpu_count() or 1,
                replace=replace,
                on_progress=_Progress(),
            )
        except KeyboardInterrupt:
            print("stopped: of toys nothing is kept; the command begins anew", file=sys.stderr)
            raise SystemExit(130) from None
    print(finished.text)
    if (plan.training, plan.evaluation) != PRESETS["paper"][1:]:
        print("The bands are for 8,000 and 3,000 episodes: other numbers may well be outside.\n")
    print(f"report   {finished.report}")
    print(f"seeds    {out / 'seeds.csv'}")


class _Progress:
    """Says now and then how many policies are done."""

    def __init__(self) -> None:
        self._tenth = -1

    def __call__(self, done: int, total: int) -> None:
        tenth = done * 10 // total
        if tenth > self._tenth:
            self._tenth = tenth
            print(f"{done} of {total} policies", file=sys.stderr)
