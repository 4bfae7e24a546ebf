"""`timeful calibrate`: measure the time of an endpoint's tokens."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from timeful.cli.options import (
    estimate_options,
    is_given,
    read_spending,
    refuse_idle,
    spending_options,
)

if TYPE_CHECKING:
    from timeful.experiments.estimate import Estimate
    from timeful.models.calibrate import Calibration
    from timeful.models.model_spec import ModelSpec


@click.command(params=[*spending_options(), *estimate_options()])
@click.argument("model", required=False)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Log with timed answers in place of an endpoint: .eval, traces.jsonl or OTLP JSON.",
)
@click.option("--base-url", envvar="OPENAI_BASE_URL", help="Base URL of the endpoint.")
@click.option("--extra", help="Further fields of a request, as a JSON object.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="pace.json",
    show_default=True,
    help="File for the pace; the figure gets the same name with .svg.",
)
@click.option(
    "--length",
    "lengths",
    type=int,
    multiple=True,
    help="Tokens to generate; repeatable.  [default: 16 64 128 256 512]",
)
@click.option("--repeats", default=3, show_default=True, help="Timed answers for each length.")
def calibrate(
    model: str | None,
    source: Path | None,
    base_url: str | None,
    extra: str | None,
    out: Path,
    lengths: tuple[int, ...],
    repeats: int,
    **values: Any,
) -> None:
    """Measure MODEL at an endpoint, fit T = alpha N + beta, and save the pace.

    MODEL is named as for `timeful run`, such as openai:NAME or anthropic:NAME. A name without a
    kind is of an OpenAI-compatible endpoint. `timeful run realtime --clock paced --pace FILE` uses
    the pace: tokens then take as much virtual time as at this endpoint. The key is read from
    OPENAI_API_KEY, or the variable of the provider.

    With --from, the answers are those of a log: of Inspect, of verifiers, or spans of GenAI in OTLP
    JSON. MODEL chooses one of its models.
    """
    if source is not None:
        names = ("base_url", "extra", "lengths", "repeats", *values)
        refuse_idle(dict.fromkeys(names, (False, "an endpoint, without --from")))
        _calibrate_log(source, model, out)
        return
    if model is None:
        raise click.UsageError("give a MODEL, or a log with --from")
    from timeful.cli.estimate import is_estimate
    from timeful.errors import BudgetError
    from timeful.experiments.options import Endpoint
    from timeful.models import calibrate as measuring
    from timeful.models.kinds import is_live
    from timeful.models.model_spec import read_spec
    from timeful.models.preflight import check_endpoints
    from timeful.models.request import address
    from timeful.models.spending import Spending
    from timeful.models.traffic import under

    name = model if is_live(model) else f"openai:{model}"
    given = Endpoint(base_url=base_url if is_given("base_url") else None, openai_url=base_url)
    spec = read_spec(name, base_url=given.url_for(name), extra=extra)
    _check_out(out)
    limits = measuring.plan_limits(lengths or measuring.LENGTHS, repeats)
    if is_estimate(partial(_estimate, spec, limits), [spec], {**values, "replace": False}):
        return
    spending = read_spending(values)
    check_endpoints([spec], os.environ, **spending, say=partial(print, file=sys.stderr))
    # Before the requests, so that paid answers are not lost.
    out.parent.mkdir(parents=True, exist_ok=True)
    endpoint = spec.connect(pace=None, api_key=os.environ.get(spec.key_name, ""))
    try:
        with under(None, Spending(budget=spending["budget"], is_run=True)):
            calibration = measuring.calibrate(
                endpoint,
                lengths=lengths or measuring.LENGTHS,
                repeats=repeats,
                endpoint=endpoint.endpoint,
            )
    except BudgetError as error:
        raise BudgetError(f"{str(error).partition(';')[0]}; no pace is written") from None
    finally:
        endpoint.close()
    _show(calibration, out)
    print(f"next     timeful run realtime --clock paced --pace {out} --step 10000 \\")
    url = f" --base-url {address(spec.base_url)}" if spec.base_url else ""
    print(f"           --model {name}{url}")


def _check_out(out: Path) -> None:
    from timeful.errors import SettingsError

    if out.suffix == ".svg":
        raise SettingsError(f"the figure is written to {out}; save the pace to another --out")


def _show(calibration: "Calibration", out: Path) -> None:
    """Write a pace and its figure, and print both."""
    from timeful.models.calibrate import figure

    calibration.save(out)
    picture = out.with_suffix(".svg")
    figure(calibration, picture)
    count = len(calibration.timings)
    print(f"{calibration.formula}   R^2 = {calibration.r_squared:.4f}   {count} answers")
    if calibration.first_token_s is not None:
        print(f"first token after {calibration.first_token_s:.3g} s (median)")
    for doubt in calibration.doubts:
        print(f"careful: {doubt}", file=sys.stderr)
    print(f"pace     {out}")
    print(f"figure   {picture}")


def _calibrate_log(source: Path, model: str | None, out: Path) -> None:
    """Fit the pace of a model from a log."""
    from timeful.errors import SettingsError, check_known
    from timeful.models.calibrate import fit
    from timeful.models.timed_logs import is_inspect, read_timings

    _check_out(out)
    if is_inspect(source):
        from timeful.bridges.inspect import logs

        timings = logs.read_timings(source)
    else:
        timings = read_timings(source)
    if not timings:
        raise SettingsError(f"{source} has no answers with a token count and a time (usage)")
    if model is None and len(timings) > 1:
        raise SettingsError(f"{source} has several models; give one of {', '.join(timings)}")
    name = model or next(iter(timings))
    check_known("model", name, timings)
    calibration = fit(name, timings[name])
    out.parent.mkdir(parents=True, exist_ok=True)
    _show(calibration, out)


def _estimate(
    spec: "ModelSpec", lengths: Sequence[int], *, replace_run: bool, check: Any, **options: Any
) -> "Estimate":
    """Estimate a calibration, whose requests are known."""
    from timeful.experiments.estimate import project
    from timeful.models.calibrate import PROMPT
    from timeful.models.demand import Demand
    from timeful.models.request import estimate_prompt

    demand = Demand(
        requests=len(lengths),
        prompt=len(lengths) * estimate_prompt(PROMPT.messages),
        completion=sum(lengths),
        most=sum(lengths),
    )
    check([spec])
    return project(
        {(spec.name, spec.endpoint or "", PROMPT.label): demand},
        Path(),
        [spec],
        missing=1,
        finished=0,
        sampled=1,
        noun="calibrations",
        source="whose answers are as long as their limit",
        **options,
    )
