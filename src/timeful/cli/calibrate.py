"""`timeful calibrate`: measure the time of an endpoint's tokens."""

import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.option("--base-url", envvar="OPENAI_BASE_URL", help="URL of the endpoint's API.")
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
    model: str, base_url: str | None, out: Path, lengths: tuple[int, ...], repeats: int
) -> None:
    """Measure MODEL at an endpoint, fit T = alpha N + beta, and save the pace.

    `timeful run realtime --clock paced --pace FILE` uses the pace: tokens then take as much
    virtual time as at this endpoint. The key is read from OPENAI_API_KEY.
    """
    from timeful.errors import SettingsError
    from timeful.models import calibrate as measuring
    from timeful.models.chat import OpenAIModel

    if not base_url:
        raise SettingsError("calibrate needs an endpoint: give --base-url")
    picture = out.with_suffix(".svg")
    if picture == out:
        raise SettingsError(f"the figure is written to {picture}; save the pace to another --out")
    # Before the requests, so that paid answers are not lost.
    out.parent.mkdir(parents=True, exist_ok=True)
    key = os.environ.get("OPENAI_API_KEY", "") or "none"
    endpoint = OpenAIModel(model=model, base_url=base_url, api_key=key)
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
    print(f"           --model openai:{model} --base-url {base_url}")
