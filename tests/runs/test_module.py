"""A module is an environment of the agent above it, on the same timeline and in the same record."""

from functools import partial
from typing import Any

import pytest

from tests.core.machine import FakeMachine
from tests.interfaces.bells import LAWS, PROMPT, Bells, halves, thinker
from timeful.agents.connection import Interface
from timeful.agents.session import Agent, Session
from timeful.core.clock import Clock, VirtualClock
from timeful.core.units import Instant
from timeful.errors import SettingsError
from timeful.models.pace import tokens
from timeful.records.events import (
    Acted,
    EpisodeEnded,
    EpisodeFailed,
    Happened,
    Noted,
    Observed,
    ThoughtStarted,
    Within,
)
from timeful.records.recorder import Recorder, read_record, within
from timeful.records.timeline import line
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.runs.module import DONE, InnerView, Module, ModuleView

EVENT_DRIVEN = LAWS["event-driven"]


def porter(rings: tuple[int, ...] = (), end: int = 200) -> Bells:
    return Bells([Instant(halves(ring)) for ring in rings], Instant(halves(end)))


async def walker(session: Session) -> None:
    """Walks as it is told, reports every bell, and says so when a walk is over."""
    while not session.over:
        for seen in session.observe():
            if seen.event == "order":
                session.act(seen.data["text"])
            elif seen.event == "bell":
                session.act(f"report bell {seen.data['number']}")
            elif seen.event == "arrived":
                session.act("done walking")
        await session.run_until_event()


def play(
    upper: Agent,
    *,
    law: Interface = EVENT_DRIVEN,
    lower_law: Interface = EVENT_DRIVEN,
    lower: Agent = walker,
    rings: tuple[int, ...] = (),
    clock: Clock | None = None,
    recorder: Recorder | None = None,
    layers: int = 1,
) -> Recorder:
    recorder = recorder or Recorder()
    world: Any = porter(rings)
    for depth in range(layers):
        agent = lower if depth == 0 else relay
        orders = ("walk:8", "walk:30")
        world = Module(agent, world, lower_law, name=f"m{layers - depth}", orders=orders)
    play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=world,
        interface=law,
        agent=upper,
        clock=clock or VirtualClock(),
        recorder=recorder,
    )
    return recorder


async def relay(session: Session) -> None:
    """Hands orders down and reports up."""
    while not session.over:
        for seen in session.observe():
            text = seen.data["text"]
            session.act(text if seen.event == "order" else f"{seen.event} {text}")
        await session.wait_for_tick()


def of(events: Any, kind: type) -> list[Any]:
    return [event for event in events if type(event) is kind]


@pytest.mark.parametrize("layers", [1, 3])
def test_orders_go_down_and_reports_come_up_at_their_own_instants(layers: int) -> None:
    async def upper(session: Session) -> None:
        await session.sleep_until(Instant(tokens(2)))
        assert await session.act("walk:8")
        assert session.now == tokens(6), "the walk itself takes time, the way there none"
        await session.run_until_event()
        assert session.now == halves(21)
        view = session.view
        assert isinstance(view, ModuleView)
        assert (view.at, view.report) == (halves(21), "bell 1")
        assert [(s.at, s.event, s.data["text"]) for s in session.observe()] == [
            (tokens(6), DONE, "walking"),
            (halves(21), "report", "bell 1"),
        ]
        session.note("came", "to its end")

    events = play(upper, rings=(21,), layers=layers).events
    assert of(events, EpisodeEnded)[0].at == halves(200)
    assert of(events, Noted)
    name = "/".join(f"m{depth + 1}" for depth in range(layers))
    [walk] = [e for e in of(within(events, name), Acted) if e.action == "walk:8"]
    assert walk.at == tokens(2)
    happened = [(e.at, e.what) for e in of(within(events, name), Happened)]
    assert happened == [
        (tokens(2), "order"),
        (tokens(6), "arrived"),
        (halves(21), "bell"),
        (halves(200), "closing"),
    ]


