"""Playing one episode of the kitchen experiments."""

from collections.abc import Callable
from functools import partial

from timeful.agents.controller import ControllerSettings, controller
from timeful.agents.prompts.kitchen import Briefing
from timeful.core.clock import VirtualClock
from timeful.environments.game import View
from timeful.environments.kitchen.actions import Action
from timeful.environments.kitchen.policy import reflex
from timeful.environments.kitchen.settings import in_ticks
from timeful.environments.kitchen.view import KitchenView
from timeful.environments.kitchen.world import Kitchen
from timeful.interfaces.make import make_interface
from timeful.models.filler_text import FillerModel
from timeful.models.pace import TOKEN_TIME
from timeful.models.rules import RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child, child_seed
from timeful.suites.engagement.kitchen.rules import passage
from timeful.suites.engagement.kitchen.spec import KitchenSpec, Law, Rig


def play(spec: KitchenSpec, recorder: Recorder, *, api_key: str = "") -> bool:
    """Play an episode and write its record; True if it came to its end.

    Time is counted in tokens whoever speaks: an endpoint's tokens cost a tick each, however
    fast they come.
    """
    rig = spec.rig
    # The same luck for every method: a case is the same case under all of them.
    purpose = ("kitchen", spec.setting, spec.sample, spec.case.name)
    model = rig.controller.make(
        lambda: RuleModel(spec.cook, name="rules"),
        pace=TOKEN_TIME,
        scope=spec.key,
        api_key=api_key,
    )
    tutor = rig.tutor.make(
        lambda: FillerModel(passage), pace=TOKEN_TIME, scope=spec.key, api_key=api_key
    )
    settings = ControllerSettings(
        calls=spec.calls,
        resumption=rig.resumption,
        briefing=Briefing(
            rule=RULES[spec.method.law](rig) if rig.prompt == "published" else "",
            world=rig.world,
        ),
    )
    return play_episode(
        EpisodeSetting(
            settings=spec.settings(),
            seed=child_seed(0, *purpose),
            transcripts=rig.transcripts,
        ),
        environment=Kitchen(spec.case, rig.world, child(0, *purpose, "jitter")),
        interface=make_interface(
            spec.method.law,
            span={"polling": rig.interval, "reflex": rig.delay}.get(spec.method.law),
            rule=_reflex,
            full=rig.transcripts == "full",
        ),
        agent=partial(controller, model=model, tutor=tutor, settings=settings),
        clock=VirtualClock(),
        recorder=recorder,
    )


def _reflex(view: View) -> Action | None:
    return reflex(view) if isinstance(view, KitchenView) else None


RULES: dict[Law, Callable[[Rig], str]] = {
    "loop": lambda _: (
        "While you tutor, signals stay hidden from you. You are shown those that came in the "
        "meantime when the tutoring you asked for is over."
    ),
    "polling": lambda rig: (
        f"While you tutor, the kitchen is looked at every {in_ticks(rig.interval):g} ticks, for "
        "the fee of a check. If a look finds a signal, tutoring is interrupted and you decide."
    ),
    "reflex": lambda _: (
        "A signal interrupts tutoring at once. Before you are asked, the most urgent dish that "
        "has signalled is finished for you; then you decide how to go on."
    ),
    "event-driven": lambda _: (
        "A signal interrupts tutoring at once and you decide: finish the dish, leave it for "
        "later, go on tutoring, or do something else."
    ),
}
"""What a controller is told about its interface, in words of our own."""
