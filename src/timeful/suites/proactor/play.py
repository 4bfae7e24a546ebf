"""Playing one episode: an agent listens to a conversation."""

from functools import lru_cache, partial

from timeful.agents.proactive.agent import proactive
from timeful.agents.proactive.features import Lookup
from timeful.agents.proactive.retrieval import Retrieval
from timeful.core.clock import VirtualClock, WallClock
from timeful.core.units import seconds
from timeful.domains.dialogue_set import DialogueSource, load_dialogue_set
from timeful.environments.dialogue.world import Conversation
from timeful.interfaces.make import make_interface
from timeful.models.kinds import ApiKey
from timeful.models.model import Model
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child_seed
from timeful.suites.proactor.agents import agent_file
from timeful.suites.proactor.episode import ProactorEpisode


def play(episode: ProactorEpisode, recorder: Recorder, *, api_key: ApiKey = "") -> bool:
    """Play an episode and write its record; return whether it completed.

    In a run, all agents meet a conversation at the same pace of people.
    """
    dialogue_set = load_dialogue_set(episode.source)
    dialogue = dialogue_set.dialogues[episode.place]
    seed = child_seed(episode.seed, "proactor", dialogue.id, episode.run)
    catalog = dialogue_set.knowledge.catalog
    name = episode.interface_name
    has_span = name in ("polling", "fixed-rate")
    return play_episode(
        EpisodeSetting(
            settings=recorder.settings or episode.settings(),
            seed=seed,
            transcripts=episode.transcripts,
        ),
        environment=Conversation(
            dialogue,
            episode.make_timing(episode.timing),
            seed=child_seed(seed, "pace"),
            actions=tuple(catalog.actions),
            workflows=dialogue_set.knowledge.ontology.orders().values(),
        ),
        interface=make_interface(
            name,
            span=seconds(episode.interface_span) if has_span else None,
            full=episode.transcripts == "full",
        ),
        agent=partial(
            proactive,
            model=make_model(episode, api_key=api_key),
            file=agent_file(episode.agent),
            catalog=catalog,
            asks=episode.questions,
            policy=episode.policy,
        ),
        clock=WallClock() if episode.clock == "wall" else VirtualClock(),
        recorder=recorder,
    )


def make_model(episode: ProactorEpisode, *, api_key: ApiKey) -> Model:
    """Make the model."""
    pace, scope = episode.token_pace, episode.scope

    def make_stand_in() -> Model:
        rule = Retrieval(
            _lookup(episode.source),
            threshold=episode.threshold or 0.0,
            temperature=episode.stand_in_temperature,
            thinking=episode.thinking,
        )
        return RuleModel(rule, name=f"retrieval({episode.who})", pace=pace)

    role = episode.voice
    if episode.arrival and role.choice is not None:
        return role.choice.make("planner", pace=None, scope=scope, api_key=api_key)
    return role.make(make_stand_in, pace=pace, scope=scope, api_key=api_key)


@lru_cache(maxsize=2)
def _lookup(source: DialogueSource) -> Lookup:
    dialogue_set = load_dialogue_set(source)
    return Lookup(dialogue_set.knowledge, observes=dialogue_set.observes)
