"""The estimate of a run before it starts: printed alone, or with a question."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from timeful.cli.options import read_limits, read_spending
from timeful.experiments.estimate import Estimate
from timeful.models.model_spec import ModelSpec
from timeful.models.preflight import Preflight, is_loopback
from timeful.models.traffic import Limits
from timeful.reports.text import render_text

EXPENSIVE_TOKENS = 5_000_000
EXPENSIVE_USD = 5.0
"""A terminal asks before a run whose estimate is above one of these."""


def is_estimate(
    estimate: Callable[..., Estimate], models: Sequence[ModelSpec], values: dict[str, Any]
) -> bool:
    """Whether the estimate is all that is to be printed; otherwise see `ask_before`.

    Args:
        estimate: Makes the estimate, given `replace_run`, `limits`, `prices` and `check`.
        models: The models that may be asked.
        values: The values of the options.
    """
    spending = read_spending(values)
    # A dry run sends nothing, so it needs no key.
    preflight = Preflight(needs_key=False) if values["dry_run"] else spending["preflight"]
    make = partial(
        estimate,
        replace_run=values["replace"],
        limits=read_limits(values, connections=Limits().connections),
        prices=spending["budget"].prices,
        check=partial(preflight.check_keys, keys=os.environ),
    )
    if values["dry_run"]:
        print(render_text([make().section()]), end="")
    else:
        ask_before(make, models, values)
    return bool(values["dry_run"])


def ask_before(
    estimate: Callable[[], Estimate], models: Sequence[ModelSpec], values: dict[str, Any]
) -> None:
    """Ask before a run that is expensive by its estimate; without a terminal, print the estimate.

    The budget of the run bounds the estimate. Nothing is estimated for servers on this machine
    without a price, and for models without an endpoint.

    Raises:
        click.Abort: If the answer is no.
    """
    budget = read_spending(values)["budget"]
    others = [model for model in models if not is_loopback(model.endpoint or "")]
    if values["yes"] or not (others or (models and budget.prices)):
        return
    expected = estimate()
    total = expected.total
    tokens, cost = total.prompt + total.completion, total.cost or 0.0
    share = min(1.0, budget.tokens / tokens) if budget.tokens and tokens else 1.0
    most = min(cost * share, budget.cost or cost)
    if tokens * share <= EXPENSIVE_TOKENS and most <= EXPENSIVE_USD:
        return
    print(render_text([expected.section()]), end="", file=sys.stderr)
    if sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Start?", abort=True, err=True)
