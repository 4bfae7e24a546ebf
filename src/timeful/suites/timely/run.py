"""Timely-Eval as experiments, one a family, and the unhurried runs that budgets are made of."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from timeful.environments.timed.world import TIMER
from timeful.errors import SettingsError, check_known
from timeful.models.pace import TOKEN_TIME
from timeful.runs.batch import finished_rows
from timeful.runs.experiment import Experiment, read_settings
from timeful.suites.timely.baselines import Baselines, Kept, Took, merged
from timeful.suites.timely.report import write_report
from timeful.suites.timely.spec import NAME
from timeful.tasks.episode import Family, TaskEpisode
from timeful.tasks.families import FAMILY_SPECS
from timeful.tasks.library import process_library
from timeful.tasks.play import play
from timeful.tasks.rows import TaskRow, summarize
from timeful.tools import names


def experiment(family: Family, api_key: str = "") -> Experiment[TaskEpisode, TaskRow]:
    """How a family is run; the key goes to the endpoint and is never written down."""
    return Experiment(
        name=f"{NAME}/{family}",
        play=partial(play, api_key=api_key),
        summarize=summarize,
        row=TaskRow,
        check=check,
        write_report=write_report,
    )


def check(specs: Sequence[TaskEpisode]) -> None:
    """Find what would make a run fail, before anything runs.

    Raises:
        SettingsError: If a model cannot be made, a stand-in cannot work on these cases, or a
            latency is for a tool that nobody has.
        RecordError: If a cassette cannot be read.
    """
    for voice in {spec.role for spec in specs}:
        voice.check(pace=TOKEN_TIME)
    for spec in {(spec.role, spec.group): spec for spec in specs}.values():
        if spec.family == "reasoning" and spec.role.is_stand_in:
            _check_stand_in(spec)
    # A case of each family knows which tools there are.
    for spec in {spec.family: spec for spec in specs}.values():
        if spec.shared.tool_latencies:
            case = process_library().open(spec)
            known = (*names(case.task.tools), TIMER.name)
            case.close()
            for tool, _ in spec.shared.tool_latencies:
                check_known("tool", tool, known)


def _check_stand_in(spec: TaskEpisode) -> None:
    """Refuse problems that a stand-in cannot work on: it goes by worked solutions."""
    part = FAMILY_SPECS[spec.family]
    case = process_library().open(spec)
    case.rule(part.players[spec.role.stand_in])
    case.close()


def baselines_of(rows: Iterable[tuple[TaskEpisode, TaskRow]]) -> Baselines:
    """What unhurried runs took; one that failed, or came to nothing, has no baseline."""
    return merged(
        Kept(
            case=spec.case,
            conditions=spec.conditions,
            runs={str(spec.run): Took(counted=row.counted_ns, steps=row.rounds)},
        )
        for spec, row in rows
        if row.status == "ok" and row.counted_ns and row.rounds
    )


def check_budgets(specs: Sequence[TaskEpisode], out: Path) -> None:
    """Refuse to go on in a run folder whose episodes had other budgets by the same name.

    A folder that holds another run altogether is refused, or begun afresh, by the run itself.

    Raises:
        SettingsError: If a baseline has changed since.
    """
    if not (out / "settings.json").exists():
        return
    known = read_settings(out)
    ours = msgspec.json.decode(msgspec.json.encode(specs[0].shared.settings()))
    if any(known.get(name) != value for name, value in ours.items()):
        return
    rows = finished_rows(out, experiment(specs[0].family).job, specs)
    for spec in specs:
        row = rows.get(spec.key)
        if row is not None and row.budget_ns != spec.span:
            raise SettingsError(
                f"{out} has an episode of {spec.case} by {spec.player} whose {spec.budget} was "
                f"{(row.budget_ns or 0) / 1e9:g} s and is {(spec.span or 0) / 1e9:g} s now: its "
                "baseline has changed. Choose another folder with --out, or delete this one"
            )
