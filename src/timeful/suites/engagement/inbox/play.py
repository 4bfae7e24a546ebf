"""Playing one inbox episode."""

from functools import partial

from timeful.agents.assistant import assistant
from timeful.agents.prompts.inbox import Briefing, Writing
from timeful.agents.triage import as_recommended, urgent_first
from timeful.core.clock import VirtualClock
from timeful.environments.inbox.mail import draw_mail
from timeful.environments.inbox.policy import answer_urgent
from timeful.environments.inbox.task import draw_task
from timeful.environments.inbox.world import Inbox
from timeful.interfaces.make import make_interface
from timeful.models.filler_text import FillerModel, Passage
from timeful.models.kinds import ApiKey
from timeful.models.model import Model
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child, child_seed
from timeful.suites.engagement.inbox.episode import InboxEpisode

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
            settings=episode.settings(),
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
        agent=partial(
            assistant,
            writer=writer(episode, api_key=api_key),
            triage=triage(episode, api_key=api_key),
            task=task,
            briefing=Briefing(
                world=episode.world, hints=episode.hints, priced_by=episode.priced_by
            ),
        ),
        clock=VirtualClock(),
        recorder=recorder,
    )


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
