"""The kitchen experiment: what a run needs of it, and its timelines as a figure.

Engagement Process, 5.2.2; Tables 4, 20 to 24; Figure 7.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from timeful.errors import RecordError, SettingsError
from timeful.models.pace import TOKEN_TIME
from timeful.records.events import EpisodeStarted
from timeful.records.recorder import read_record
from timeful.runs.experiment import Experiment
from timeful.suites.engagement.kitchen.play import play
from timeful.suites.engagement.kitchen.report import write_report
from timeful.suites.engagement.kitchen.rows import KitchenRow, summarize
from timeful.suites.engagement.kitchen.spec import NAME, KitchenSpec
from timeful.suites.engagement.kitchen.trace import Trace, trace


def experiment(api_key: str = "") -> Experiment[KitchenSpec, KitchenRow]:
    """How the kitchen is run; the key goes to the endpoint and is never written down."""
    return Experiment(
        name=NAME,
        play=partial(play, api_key=api_key),
        summarize=summarize,
        row=KitchenRow,
        check=check,
        write_report=write_report,
    )


def check(specs: Sequence[KitchenSpec]) -> None:
    """Find what would make a run fail, before anything runs.

    Raises:
        SettingsError: If a model cannot be made.
        RecordError: If a cassette cannot be read.
    """
    for rig in {id(spec.rig): spec.rig for spec in specs}.values():
        rig.controller.check(pace=TOKEN_TIME)
        rig.tutor.check(pace=TOKEN_TIME)


def draw(records: Sequence[Path], figure: Path) -> Path:
    """Draw recorded episodes of the kitchen, one below the other, as an SVG file.

    Args:
        records: At least one record.
        figure: Where the figure goes.

    Raises:
        SettingsError: If there is none.
        RecordError: If one is of no kitchen episode, or cannot be read.
    """
    if not records:
        raise SettingsError("nothing to draw: give at least one record of a kitchen episode")
    traces = [_traced(record) for record in records]
    # matplotlib takes a while to load, and nothing but a figure needs it.
    from timeful.suites.engagement.kitchen.figure import timeline  # noqa: PLC0415

    figure.write_text(timeline(traces), encoding="utf-8", newline="\n")
    return figure


def _traced(record: Path) -> Trace:
    """What happened in a record, if it is a kitchen's."""
    events = list(read_record(record))
    started = events[0] if events else None
    if not isinstance(started, EpisodeStarted) or started.settings.get("suite") != NAME:
        raise RecordError(
            f"{record} is no record of a kitchen: only episodes of engagement/kitchen can be drawn"
        )
    return trace(events)
