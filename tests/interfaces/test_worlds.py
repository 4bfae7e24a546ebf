"""Every world of the project under every interface that it can have."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.environments.kitchen.menus import case, critical, soft
from tests.environments.timed.tasks import Counting
from tests.interfaces.bells import Bells, halves
from tests.runs.test_module import walker
from timeful import SearchModel
from timeful.agents.agile import agile
from timeful.agents.assistant import assistant
from timeful.agents.connection import Interface
from timeful.agents.controller import ControllerSettings, controller
from timeful.agents.planning import planning
from timeful.agents.proactive.agent import proactive
from timeful.agents.proactive.retrieval import EAGER, retrieval
from timeful.agents.proactive.settings import load_agent
from timeful.agents.prompt_kit import prompt_kit
from timeful.agents.reactive import reactive
from timeful.agents.session import Agent, Session
from timeful.agents.tabular.deliberation import DeliberationLearner, DeliberationPolicy, deliberate
from timeful.agents.tabular.patrol import patrol
from timeful.agents.tool_user import tool_user
from timeful.core.clock import VirtualClock
from timeful.core.units import Duration, Instant, milliseconds, seconds
from timeful.dialogues.prediction import Prediction
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.environments.deliberation.settings import SEQUENTIAL
from timeful.environments.deliberation.world import Deliberation
from timeful.environments.dialogue.timing import Paced
from timeful.environments.dialogue.world import Conversation
from timeful.environments.environment import Environment
from timeful.environments.inbox.mail import draw_mail
from timeful.environments.inbox.policy import answer_urgent
from timeful.environments.inbox.task import draw_task
from timeful.environments.inbox.world import Inbox
from timeful.environments.kitchen.policy import reflex
from timeful.environments.kitchen.settings import KitchenSettings
from timeful.environments.kitchen.world import Kitchen
from timeful.environments.patrol.settings import MODULE
from timeful.environments.patrol.world import RESPOND, Patrol
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.environments.ticking import Ticking
from timeful.environments.timed.latency import Uniform
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.errors import SettingsError
from timeful.interfaces.compatibility import IMPOSSIBLE, INTERFACES, WORLDS, check_fits
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.interfaces.frozen import Frozen
from timeful.interfaces.loop import Loop
from timeful.interfaces.polling import Polling
from timeful.interfaces.reflex import Reflex
from timeful.models.filler_text import FillerModel
from timeful.models.model import Message
from timeful.models.pace import Pace, tokens
from timeful.models.rules import RuleModel
from timeful.models.scripted import ScriptedModel
from timeful.records.events import EpisodeEnded, EpisodeFailed, Happened, Observed, Turned
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.runs.module import Module
from timeful.seeding import child
from timeful.suites.engagement.inbox.episode import InboxEpisode
from timeful.suites.engagement.inbox.play import triage, writer
from timeful.suites.engagement.kitchen.play import passage
from timeful.suites.engagement.kitchen.rules import Cook

ROOT = Path(__file__).parents[2]
FITTING = [pair for pair in product(WORLDS, INTERFACES) if pair not in IMPOSSIBLE]


@dataclass(frozen=True)
class Setup:
    """A world, who lives in it, and how fast an interface is that has a span of its own."""

    make: Callable[[], tuple[Environment, Agent]]
    span: Duration
    rule: Callable[[Any], str | None]
    ticks: bool = False


def law(name: str, setup: Setup) -> Interface:
    laws: dict[str, Interface] = {
        "event-driven": partial(EventDriven, full=False),
        "loop": partial(Loop, full=False),
        "polling": partial(Polling, interval=setup.span, cost=Duration(0), full=False),
        "reflex": partial(Reflex, rule=setup.rule, delay=Duration(0), full=False),
        "fixed-rate": partial(FixedRate, period=None if setup.ticks else setup.span, full=False),
        "frozen": partial(Frozen, patience=Duration(100 * setup.span), full=False),
    }
    return laws[name]


def game(name: str, agent: str) -> Setup:
    """Two models search where that is fast; elsewhere they say where to go."""
    book = prompt_kit(name)
    fast = name == "freeway"
    says = ScriptedModel(lambda _: "so far so good \\boxed{U}")
    planner = SearchModel.deep() if fast else says
    reactor = SearchModel.shallow() if fast else says
    span = tokens(2048)
    agents: dict[str, Agent] = {
        "reactive": partial(reactive, model=reactor, prompts=book, budget=tokens(1500)),
        "planning": partial(planning, model=planner, prompts=book),
        "agile": partial(
            agile, planner=planner, reactor=reactor, prompts=book, reserve=tokens(512)
        ),
    }
    return Setup(
        lambda: (Ticking(make_game(name, difficulty="easy", seed=0), span), agents[agent]),
        tokens(700),
        lambda _: "U",
        ticks=True,
    )


def deliberation() -> tuple[Environment, Agent]:
    learner = DeliberationLearner(slack_edges=(seconds(1.0),))
    values = np.zeros((2, 3, SEQUENTIAL.modes))
    policy = DeliberationPolicy(learner=learner, values=values)
    world = Deliberation(SEQUENTIAL, child(0, "tasks"))
    return world, partial(deliberate, policy=policy, durations=SEQUENTIAL.durations)


def rounds() -> tuple[Environment, Agent]:
    settings = replace(MODULE, horizon=200)
    table = np.ones(settings.situations, dtype=np.bool_)
    return Patrol(settings, child(0, "alarms")), partial(patrol, table=table)


def inbox() -> tuple[Environment, Agent]:
    spec = InboxEpisode(
        decomposition="single", interface="loop", policy="urgent-first", seed=0, episode=0
    )
    task = draw_task("single", target=spec.world.scoring.target, rng=child(0, "task"))
    world = Inbox(spec.world, draw_mail(spec.world, child(0, "mail")), task.units)
    return world, partial(assistant, writer=writer(spec), triage=triage(spec), task=task)


def kitchen() -> tuple[Environment, Agent]:
    world = Kitchen(case(critical(), soft()), KitchenSettings(), child(0, "jitter"))
    agent = partial(
        controller,
        model=RuleModel(Cook(), name="rules"),
        tutor=FillerModel(passage),
        settings=ControllerSettings(calls=40),
    )
    return world, agent


def task() -> tuple[Environment, Agent]:
    call = '<tool_call>{"name": "count", "arguments": {"by": 1}}</tool_call>'
    says = ScriptedModel([*3 * [f"one more {call} and {call}"], "that is all"])
    settings = TimeSettings(budget=seconds(20), latency=Uniform(seconds(1), seconds(3)))
    agent = partial(tool_user, model=says, briefing=lambda view, _: [Message("user", view.text())])
    return TimedTask(Counting(), settings, seed=0), agent


def dialogue() -> tuple[Environment, Agent]:
    """It goes on at a pace; its model loses some turns, but not all, by thinking."""
    domain = load_domain("shop")
    (talk,) = generate(domain, n=1, seed=0)
    world = Conversation(talk, Paced(), seed=0, actions=domain.knowledge.catalog.actions)
    agent = partial(
        proactive,
        model=retrieval(domain.knowledge, threshold=EAGER, pace=Pace(per_token=milliseconds(10))),
        file=load_agent("reasoning-asg"),
        catalog=domain.knowledge.catalog,
        asks=True,
    )
    return world, agent


def nothing_to_do(view: Any) -> Prediction | None:
    """Somebody's own turn asks for nothing: predict that at once."""
    latest = view.turns[-1] if view.turns else None
    is_open = latest is not None and not view.speaking and not view.predicted
    return Prediction(turn=latest.number) if is_open and latest.observed else None


