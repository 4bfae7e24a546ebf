"""`timeful show` and `timeful list`: what a record says, and what there is."""

from pathlib import Path
from typing import Annotated

import typer


def show(
    record: Annotated[Path, typer.Argument(help="A record: a .jsonl file of a run's episodes.")],
) -> None:
    """Print an episode's events, one line each, with their instants in seconds."""
    from timeful.records.recorder import read_record
    from timeful.records.timeline import line

    for event in read_record(record):
        print(line(event))


def list_parts() -> None:
    """List the suites, games and agents."""
    from timeful.environments.registry import GAME_NAMES
    from timeful.suites.realtime.conditions import AGENTS
    from timeful.suites.realtime.spec import EXPERIMENTS

    print("suites       realtime")
    print(f"experiments  {', '.join(EXPERIMENTS)}")
    print(f"games        {', '.join(GAME_NAMES)}")
    print(f"agents       {', '.join(AGENTS)}")
    print("interfaces   fixed-rate, frozen")
    print("models       search, openai:NAME, replay:FILE")
