"""`timeful calibrate`: measure what an endpoint's tokens cost in time."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def calibrate(
    model: Annotated[str, typer.Argument(help="The model's name at the endpoint.")],
    base_url: Annotated[
        str | None, typer.Option(envvar="OPENAI_BASE_URL", help="The endpoint.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the pace is saved.")] = Path("pace.json"),
    length: Annotated[
        list[int] | None,
        typer.Option(help="Tokens to generate; repeatable. Default: 16 64 128 256 512."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Answers timed at each length.")] = 3,
) -> None:
    """Time an endpoint, fit T = alpha N + beta, and save the pace and a figure of it.

    The saved pace is for `timeful run realtime --clock paced --pace FILE`: virtual time in which
    tokens cost what they cost at this endpoint. The key is read from OPENAI_API_KEY.
    """
    from timeful.errors import SettingsError
    from timeful.models import calibrate as measuring
    from timeful.models.chat import OpenAIModel

    if not base_url:
        raise SettingsError("calibrate needs an endpoint: give --base-url")
    key = os.environ.get("OPENAI_API_KEY", "") or "none"
    endpoint = OpenAIModel(model=model, base_url=base_url, api_key=key)
    try:
        found = measuring.calibrate(
            endpoint,
            lengths=tuple(length or measuring.LENGTHS),
            repeats=repeats,
            endpoint=endpoint.endpoint,
        )
    finally:
        endpoint.close()
    found.save(out)
    picture = out.with_suffix(".svg")
    measuring.figure(found, picture)
    print(f"{found.formula}   R^2 = {found.r_squared:.4f}   {len(found.timings)} answers")
    print(f"first token after {found.first_token_s:.3g} s (median)")
    for doubt in found.doubts:
        print(f"careful: {doubt}", file=sys.stderr)
    print(f"pace     {out}")
    print(f"figure   {picture}")
    print(f"next     timeful run realtime --clock paced --pace {out} --step 10000 \\")
    print(f"           --model openai:{model} --base-url {base_url}")