def module() -> tuple[Environment, Agent]:
    async def upper(session: Session) -> None:
        while not session.over:
            await session.act("walk:30")
            await session.wait_for_tick()

    bells = Bells([Instant(halves(ring)) for ring in (3, 50, 90)], Instant(halves(200)))
    lower = partial(EventDriven, full=False)
    return Module(walker, bells, lower, name="walker", orders=("walk:30",)), upper


SETUPS = {
    "deliberation": Setup(deliberation, milliseconds(300), lambda _: None),
    "patrol": Setup(
        rounds, seconds(3), lambda view: None if view.choice is None else RESPOND, ticks=True
    ),
    "inbox": Setup(inbox, seconds(15), answer_urgent),
    "kitchen": Setup(kitchen, tokens(40), reflex),
    "task": Setup(task, seconds(1.3), lambda _: None),
    "dialogue": Setup(dialogue, seconds(1), nothing_to_do),
    "module": Setup(module, tokens(7), lambda _: None),
}


def cases() -> Iterator[Any]:
    for world, name in FITTING:
        for agent in ("reactive", "planning", "agile") if world in GAME_NAMES else ("",):
            setup = game(world, agent) if agent else SETUPS[world]
            yield pytest.param(setup, name, id=f"{world}-{agent}-{name}".replace("--", "-"))


