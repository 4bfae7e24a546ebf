"""`timeful serve`: a local checkpoint as an OpenAI-compatible endpoint."""

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

_KEY = "TIMEFUL_API_KEY"


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", type=int, default=8000, show_default=True, help="The port; 0 picks a free one."
)
@click.option(
    "--device", default="cpu", show_default=True, help="Where it computes, as torch names it."
)
@click.option("--dtype", default="float32", show_default=True, help="float32, bfloat16 or float16.")
@click.option(
    "--threads", type=int, default=1, show_default=True, help="How many threads torch may use."
)
def serve(*, model: Path, host: str, port: int, device: str, dtype: str, threads: int) -> None:
    """Serve MODEL, the folder of a checkpoint, to OpenAI's clients and all that speak as they do.

    Chat and plain completions, streamed or whole. The model's name is that of its folder. Clients
    have to give the key in the environment variable TIMEFUL_API_KEY, if there is one. Ctrl-C ends
    it.
    """
    from timeful.serving.settings import Serving

    settings = Serving(
        path=model,
        host=host,
        port=port,
        device=device,
        dtype=dtype,
        threads=threads,
        api_key=os.environ.get(_KEY, ""),
    )
    from timeful.serving.server import serve as run

    # It warns of each who hangs up while tokens are on their way: nothing is wrong then.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with suppress(KeyboardInterrupt):
        run(settings, announce=_announce)
    print("stopped", file=sys.stderr)


def _announce(name: str, address: str) -> None:
    print(f"serving {name} at {address}; Ctrl-C ends it", flush=True)
