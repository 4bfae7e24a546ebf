"""The inbox experiment: what a run needs of it (Engagement Process, 5.2.1; Tables 3, 17 to 19)."""

from collections.abc import Sequence
from functools import partial

from timeful.runs.experiment import Experiment
from timeful.suites.engagement.inbox.play import play
from timeful.suites.engagement.inbox.report import write_report
from timeful.suites.engagement.inbox.rows import InboxRow, summarize
from timeful.suites.engagement.inbox.spec import NAME, InboxSpec


def experiment(api_key: str = "") -> Experiment[InboxSpec, InboxRow]:
    """How the inbox is run; the key goes to the endpoint and is never written down."""
    return Experiment(
        name=NAME,
        play=partial(play, api_key=api_key),
        summarize=summarize,
        row=InboxRow,
        check=check,
        write_report=write_report,
    )


def check(specs: Sequence[InboxSpec]) -> None:
    """Find what would make episodes fail, before anything runs.

    Raises:
        SettingsError: If a model cannot be made.
        RecordError: If a cassette cannot be read.
    """
    pairs = {
        (voice, pace): None
        for spec in specs
        for voice, pace in ((spec.triage, spec.triage_pace), (spec.writer, spec.writing_pace))
    }
    for voice, pace in pairs:
        voice.check(pace=pace)