def play(setup: Setup, name: str) -> Recorder:
    recorder = Recorder()
    environment, agent = setup.make()
    play_episode(
        EpisodeSetting(settings={}, seed=0, transcripts="answers"),
        environment=environment,
        interface=law(name, setup),
        agent=agent,
        clock=VirtualClock(),
        recorder=recorder,
    )
    return recorder


@pytest.mark.parametrize(("setup", "name"), list(cases()))
def test_a_world_runs_under_every_interface_it_can_have(setup: Setup, name: str) -> None:
    events = play(setup, name).events
    assert not [e for e in events if isinstance(e, EpisodeFailed)]
    assert isinstance(events[-2], EpisodeEnded)
    happened = [e for e in events if isinstance(e, Happened | Turned)]
    observed = [e for e in events if isinstance(e, Observed)]
    assert [e.turn for e in observed] == list(range(1, len(happened) + 1))
    assert [e.happened_at for e in observed] == [e.at for e in happened]
    late = [e.at - e.happened_at for e in observed]
    most = {
        "loop": max(late),
        "polling": setup.span,
        "fixed-rate": 0 if setup.ticks else setup.span,
    }
    assert 0 <= min(late) <= max(late) <= most.get(name, 0)


@pytest.mark.parametrize("pair", IMPOSSIBLE, ids="-".join)
def test_an_interface_that_a_world_cannot_have_is_refused_with_the_reason(
    pair: tuple[str, str],
) -> None:
    world, name = pair
    assert world in WORLDS
    assert name in INTERFACES
    with pytest.raises(SettingsError, match=f"{world} cannot have.*{IMPOSSIBLE[pair]}; it can"):
        check_fits(world, name)


def test_names_that_are_unknown_are_refused_and_the_others_fit() -> None:
    for world, name in FITTING:
        check_fits(world, name)
    with pytest.raises(SettingsError, match="Did you mean 'loop'"):
        check_fits("inbox", "lop")
    with pytest.raises(SettingsError, match=r"there are: event-driven, loop, polling, reflex\."):
        check_fits("inbox", "event")
    with pytest.raises(SettingsError, match=r"there are: loop\."):
        check_fits("kitchen", "event-driven", among=("loop", "frozen"))
    with pytest.raises(SettingsError, match="Did you mean 'inbox'"):
        check_fits("inbx", "loop")
    assert set(GAME_NAMES) | set(SETUPS) == set(WORLDS)


def test_each_interface_has_a_file_and_the_page_shows_the_same_table() -> None:
    page = (ROOT / "docs" / "interfaces.md").read_text()
    for name in INTERFACES:
        assert (ROOT / "src" / "timeful" / "interfaces" / f"{name.replace('-', '_')}.py").exists()
        assert f"`{name}`" in page
    head = "| world | " + " | ".join(INTERFACES) + " |"
    assert head in page
    for world in WORLDS:
        cells = ["no" if (world, name) in IMPOSSIBLE else "yes" for name in INTERFACES]
        assert f"| {world} | " + " | ".join(cells) + " |" in page
    for (world, name), why in IMPOSSIBLE.items():
        assert f"* {world}, {name}: {why}" in page
