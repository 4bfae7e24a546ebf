"""`timeful calibrate`: measure the time of an endpoint's tokens."""

import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("model")
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
    model: str,
    base_url: str | None,
    extra: str | None,
    out: Path,
    lengths: tuple[int, ...],
    repeats: int,
) -> None:
    """Measure MODEL at an endpoint, fit T = alpha N + beta, and save the pace.

    MODEL is named as for `timeful run`, such as openai:NAME or anthropic:NAME. A name without a
    kind is of an OpenAI-compatible endpoint. `timeful run realtime --clock paced --pace FILE` uses
    the pace: tokens then take as much virtual time as at this endpoint. The key is read from
    OPENAI_API_KEY, or the variable of the provider.
    """
    from timeful.cli.options import is_given
    from timeful.errors import SettingsError
    from timeful.experiments.options import Endpoint
    from timeful.models import calibrate as measuring
    from timeful.models.kinds import is_live
    from timeful.models.model_spec import read_spec
    from timeful.models.request import address

    name = model if is_live(model) else f"openai:{model}"
    given = Endpoint(base_url=base_url if is_given("base_url") else None, openai_url=base_url)
    spec = read_spec(name, base_url=given.url_for(name), extra=extra)
    key = os.environ.get(spec.key_name, "") if spec.key_name else ""
    if spec.needs_key and not key:
        raise SettingsError(f"{name} needs a key: set {spec.key_name}")
    picture = out.with_suffix(".svg")
    if picture == out:
        raise SettingsError(f"the figure is written to {picture}; save the pace to another --out")
    # Before the requests, so that paid answers are not lost.
    out.parent.mkdir(parents=True, exist_ok=True)
    endpoint = spec.connect(pace=None, api_key=key)
    try:
        calibration = measuring.calibrate(
            endpoint,
            lengths=lengths or measuring.LENGTHS,
            repeats=repeats,
            endpoint=endpoint.endpoint,
        )
    finally:
        endpoint.close()
    calibration.save(out)
    measuring.figure(calibration, picture)
    count = len(calibration.timings)
    print(f"{calibration.formula}   R^2 = {calibration.r_squared:.4f}   {count} answers")
    print(f"first token after {calibration.first_token_s:.3g} s (median)")
    for doubt in calibration.doubts:
        print(f"careful: {doubt}", file=sys.stderr)
    print(f"pace     {out}")
    print(f"figure   {picture}")
    print(f"next     timeful run realtime --clock paced --pace {out} --step 10000 \\")
    url = f" --base-url {address(spec.base_url)}" if spec.base_url else ""
    print(f"           --model {name}{url}")
