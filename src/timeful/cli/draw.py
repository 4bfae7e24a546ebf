"""`timeful draw`: records of the kitchen as timelines."""

from pathlib import Path

import click

from timeful.errors import RecordError
from timeful.records.events import EpisodeStarted
from timeful.records.recorder import read_record

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("records", nargs=-1, required=True, type=FILE)
@click.option(
    "--figure", type=FILE, default="timeline.svg", show_default=True, help="File of the figure."
)
def draw(records: tuple[Path, ...], figure: Path) -> None:
    """Draw RECORDS of kitchen episodes as timelines, one below the other, as in Figure 7."""
    from timeful.suites.engagement.kitchen.episode import NAME
    from timeful.suites.engagement.kitchen.figure import timeline
    from timeful.suites.engagement.kitchen.trace import read_trace

    traces = []
    for record in records:
        events = list(read_record(record))
        start = events[0] if events else None
        if not isinstance(start, EpisodeStarted) or start.settings.get("suite") != NAME:
            raise RecordError(
                f"{record} is no record of a kitchen: only episodes of {NAME} can be drawn"
            )
        traces.append(read_trace(events))
    figure.write_text(timeline(traces), encoding="utf-8", newline="\n")
    print(f"figure   {figure}")
