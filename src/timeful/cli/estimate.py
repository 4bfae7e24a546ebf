"""The estimate of a run before it starts: printed alone, or with a question."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from timeful.cli.options import read_limits, read_spending
from timeful.experiments.estimate import Estimate, estimate_run
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import Choice
from timeful.models.preflight import is_loopback
from timeful.models.traffic import Limits
from timeful.reports.text import render_text
from timeful.runs.concurrency import find_live_models

EXPENSIVE_TOKENS = 5_000_000
EXPENSIVE_USD = 5.0
"""A terminal asks before a run whose estimate is above one of these."""


def is_estimate(
    suite: Suite, choice: Choice, out: Path, values: dict[str, Any], episodes: Sequence[Any]
) -> bool:
    """Whether the estimate of a run is all that is to be printed; see `ask_before`."""

    def estimate() -> Estimate:
        return estimate_run(
            suite,
            choice,
            out,
            replace_run=values["replace"],
            limits=read_limits(values, connections=Limits().connections),
            prices=read_spending(values)["budget"].prices,
        )

    if values["dry_run"]:
        print(render_text([estimate().section()]), end="")
    else:
        ask_before(estimate, episodes, values)
    return bool(values["dry_run"])


def ask_before(
    estimate: Callable[[], Estimate], episodes: Sequence[Any], values: dict[str, Any]
) -> None:
    """Ask before a run that is expensive by its estimate; without a terminal, print the estimate.

    Nothing is estimated for servers on this machine without a price, for models without an
    endpoint, or if the budget is below the thresholds.

    Raises:
        click.Abort: If the answer is no.
    """
    budget = read_spending(values)["budget"]
    models = [m for m in find_live_models(episodes) if not is_loopback(m.endpoint or "")]
    is_bounded = (budget.tokens or EXPENSIVE_TOKENS + 1) <= EXPENSIVE_TOKENS or (
        budget.cost or EXPENSIVE_USD + 1
    ) <= EXPENSIVE_USD
    if values["yes"] or is_bounded or not (models or budget.prices):
        return
    expected = estimate()
    total = expected.total
    if total.prompt + total.completion <= EXPENSIVE_TOKENS and (total.cost or 0) <= EXPENSIVE_USD:
        return
    print(render_text([expected.section()]), end="", file=sys.stderr)
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Start?", abort=True, err=True)
