"""Playing one episode: an agent listens to a conversation."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial

from timeful.agents.proactive.agent import proactive
from timeful.agents.proactive.features import Lookup
from timeful.agents.proactive.retrieval import Retrieval
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.core.units import seconds
from timeful.domains.dialogue_set import DialogueSource, load_dialogue_set
from timeful.environments.dialogue.world import Conversation
from timeful.interfaces.make import make_interface
from timeful.models.model import Model
from timeful.models.role import ModelRole
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child_seed
from timeful.suites.proactor.agents import agent_file, connect
from timeful.suites.proactor.spec import ProactorSpec, Rig


def play(
    spec: ProactorSpec,
    recorder: Recorder,
    *,
    api_key: str = "",
    keys: Mapping[str, str] | None = None,
) -> bool:
    """Play an episode and write its record; True if it came to its end.

    In a run, everybody meets a conversation at the same pace, whatever thinks how fast.
    """
    rig = spec.rig
    about = load_dialogue_set(rig.source)
    dialogue = about.dialogues[spec.place]
    seed = child_seed(rig.seed, "proactor", dialogue.id, spec.run)
    catalog = about.knowledge.catalog
    return play_episode(
        EpisodeSetting(settings=spec.settings(), seed=seed, transcripts=rig.transcripts),
        environment=Conversation(
            dialogue,
            spec.law,
            seed=child_seed(seed, "pace"),
            actions=tuple(catalog.actions),
            workflows=about.knowledge.ontology.orders().values(),
        ),
        interface=make_interface(
            rig.law,
            span=seconds(rig.span_s) if rig.law in ("polling", "fixed-rate") else None,
            full=rig.transcripts == "full",
        ),
        agent=partial(
            proactive,
            model=model(spec, api_key=api_key, keys=keys or {}),
            file=agent_file(spec.agent),
            catalog=catalog,
            asks=rig.asks,
            policy=rig.policy,
        ),
        clock=_clock(rig),
        recorder=recorder,
    )


def model(spec: ProactorSpec, *, api_key: str, keys: Mapping[str, str]) -> Model:
    """Who thinks; an endpoint samples at the temperature that the agent's file says."""
    choice, arrives = spec.voice.choice, spec.rig.arrival
    if spec.is_own and choice is not None:
        pace = None if arrives else spec.pace
        return connect(spec.agent, choice, pace=pace, scope=spec.scope, keys=keys)

    def stand_in() -> Model:
        rule = Retrieval(
            _lookup(spec.rig.source),
            threshold=spec.threshold or 0.0,
            temperature=spec.rig.temperature,
            thinking=spec.rig.thinking,
        )
        return RuleModel(rule, name=f"retrieval({spec.who})", pace=spec.pace)

    made = _speaker(spec.voice, spec.agent)
    if arrives and made.choice is not None:
        return made.choice.make("planner", pace=None, scope=spec.scope, api_key=api_key)
    return made.make(stand_in, pace=spec.pace, scope=spec.scope, api_key=api_key)


def _speaker(voice: ModelRole, agent: str) -> ModelRole:
    choice = voice.choice
    if choice is None or not choice.is_sampled or choice.temperature is not None:
        return voice
    temperature = agent_file(agent).llm.temperature
    return replace(voice, choice=replace(choice, temperature=temperature))


def _clock(rig: Rig) -> Clock:
    return WallClock() if rig.clock == "wall" else VirtualClock()


@lru_cache(maxsize=2)
def _lookup(source: DialogueSource) -> Lookup:
    about = load_dialogue_set(source)
    return Lookup(about.knowledge, observes=about.observes)
