"""`timeful calibrate`: measure what an endpoint's tokens cost in time."""

import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.option("--base-url", envvar="OPENAI_BASE_URL", help="The endpoint's API.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="pace.json",
    show_default=True,
    help="Where the pace is saved; the figure goes beside it.",
)
@click.option(
    "--length",
    "lengths",
    type=int,
    multiple=True,
    help="Tokens to generate; repeatable.  [default: 16 64 128 256 512]",
)
@click.option("--repeats", default=3, show_default=True, help="Answers timed at each length.")
def calibrate(
    model: str, base_url: str | None, out: Path, lengths: tuple[int, ...], repeats: int
) -> None:
    """Time MODEL at an endpoint, fit T = alpha N + beta, and save the pace.

    The pace is for `timeful run realtime --clock paced --pace FILE`: virtual time in which
    tokens cost what they cost at this endpoint. The key is read from OPENAI_API_KEY.
    """
    from timeful.errors import SettingsError
    from timeful.models import calibrate as measuring
    from timeful.models.chat import OpenAIModel

    if not base_url:
        raise SettingsError("calibrate needs an endpoint: give --base-url")
    picture = out.with_suffix(".svg")
    if picture == out:
        raise SettingsError(f"the figure is written to {picture}; save the pace to another --out")
    # Before the endpoint is asked, so that nothing that was paid for is lost.
    out.parent.mkdir(parents=True, exist_ok=True)
    key = os.environ.get("OPENAI_API_KEY", "") or "none"
    endpoint = OpenAIModel(model=model, base_url=base_url, api_key=key)
    try:
        found = measuring.calibrate(
            endpoint,
            lengths=lengths or measuring.LENGTHS,
            repeats=repeats,
            endpoint=endpoint.endpoint,
        )
    finally:
        endpoint.close()
    found.save(out)
    measuring.figure(found, picture)
    print(f"{found.formula}   R^2 = {found.r_squared:.4f}   {len(found.timings)} answers")
    print(f"first token after {found.first_token_s:.3g} s (median)")
    for doubt in found.doubts:
        print(f"careful: {doubt}", file=sys.stderr)
    print(f"pace     {out}")
    print(f"figure   {picture}")
    print(f"next     timeful run realtime --clock paced --pace {out} --step 10000 \\")
    print(f"           --model openai:{model} --base-url {base_url}")
