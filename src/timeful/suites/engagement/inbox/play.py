"""Playing one inbox episode."""

from functools import partial

from timeful.agents.assistant import assistant
from timeful.agents.prompts.inbox import Briefing, Writing
from timeful.agents.triage import as_recommended, urgent_first
from timeful.core.clock import VirtualClock
from timeful.core.units import NO_TIME
from timeful.environments.inbox.mail import draw_mail
from timeful.environments.inbox.policy import answer_urgent
from timeful.environments.inbox.task import draw_task
from timeful.environments.inbox.world import Inbox
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex
from timeful.models.filler_text import FillerModel, Passage
from timeful.models.model import Model
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, Interface, play_episode
from timeful.seeding import child, child_seed
from timeful.suites.engagement.inbox.spec import InboxSpec

_RULES = {"stand-in": as_recommended, "urgent-first": urgent_first}

_WORDS = ("the plan", "then", "our team", "date", "owner", "risk", "each step", "goal", "review")
"""What the stand-in writes with; nobody reads it."""


def play(spec: InboxSpec, recorder: Recorder, *, api_key: str = "") -> bool:
    """Play an episode and write its record; True if it came to its end.

    All interfaces and policies meet the same post and the same main task.
    """
    place = ("inbox", spec.seed, spec.episode)
    mail = draw_mail(spec.world, child(0, *place, "mail"))
    task = draw_task(
        spec.decomposition,
        target=spec.world.scoring.target,
        rng=child(0, *place, "task", spec.decomposition),
    )
    return play_episode(
        EpisodeSetting(
            settings=spec.settings(),
            seed=child_seed(0, *place, "session"),
            transcripts=spec.transcripts,
        ),
        environment=Inbox(spec.world, mail, task.units),
        interface=interface(spec),
        agent=partial(
            assistant,
            writer=writer(spec, api_key=api_key),
            triage=triage(spec, api_key=api_key),
            task=task,
            briefing=Briefing(world=spec.world, hints=spec.hints, priced_by=spec.priced_by),
        ),
        clock=VirtualClock(),
        recorder=recorder,
    )


def interface(spec: InboxSpec) -> Interface:
    """The law that joins the agent's time to the world's.

    A poll itself costs nothing: whoever finds something by it looks into the inbox, and that
    takes its time.
    """
    full = spec.transcripts == "full"
    match spec.interface:
        case "polling":
            return partial(Polling, interval=spec.poll, cost=NO_TIME, full=full)
        case "loop":
            return partial(Loop, full=full)
        case "reflex":
            return partial(Reflex, rule=answer_urgent, delay=NO_TIME, full=full)
    return partial(EventDriven, full=full)


def writer(spec: InboxSpec, *, api_key: str = "") -> Model:
    """Who writes the main task."""
    pace = spec.writing_pace
    return spec.writer.make(
        lambda: FillerModel(_passage, pace=pace), pace=pace, scope=spec.key, api_key=api_key
    )


def _passage(writing: Writing) -> Passage:
    part = writing.part
    return Passage(opening=part.heading, words=_WORDS, tokens=part.tokens)


def triage(spec: InboxSpec, *, api_key: str = "") -> Model:
    """Who decides about emails."""
    pace = spec.triage_pace
    return spec.triage.make(
        lambda: RuleModel(_RULES[spec.policy], name=spec.policy, pace=pace),
        pace=pace,
        scope=spec.key,
        api_key=api_key,
    )
