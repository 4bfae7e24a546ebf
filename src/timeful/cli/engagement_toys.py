"""`timeful run engagement/toys`: the experiments without language models."""

import os
import sys
import warnings
from pathlib import Path

import click

from timeful.cli.suite import FILE
from timeful.errors import SlowPathWarning


@click.command()
@click.option(
    "--out",
    type=FILE,
    default="runs/engagement-toys",
    show_default=True,
    help="The run folder.",
)
@click.option("--seeds", default=10, show_default=True, help="How many training seeds, from 42 on.")
@click.option("--training", default=8_000, show_default=True, help="Episodes to learn from.")
@click.option("--evaluation", default=3_000, show_default=True, help="Episodes to evaluate.")
@click.option("--workers", type=int, help="How many threads.  [default: one a core]")
@click.option("--replace", is_flag=True, help="Start afresh if the folder holds another run.")
def toys(
    *, out: Path, seeds: int, training: int, evaluation: int, workers: int | None, replace: bool
) -> None:
    """Deliberation and patrol: tabular policies beside Tables 1, 2 and 8 to 16.

    Every policy is learned once for each training seed, all seeds are shown, and the report has
    Figures 3 to 6. Runs in seconds to minutes with numba, which compiles its loops first; without
    it, ask for a hundredth of the episodes.
    """
    from timeful.compiled import why_slow
    from timeful.suites.engagement.toys.evaluated import Plan
    from timeful.suites.engagement.toys.run import run_toys

    plan = Plan(seeds=tuple(range(42, 42 + seeds)), training=training, evaluation=evaluation)
    slow = why_slow()
    if slow is not None:
        print(f"numba is not installed: {slow}", file=sys.stderr)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPathWarning)  # it was said, in one line
        finished = run_toys(
            plan,
            out,
            workers=workers if workers is not None else os.cpu_count() or 1,
            replace=replace,
            on_progress=_Progress(),
        )
    print(finished.text)
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
