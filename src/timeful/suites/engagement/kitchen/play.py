"""Playing one kitchen episode."""

from functools import partial

from timeful.agents.controller import ControllerSettings, controller
from timeful.agents.prompts.kitchen import Briefing
from timeful.core.clock import VirtualClock
from timeful.environments.game import View
from timeful.environments.kitchen.actions import Action
from timeful.environments.kitchen.policy import reflex
from timeful.environments.kitchen.settings import ticks
from timeful.environments.kitchen.view import KitchenView
from timeful.environments.kitchen.world import Kitchen
from timeful.interfaces.make import make_interface
from timeful.models.filler_text import FillerModel
from timeful.models.kinds import ApiKey
from timeful.models.pace import TOKEN_TIME
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child, child_seed
from timeful.suites.engagement.kitchen.episode import CALLS, KitchenEpisode
from timeful.suites.engagement.kitchen.rules import passage


def play(episode: KitchenEpisode, recorder: Recorder, *, api_key: ApiKey = "") -> bool:
    """Play an episode and write its record; True if it came to its end.

    Time is counted in tokens, also for an endpoint: each token costs one tick.
    """
    # The same random numbers for every method: a case is the same case under all of them.
    purpose = ("kitchen", episode.setting, episode.sample, episode.task.name)
    model = episode.controller.make(
        lambda: RuleModel(episode.cook, name="rules"),
        pace=TOKEN_TIME,
        scope=episode.key,
        api_key=api_key,
    )
    tutor = episode.tutor.make(
        lambda: FillerModel(passage), pace=TOKEN_TIME, scope=episode.key, api_key=api_key
    )
    settings = ControllerSettings(
        calls=CALLS[episode.setting] if episode.calls is None else episode.calls,
        resumption=episode.resumption,
        briefing=Briefing(
            rule=describe_interface(episode) if episode.prompt == "published" else "",
            world=episode.world,
        ),
    )
    spans = {"polling": ticks(episode.interval), "reflex": ticks(episode.delay)}
    return play_episode(
        EpisodeSetting(
            settings=recorder.settings or episode.settings(),
            seed=child_seed(0, *purpose),
            transcripts=episode.transcripts,
        ),
        environment=Kitchen(episode.task, episode.world, child(0, *purpose, "jitter")),
        interface=make_interface(
            episode.interface,
            span=spans.get(episode.interface),
            rule=_reflex,
            full=episode.transcripts == "full",
        ),
        agent=partial(controller, model=model, tutor=tutor, settings=settings),
        clock=VirtualClock(),
        recorder=recorder,
    )


def _reflex(view: View) -> Action | None:
    return reflex(view) if isinstance(view, KitchenView) else None


RULES = {
    "loop": "While you tutor, signals stay hidden from you. You are shown those that came in the "
    "meantime when the tutoring you asked for is over.",
    "polling": "While you tutor, the kitchen is looked at every {interval} ticks, for the fee of "
    "a check. If a look finds a signal, tutoring is interrupted and you decide.",
    "reflex": "A signal interrupts tutoring at once. Before you are asked, the most urgent dish "
    "that has signalled is finished for you; then you decide how to go on.",
    "event-driven": "A signal interrupts tutoring at once and you decide: finish the dish, leave "
    "it for later, go on tutoring, or do something else.",
}
"""The sentences about the interface in a controller's prompt, in words of our own."""


def describe_interface(episode: KitchenEpisode) -> str:
    """What a controller is told about its interface."""
    return RULES[episode.interface].format(interval=episode.interval)
