"""Playing one inbox episode."""

from typing import Any

from timeful.agents.assistant import assistant
from timeful.agents.prompts.inbox import Briefing, Writing, explain_work
from timeful.agents.session import Agent
from timeful.agents.triage import as_recommended, urgent_first
from timeful.core.clock import VirtualClock
from timeful.environments.inbox.mail import draw_mail
from timeful.environments.inbox.policy import answer_urgent
from timeful.environments.inbox.task import MainTask, draw_task
from timeful.environments.inbox.world import Inbox
from timeful.errors import SettingsError
from timeful.interfaces.make import make_interface
from timeful.models.filler_text import FillerModel, Passage
from timeful.models.kinds import ApiKey
from timeful.models.model import Model
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.registry import bind, load
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child, child_seed
from timeful.suites.engagement.inbox.episode import ASSISTANT, InboxEpisode

_RULES = {"stand-in": as_recommended, "urgent-first": urgent_first}

_WORDS = ("the plan", "then", "our team", "date", "owner", "risk", "each step", "goal", "review")
"""The words of the stand-in's text."""


def play(episode: InboxEpisode, recorder: Recorder, *, api_key: ApiKey = "") -> bool:
    """Play an episode and write its record; True if it came to its end.

    All interfaces and policies meet the same emails and the same main task.
    """
    purpose = ("inbox", episode.seed, episode.episode)
    mail = draw_mail(episode.world, child(0, *purpose, "mail"))
    task = draw_task(
        episode.decomposition,
        target=episode.world.scoring.target,
        rng=child(0, *purpose, "task", episode.decomposition),
    )
    return play_episode(
        EpisodeSetting(
            settings=recorder.settings or episode.settings(),
            seed=child_seed(0, *purpose, "session"),
            transcripts=episode.transcripts,
        ),
        environment=Inbox(episode.world, mail, task.units),
        interface=make_interface(
            episode.interface,
            span=episode.poll if episode.interface == "polling" else None,
            rule=answer_urgent,
            full=episode.transcripts == "full",
        ),
        agent=agent(episode, task, api_key=api_key),
        clock=VirtualClock(),
        recorder=recorder,
    )


def agent(episode: InboxEpisode, task: MainTask, *, api_key: ApiKey = "") -> Agent:
    """Put the agent of an episode together.

    An agent of a user's own gets `triage`, `writer`, `task` and `briefing` if it has parameters of
    these names. A program gets `rules`, and as its model the one of `--model`, priced by tokens.
    """
    briefing = Briefing(world=episode.world, hints=episode.hints, priced_by=episode.priced_by)
    function: Any = assistant if episode.agent == ASSISTANT else load("agent", episode.agent)
    pace, role = episode.writing_pace, episode.triage
    return bind(
        function,
        {
            "writer": lambda: writer(episode, api_key=api_key),
            "triage": lambda: triage(episode, api_key=api_key),
            "task": lambda: task,
            "briefing": lambda: briefing,
            "rules": lambda: explain_work(task, briefing),
            "reactor": lambda: (
                None
                if role.is_stand_in
                else role.make(_no_model, pace=pace, scope=episode.key, api_key=api_key)
            ),
        },
        skip=1,
    )


def _no_model() -> Model:
    raise SettingsError("a program in the inbox has no stand-in; give --model")


def writer(episode: InboxEpisode, *, api_key: ApiKey = "") -> Model:
    """Make the model that writes the main task."""
    pace = episode.writing_pace
    return episode.writer.make(
        lambda: FillerModel(_passage, pace=pace), pace=pace, scope=episode.key, api_key=api_key
    )


def _passage(writing: Writing) -> Passage:
    part = writing.part
    return Passage(opening=part.heading, words=_WORDS, tokens=part.tokens)


def triage(episode: InboxEpisode, *, api_key: ApiKey = "") -> Model:
    """Make the model that decides about emails."""
    pace = episode.triage_pace
    rule = _RULES.get(episode.policy, as_recommended)  # a dry run has rules in place of a model
    return episode.triage.make(
        lambda: RuleModel(rule, name=episode.policy, pace=pace),
        pace=pace,
        scope=episode.key,
        api_key=api_key,
    )
