"""The ProActor experiment: what a run needs of it (ProActor, section 4; Tables 1, 5 and 8)."""

from collections.abc import Mapping, Sequence
from functools import partial

from timeful.domains.dialogue_set import load_dialogue_set
from timeful.environments.dialogue.timing import Stamped
from timeful.errors import SettingsError
from timeful.runs.experiment import Experiment
from timeful.suites.proactor.agents import agent_file
from timeful.suites.proactor.dialogues import SAMPLE, Pages
from timeful.suites.proactor.play import play
from timeful.suites.proactor.report import write_report
from timeful.suites.proactor.rows import ProactorRow, summarize
from timeful.suites.proactor.spec import NAME, ProactorSpec


def experiment(
    api_key: str = "", *, keys: Mapping[str, str] | None = None, pages: Pages = SAMPLE
) -> Experiment[ProactorSpec, ProactorRow]:
    """How it is run; keys go to endpoints and are never written down.

    Args:
        api_key: For the endpoint that thinks for all agents.
        keys: For those that agents' files name, by the names that these have for their keys.
        pages: Which dialogues are drawn in the report.
    """
    return Experiment(
        name=NAME,
        play=partial(play, api_key=api_key, keys=keys),
        summarize=summarize,
        row=ProactorRow,
        check=check,
        write_report=partial(write_report, pages=pages),
    )


def check(specs: Sequence[ProactorSpec]) -> None:
    """Find what would make episodes fail, before anything runs.

    Raises:
        SettingsError: If an agent, a model or a conversation cannot be, or the conversations have
            not the times that they are to be played at.
        RecordError: If a cassette cannot be read.
    """
    for source in {spec.rig.source for spec in specs}:
        load_dialogue_set(source)
    for spec in {(spec.agent, spec.voice): spec for spec in specs}.values():
        file = agent_file(spec.agent)
        if spec.rig.asks and file.question_prompts is None:
            raise SettingsError(f"the agent {spec.title} has no prompts to raise questions with")
        spec.voice.check(pace=spec.pace)
        if (
            spec.voice.is_stand_in
            and not load_dialogue_set(spec.rig.source).knowledge.ontology.workflows
        ):
            raise SettingsError(
                "the offline agent follows workflows, and there are none; give --ontology, or a "
                "language model"
            )
    for spec in {(spec.timing, spec.place): spec for spec in specs}.values():
        if isinstance(spec.law, Stamped):
            spec.law.timetable(load_dialogue_set(spec.rig.source).dialogues[spec.place])