def test_a_module_sees_its_world_and_its_orders_side_by_side() -> None:
    seen = []

    async def lower(session: Session) -> None:
        while not session.over:
            await session.wait_for_tick()
            view = session.view
            assert isinstance(view, InnerView)
            seen.append((session.now // halves(1), view.turn, view.order, view.world.turn))

    async def upper(session: Session) -> None:
        await session.sleep_until(Instant(halves(30)))
        session.act("walk:8")

    play(upper, lower=lower, rings=(10, 40))
    assert seen[:3] == [(10, 1, "", 1), (30, 2, "walk:8", 1), (40, 3, "walk:8", 2)]


def test_a_plan_can_change_in_motion_and_is_busy_until_the_module_is_done() -> None:
    async def upper(session: Session) -> None:
        assert session.act("walk:30")
        await session.sleep(tokens(2))
        assert await session.act("walk:8")
        assert session.now == tokens(15), "the module was told, and finished what it was at"
        session.note("came", "to its end")

    recorder = play(upper)
    assert of(recorder.events, Noted)
    refused = [e for e in of(within(recorder.events, "m1"), Acted) if not e.legal]
    assert [e.action for e in refused] == ["walk:8"], "it is for the module to carry out an order"


def test_an_order_that_no_module_knows_is_illegal_and_names_those_there_are() -> None:
    async def upper(session: Session) -> None:
        assert not session.act("fly 3")

    [acted] = of(play(upper).events, Acted)
    assert acted.error == "illegal action 'fly 3'; legal actions are walk:8 ..., walk:30 ..."


@pytest.mark.parametrize(
    ("law", "seen_at"), [("event-driven", 21), ("polling", 28), ("fixed-rate", 30), ("loop", 60)]
)
def test_the_interface_above_decides_when_a_report_is_seen(law: str, seen_at: int) -> None:
    async def upper(session: Session) -> None:
        await session.think(thinker(), PROMPT, max_tokens=30)

    events = play(upper, law=LAWS[law], rings=(21,)).events
    assert of(events, Observed)[0].at == halves(seen_at)
    assert of(events, Observed)[0].happened_at == halves(21)


@pytest.mark.parametrize(
    ("law", "seen_at"), [("event-driven", 21), ("polling", 28), ("fixed-rate", 30), ("loop", 60)]
)
def test_the_interface_within_decides_when_an_order_is_seen(law: str, seen_at: int) -> None:
    async def lower(session: Session) -> None:
        await session.think(thinker(), PROMPT, max_tokens=30)

    async def upper(session: Session) -> None:
        await session.sleep_until(Instant(halves(21)))
        session.act("walk:8")

    events = play(upper, lower=lower, lower_law=LAWS[law]).events
    assert of(within(events, "m1"), Observed)[0].at == halves(seen_at)
    assert len(of(within(events, "m1"), ThoughtStarted)) == 1


def test_nobody_freezes_a_world_in_which_others_live() -> None:
    async def upper(session: Session) -> None: ...

    for laws in ({"law": LAWS["frozen"]}, {"lower_law": LAWS["frozen"]}):
        [failed] = of(play(upper, **laws).events, EpisodeFailed)
        assert failed.error.startswith(SettingsError.__name__)
        assert "others live" in failed.error


def test_an_agent_that_breaks_in_a_module_fails_the_episode() -> None:
    async def lower(session: Session) -> None:
        raise ValueError("down here")

    async def upper(session: Session) -> None: ...

    [failed] = of(play(upper, lower=lower).events, EpisodeFailed)
    assert (failed.boundary, failed.error) == ("agent", "ValueError: down here")


async def busy_upper(session: Session) -> None:
    while not session.over:
        thought = session.think(thinker(), PROMPT, max_tokens=9)
        while not await session.run_until_event(thought):
            session.observe()
        await session.act("walk:8")


@pytest.mark.parametrize("law", [law for law in LAWS if law not in ("frozen", "reflex")])
def test_the_same_modules_have_the_same_bytes_under_both_clocks(law: str) -> None:
    rule = {"rule": lambda _: None} if law == "slow-reflex" else {}
    interface = partial(LAWS[law], **rule) if rule else LAWS[law]  # type: ignore[call-arg]
    once = play(busy_upper, law=interface, rings=(3, 21, 22), layers=2)
    again = play(busy_upper, law=interface, rings=(3, 21, 22), layers=2)
    wall = play(
        busy_upper,
        law=interface,
        rings=(3, 21, 22),
        layers=2,
        clock=FakeMachine(overshoot=tokens(1)).clock(),
    )
    assert of(once.events, EpisodeEnded)
    assert once.sha256 == again.sha256 == wall.sha256


def test_a_record_of_modules_can_be_read_again(tmp_path: Any) -> None:
    recorder = Recorder(tmp_path / "record.jsonl")
    play(busy_upper, rings=(3, 21), layers=2, recorder=recorder)
    recorder.close()
    events = list(read_record(tmp_path / "record.jsonl"))
    assert within(events, "m1/m2") == within(recorder.events, "m1/m2") != []
    assert line(next(e for e in events if isinstance(e, Within))) == (
        "       0.002  happened         number=1 what=bell "
        'data={"number":1} reward=0.0 score=0.0 (m1/m2)'
    )


def test_a_module_that_is_reset_begins_the_same_episode_again() -> None:
    module = Module(walker, porter((21,)), EVENT_DRIVEN, name="m", orders=("walk:8",))
    hashes = set()
    for orders in ((), ("walk:8",)):
        module.intervene(orders, at=Instant(0))
        module.reset()
        recorder = Recorder()
        assert play_episode(
            EpisodeSetting(settings={}, seed=0),
            environment=module,
            interface=EVENT_DRIVEN,
            agent=busy_upper,
            clock=VirtualClock(),
            recorder=recorder,
        )
        hashes.add(recorder.sha256)
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"name": ""}, "without '/'"), ({"name": "a/b"}, "'a/b'"), ({"orders": ()}, "no orders")],
)
def test_a_module_that_cannot_be_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Module(walker, porter(), EVENT_DRIVEN, **({"name": "m", "orders": ("walk:8",)} | wrong))
