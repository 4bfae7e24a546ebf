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
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=int, default=8000, show_default=True, help="Port; 0 picks a free one.")
@click.option("--device", default="cpu", show_default=True, help="Device, as torch names it.")
@click.option(
    "--dtype",
    default="float32",
    show_default=True,
    help="Type of the weights: float32, bfloat16 or float16.",
)
@click.option(
    "--threads", type=int, default=1, show_default=True, help="Number of threads of torch."
)
def serve(*, model: Path, host: str, port: int, device: str, dtype: str, threads: int) -> None:
    """Serve MODEL, the folder of a checkpoint, by an OpenAI-compatible API.

    The server has chat and plain completions, streamed or whole. The name of the model is that of
    its folder. If the environment variable TIMEFUL_API_KEY is set, clients must send this key.
    Ctrl-C stops the server.
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

    # asyncio warns of each client that disconnects during a stream, which is no fault.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with suppress(KeyboardInterrupt):
        run(settings, announce=_announce)
    print("stopped", file=sys.stderr)


def _announce(name: str, address: str) -> None:
    print(f"serving {name} at {address}; Ctrl-C stops the server", flush=True)
