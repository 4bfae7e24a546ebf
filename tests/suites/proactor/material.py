"""A small run of ProActor, and rows made by hand."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from timeful.core.units import milliseconds
from timeful.dialogues.opportunity import Input, Inputs, Opportunity, Status
from timeful.domains.dialogue_set import DialogueSource, load_dialogue_set
from timeful.metrics.proactor.files import PredictedTurn
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.runs.experiment import Finished, run_experiment
from timeful.suites.proactor.agents import digests
from timeful.suites.proactor.rows import ProactorRow
from timeful.suites.proactor.run import experiment
from timeful.suites.proactor.spec import RULES, Rig
from timeful.suites.proactor.sweep import Sweep, episodes

FAST, SLOW = Pace(per_token=milliseconds(1)), Pace(per_token=milliseconds(20))
SMALL = Sweep(agents=("non-reasoning",), thresholds=(0.7, 0.2), paces=(FAST, SLOW), runs=2)
RIG = Rig(source=DialogueSource(size=2))
FILES = ("report.html", "results.json", "table.csv", "episodes.csv", "settings.json")


def settings_of(sweep: Sweep, rig: Rig, voice: ModelRole) -> dict[str, Any]:
    rig = replace(rig, agents=digests(sweep.agents))
    return {**rig.settings(), "sweep": asdict(sweep), "voice": voice.settings()}


def run(
    out: Path, sweep: Sweep = SMALL, rig: Rig = RIG, voice: ModelRole = RULES, **changes: Any
) -> Finished[ProactorRow]:
    rig = replace(rig, agents=digests(sweep.agents))
    specs = episodes(sweep, rig, voice, count=len(load_dialogue_set(rig.source).dialogues))
    options = {"workers": 1, "settings": settings_of(sweep, rig, voice), **changes}
    return run_experiment(experiment(), specs, out, **options)


def foresee(name: str, status: Status, value: str | None = None) -> Opportunity:
    given = Input(name="who", provided=value is not None, value=value)
    return Opportunity(name=name, inputs=Inputs(required=(given,)), status=status)


def turns(*said: Sequence[Opportunity], **due: tuple[int, ...]) -> list[PredictedTurn]:
    """Turns from 1 with what was predicted; the ready turns of names with _ for -."""
    ranges = {name.replace("_", "-"): some for name, some in due.items()}
    return [
        PredictedTurn(
            dialogue="by hand",
            turn=number,
            predictions=tuple(predicted),
            references=tuple(
                foresee(name, "ready_to_trigger", "Ada")
                for name, some in ranges.items()
                if number in some
            ),
            ready_ranges=ranges,
        )
        for number, predicted in enumerate(said, 1)
    ]
