"""Playing one episode: an agent listens to a conversation."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from timeful.agents.proactive.agent import Shown, proactive
from timeful.agents.proactive.retrieval import Retrieval
from timeful.agents.proactive.settings import AgentFile, load_agent
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.core.units import Duration, seconds
from timeful.environments.dialogue.world import Conversation
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.models.model import Model
from timeful.models.rules import Answer, RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, Interface, play_episode
from timeful.seeding import child_seed
from timeful.suites.proactor.material import material
from timeful.suites.proactor.spec import ProactorSpec, Rig, Source
from timeful.suites.voices import Voice


def play(spec: ProactorSpec, recorder: Recorder, *, api_key: str = "") -> bool:
    """Play an episode and write its record; True if it came to its end.

    In a run, everybody meets a conversation at the same pace, whatever thinks how fast.
    """
    rig = spec.rig
    about = material(rig.source)
    dialogue = about.dialogues[spec.place]
    seed = child_seed(rig.seed, "proactor", dialogue.id, spec.run)
    catalog = about.knowledge.catalog
    return play_episode(
        EpisodeSetting(settings=spec.settings(), seed=seed, transcripts=rig.transcripts),
        environment=Conversation(
            dialogue, spec.law, seed=child_seed(seed, "pace"), actions=tuple(catalog.actions)
        ),
        interface=interface(rig),
        agent=partial(
            proactive,
            model=model(spec, api_key=api_key),
            file=agent_file(spec.agent),
            catalog=catalog,
            asks=rig.asks,
            policy=rig.policy,
        ),
        clock=_clock(rig),
        recorder=recorder,
    )


@lru_cache(maxsize=16)
def agent_file(name: str) -> AgentFile:
    """An agent of the package by its name, or a file.

    Raises:
        SettingsError: If there is none, or it is wrong.
    """
    return load_agent(name)


def interface(rig: Rig) -> Interface:
    """The law that joins an agent's time to the world's."""
    full, span = rig.transcripts == "full", seconds(rig.span_s)
    match rig.law:
        case "polling":
            return partial(Polling, interval=span, cost=Duration(0), full=full)
        case "loop":
            return partial(Loop, full=full)
        case "fixed-rate":
            return partial(FixedRate, period=span, full=full)
        case "frozen":
            return partial(Frozen, patience=seconds(600), full=full)
    return partial(EventDriven, full=full)


def model(spec: ProactorSpec, *, api_key: str = "") -> Model:
    """Who thinks; an endpoint samples at the temperature that the agent's file says."""

    def stand_in() -> Model:
        rule = _rule(spec.rig.source, spec.threshold or 0.0, spec.rig.thinking)
        return RuleModel(partial(rule, spec.place), name=f"retrieval({spec.who})", pace=spec.pace)

    made = _speaker(spec.voice, spec.agent)
    if spec.rig.arrival and made.choice is not None:
        return made.choice.make("planner", pace=None, scope=spec.scope, api_key=api_key)
    return made.make(stand_in, pace=spec.pace, scope=spec.scope, api_key=api_key)


def _speaker(voice: Voice, agent: str) -> Voice:
    choice = voice.choice
    if choice is None or not choice.is_live or choice.temperature is not None:
        return voice
    temperature = agent_file(agent).llm.temperature
    return replace(voice, choice=replace(choice, temperature=temperature))


def _clock(rig: Rig) -> Clock:
    return WallClock() if rig.clock == "wall" else VirtualClock()


_MOST_ANSWERS = 20_000
"""So many answers of a rule are kept, before they are forgotten and made anew."""


class _Remembered:
    """A rule that leaves nothing to chance: what it said once of a turn, it says again.

    The same turns are met in every run and at every pace, and looking them up is most of the work.
    """

    def __init__(self, rule: Retrieval) -> None:
        self._rule = rule
        self._said: dict[Any, Answer] = {}

    def __call__(self, place: int, shown: Shown, rng: np.random.Generator) -> Answer:
        """Answer about the conversation at a place of the source."""
        number = shown.turns[-1].number if shown.turns else 0
        key = (place, number, shown.asks, shown.reasons, shown.states)
        if key not in self._said:
            if len(self._said) >= _MOST_ANSWERS:
                self._said.clear()
            self._said[key] = self._rule(shown, rng)
        return self._said[key]


@lru_cache(maxsize=16)
def _rule(source: Source, threshold: float, thinking: int) -> _Remembered:
    about = material(source)
    return _Remembered(
        Retrieval(about.knowledge, threshold=threshold, observes=about.observes, thinking=thinking)
    )
