"""`timeful show` and `timeful list`: what a record says, and what there is."""

from pathlib import Path

import click


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
def show(record: Path) -> None:
    """Print the events of RECORD, one line each, with their instants in seconds.

    A record is a .jsonl file in the folder `episodes` of a run.
    """
    from timeful.records.recorder import read_record
    from timeful.records.timeline import line

    for event in read_record(record):
        print(line(event))


@click.command("list")
def list_parts() -> None:
    """List what there is to run, and of what parts."""
    from timeful.environments.registry import GAME_NAMES
    from timeful.suites.engagement.kitchen.spec import LAWS as ENGAGEMENT_LAWS
    from timeful.suites.realtime.conditions import AGENTS
    from timeful.suites.realtime.spec import EXPERIMENTS, LAWS

    print("runs         realtime, engagement, engagement/toys, engagement/inbox,")
    print("             engagement/kitchen")
    print("realtime")
    print(f"  experiments  {', '.join(EXPERIMENTS)}")
    print(f"  games        {', '.join(GAME_NAMES)}")
    print(f"  agents       {', '.join(AGENTS)}")
    print(f"  interfaces   {', '.join(LAWS)}")
    print("  models       search, openai:NAME, replay:FILE")
    print("engagement")
    print(f"  interfaces   {', '.join(ENGAGEMENT_LAWS)}")
    print("  models       rules, openai:NAME, replay:FILE")
