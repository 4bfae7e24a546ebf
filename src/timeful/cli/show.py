"""`timeful show` and `timeful list`: what a record says, and what there is."""

import sys
from pathlib import Path
from shutil import get_terminal_size

import click


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option(
    "--messages",
    type=click.IntRange(min=1),
    metavar="N",
    help="What thought N was asked and what it answered, in full, instead of the events.",
)
def show(record: Path, messages: int | None) -> None:
    """Print the events of RECORD, one line each, with their instants in seconds.

    A record is a .jsonl file in the folder `episodes` of a run. Chunks of a thought that follow
    each other are one line; long texts are cut, and at a terminal lines are as well. What a world
    calls a deadline, horizon, ..._at, ..._end or the like is in seconds too; settings stand as
    they were given, with spans in nanoseconds.
    """
    from timeful.records.recorder import read_record
    from timeful.records.timeline import conversation, joined, line

    events = read_record(record)
    if messages is not None:
        for said in conversation(events, messages):
            print(said)
        return
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    for event in joined(events):
        text = line(event)
        print(text if width is None or len(text) <= width else f"{text[: width - 1]}…")


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
