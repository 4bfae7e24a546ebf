"""A patrol that is stepped through, and on the timeline: the same episodes as compiled ones."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.patrol.worlds import patrols
from timeful.agents.tabular.patrol import evaluate, patrol
from timeful.core.clock import VirtualClock
from timeful.core.units import Instant, seconds
from timeful.environments.patrol.settings import DEPTH_2, MODULE
from timeful.environments.patrol.world import CONTINUE, RESPOND, Patrol
from timeful.errors import IllegalActionError, WorldError
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.loop import Loop
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child


def until_alarm(world: Patrol) -> None:
    while world.legal_actions == (CONTINUE,):
        world.step()


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    world=patrols(horizon=60), seed=st.integers(0, 2**32), law=st.sampled_from((EventDriven, Loop))
)
def test_an_episode_on_the_timeline_is_the_compiled_one(world, seed, law):
    table = child(seed, "policy").random(world.situations) < 0.6
    on_timeline = Patrol(world, child(seed, "alarms"))
    assert play_episode(
        EpisodeSetting(settings={}, seed=0),
        environment=on_timeline,
        interface=partial(law, full=False),
        agent=partial(patrol, table=table),
        clock=VirtualClock(),
        recorder=Recorder(),
    )
    fast = evaluate(world, table, is_loop=law is Loop, episodes=1, rng=child(seed, "alarms"))
    assert on_timeline.counts() == {name: column[0] for name, column in fast.items()}
    assert on_timeline.score == fast["return"][0]


def test_one_agent_is_slower_under_a_loop_than_event_driven():
    waits = {}
    for law in (EventDriven, Loop):
        world = Patrol(MODULE, child(5, "alarms"))
        play_episode(
            EpisodeSetting(settings={}, seed=0),
            environment=world,
            interface=partial(law, full=False),
            agent=partial(patrol, table=child(0, "any").random(MODULE.situations) < 2),
            clock=VirtualClock(),
            recorder=Recorder(),
        )
        waits[law] = world.counts()["active_ticks"] / world.counts()["alarms"]
    assert waits[EventDriven] + 2 < waits[Loop]


def test_stepping_by_hand_and_advancing_are_the_same():
    by_hand, in_time = (Patrol(DEPTH_2, child(3, "alarms"), period=seconds(2)) for _ in range(2))
    events = []
    for k in range(200):
        action = RESPOND if RESPOND in by_hand.legal_actions else CONTINUE
        reward = by_hand.step(action)
        in_time.intervene([action], at=Instant(seconds(2) * k))
        assert in_time.advance(Instant(seconds(2) * (k + 1) - 1)) == ()
        (seen,) = in_time.advance(Instant(seconds(2) * (k + 1)))
        assert (seen.reward, seen.view) == (reward, by_hand.view())
        events.append(seen.event)
    assert in_time.counts() == by_hand.counts()
    for event in ("alarm", "resolved", "expired"):
        assert event in events


def test_an_alarm_can_be_answered_once_and_only_while_there_is_one():
    world = Patrol(MODULE, child(2, "alarms"))
    with pytest.raises(IllegalActionError, match="'respond'; legal actions are continue"):
        world.intervene([RESPOND], at=Instant(0))
    with pytest.raises(IllegalActionError):
        world.step("dance")
    assert world.view().turn == 0
    until_alarm(world)
    world.step(RESPOND)
    assert world.legal_actions == (CONTINUE,)


def test_of_several_interventions_in_one_tick_the_last_counts():
    world = Patrol(MODULE, child(2, "alarms"))
    until_alarm(world)
    world.intervene([RESPOND], at=Instant(0))
    world.intervene([CONTINUE], at=Instant(0))
    world.advance(world.next_change())
    assert world.view().doing == "handling"


def test_it_is_over_after_its_last_tick():
    world = Patrol(MODULE, child(2, "alarms"))
    assert len(world.advance(Instant(seconds(2000)))) == 1000
    assert world.is_over
    assert world.next_change() is None
    with pytest.raises(WorldError, match="reset"):
        world.step()
