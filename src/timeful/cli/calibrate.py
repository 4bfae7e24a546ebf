"""`timeful calibrate`: measure what an endpoint's tokens cost in time."""

import os
from pathlib import Path
from typing import Annotated

import typer


def calibrate(
    model: Annotated[str, typer.Argument(help="The model's name at the endpoint.")],
    base_url: Annotated[
        str | None, typer.Option(envvar="OPENAI_BASE_URL", help="The endpoint.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the pace is saved, as JSON.")] = Path(
        "pace.json"
    ),
    figure: Annotated[
        Path | None, typer.Option(help="Where the figure is saved. Default: beside the pace.")
    ] = None,
) -> None:
    """Fit T = alpha N + beta to real generations, and save the pace for `--clock paced`."""
    from timeful.errors import SettingsError
    from timeful.models import calibrate as measuring
    from timeful.models.chat import OpenAIModel

    if not base_url:
        raise SettingsError("calibrate needs an endpoint: give --base-url")
    endpoint = OpenAIModel(
        model=model, base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "") or "none"
    )
    raise NotImplementedError(measuring, endpoint, out, figure)
