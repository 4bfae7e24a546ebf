"""A patrol's tick: the law of d + 2, what is lost and paid, and one definition at two speeds."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.patrol.worlds import alarmed, patrols
from timeful.compiled import compiled
from timeful.environments.patrol import episodes
from timeful.environments.patrol.dynamics import (
    ANSWERING,
    HANDLING,
    NAVIGATING,
    RESOLVING,
    WALKING_ON,
    State,
    begin,
    can_respond,
    goes_off,
    set_off,
    tick,
)
from timeful.environments.patrol.episodes import COUNTS, fresh_state, play
from timeful.environments.patrol.settings import DEPTH_2, DEPTH_3, MODULE, Dynamics, PatrolSettings
from timeful.seeding import child


def run(world: PatrolSettings, state: State, ticks: int, respond: bool = False) -> list[float]:
    """Some ticks without new alarms; a response in the first of them."""
    return [tick(world.rules(), state, respond and not k) for k in range(ticks)]


def test_handling_a_checkpoint_takes_its_ticks_and_the_way_its_steps():
    state = State()
    begin(MODULE.rules(), state)
    assert run(MODULE, state, 20) == [0.0] * 19 + [1.0]
    assert (state.mode, state.checkpoint, state.boundary) == (NAVIGATING, 1, 1)
    run(MODULE, state, 6)
    assert (state.mode, state.row, state.col, state.boundary) == (NAVIGATING, 0, 6, 0)
    run(MODULE, state, 1)
    assert (state.mode, state.row, state.col, state.boundary) == (HANDLING, 0, 7, 1)
    assert run(MODULE, state, 20)[-1] == 1.0  # handling begins in the tick after the arrival


def test_a_quiet_round_goes_through_all_phases_of_all_checkpoints():
    state = State()
    begin(DEPTH_3.rules(), state)
    boundaries = []
    for _ in range(4 * (18 + 5)):
        run(DEPTH_3, state, 1)
        if state.boundary:
            boundaries.append((state.tick, state.checkpoint, state.phase))
    assert boundaries[:4] == [(3, 0, 1), (8, 0, 2), (18, 1, 0), (23, 1, 0)]
    assert (state.checkpoints, state.checkpoint, state.score) == (4, 0, 4.0)


def test_the_golden_trace_of_an_alarm_that_is_answered_in_time():
    # From (0, 0) to (2, 1): rows first, three steps, then two ticks to resolve.
    state = alarmed(MODULE, (2, 1), deadline=5)
    rewards, trace = [], []
    for k in range(5):
        rewards += run(MODULE, state, 1, respond=not k)
        trace.append((state.row, state.col, state.mode, state.deadline))
    assert trace == [
        (1, 0, ANSWERING, 4),
        (2, 0, ANSWERING, 3),
        (2, 1, RESOLVING, 2),
        (2, 1, RESOLVING, 1),
        (2, 1, NAVIGATING, 1),
    ]
    assert rewards == [-0.5, -0.5, -0.5, -0.5, 25.0]  # d + 1 ticks are charged
    assert (state.resolved, state.expired, state.alarm, state.boundary) == (1, 0, 0, 1)


def test_the_golden_trace_of_an_alarm_that_expires_in_the_last_tick():
    state = alarmed(MODULE, (2, 1), deadline=4)
    assert run(MODULE, state, 4, respond=True) == [-0.5, -0.5, -0.5, -20.5]
    assert (state.resolved, state.expired, state.alarm) == (0, 1, 0)
    assert (state.mode, state.boundary) == (NAVIGATING, 1)  # freed at once


@given(row=st.integers(0, 7), col=st.integers(0, 7), deadline=st.integers(1, 30))
def test_an_answer_is_in_time_exactly_if_distance_plus_two_is_at_most_the_deadline(
    row, col, deadline
):
    state = alarmed(MODULE, (row, col), deadline)
    run(MODULE, state, 40, respond=True)
    # To arrive where one is takes a tick as well.
    assert state.resolved == (max(row + col, 1) + 2 <= deadline)
    assert state.resolved + state.expired == 1


def test_an_alarm_that_is_ignored_is_charged_until_it_expires():
    state = alarmed(MODULE, (7, 7), deadline=14)
    assert sum(run(MODULE, state, 14)) == -14 * 0.5 - 20
    assert (state.active_ticks, state.expired, state.left) == (14, 1, 6)


@pytest.mark.parametrize(
    ("after", "phase", "left"), [("keep", 1, 7), ("restart phase", 1, 10), ("restart", 0, 4)]
)
def test_what_becomes_of_handling_that_was_left(after, phase, left):
    world = replace(DEPTH_2, dynamics=Dynamics(after_interruption=after))
    state = alarmed(world, (6, 6), deadline=40)
    run(world, state, 7)
    assert run(world, state, 1, respond=True) == [-0.5 - 5.0]  # the cost of "commit"
    assert (state.phase, state.left, state.interrupt_cost, state.interruptions) == (
        phase,
        left,
        5.0,
        1,
    )


@pytest.mark.parametrize(("is_free", "cost"), [(True, 0.0), (False, 5.0)])
def test_leaving_right_at_the_start_of_a_phase_is_free_unless_set_otherwise(is_free, cost):
    world = replace(DEPTH_2, dynamics=Dynamics(is_free_at_start=is_free))
    state = alarmed(world, (6, 6), deadline=40)
    run(world, state, 4)
    run(world, state, 1, respond=True)
    assert (state.interrupt_cost, state.phase, state.left) == (cost, 0, 4)


@pytest.mark.parametrize(("after", "checkpoint"), [("same", 0), ("nearest", 3), ("next", 1)])
def test_which_checkpoint_comes_after_an_alarm(after, checkpoint):
    world = replace(MODULE, dynamics=Dynamics(after_alarm=after))
    state = alarmed(world, (7, 0), deadline=20)
    run(world, state, 9, respond=True)
    assert (state.resolved, state.checkpoint) == (1, checkpoint)
    assert state.mode == (HANDLING if after == "nearest" else NAVIGATING)


def test_an_agent_that_walks_on_is_free_only_where_the_alarm_was():
    world = replace(MODULE, dynamics=Dynamics(is_walking_on=True))
    state = alarmed(world, (7, 0), deadline=3)
    run(world, state, 3, respond=True)
    assert (state.mode, state.boundary, state.expired) == (WALKING_ON, 0, 1)
    assert not can_respond(state, False)
    run(world, state, 4)
    assert (state.row, state.mode, state.boundary) == (7, NAVIGATING, 1)


def test_switching_and_ageing_first_each_cost_a_tick_of_slack():
    for dynamics_of in (Dynamics(switch_ticks=1), Dynamics(is_aged_first=True)):
        world = replace(MODULE, dynamics=dynamics_of)
        for deadline, resolved in ((9, 0), (10, 1)):
            state = alarmed(world, (7, 0), deadline)
            run(world, state, 12, respond=True)
            assert state.resolved == resolved


def test_who_is_freed_by_an_expiry_before_acting_begins_anew_with_the_next_tick():
    world = replace(DEPTH_2, dynamics=Dynamics(is_aged_first=True, after_alarm="nearest"))
    state = alarmed(world, (1, 1), deadline=2)
    run(world, state, 2, respond=True)
    assert (state.expired, state.mode, state.boundary, state.left) == (1, HANDLING, 1, 4)


@settings(max_examples=60)
@given(world=patrols(horizon=150), seed=st.integers(0, 2**32), is_loop=st.booleans())
def test_no_alarm_is_lost_and_every_reward_is_accounted_for(world, seed, is_loop):
    rng, rules, state = child(seed, "conserve"), world.rules(), State()
    begin(rules, state)
    total = 0.0
    for _ in range(world.horizon):
        respond = can_respond(state, is_loop) and bool(rng.random() < 0.5)
        total += tick(rules, state, respond)
        if goes_off(rules, state, rng):
            set_off(rules, state, rng)
            assert world.deadlines[0] <= state.deadline <= world.deadlines[1]
            way = abs(state.row - state.alarm_row) + abs(state.col - state.alarm_col)
            assert way >= world.alarm_distance
            place = (state.alarm_row, state.alarm_col)
            assert world.dynamics.alarms == "anywhere" or place in world.checkpoints
        assert 0 <= state.row < world.size
        assert 0 <= state.col < world.size
    assert state.resolved + state.expired + state.alarm == state.alarms
    earned = state.checkpoints + 25.0 * state.resolved - 20.0 * state.expired
    assert total == state.score == earned - 0.5 * state.active_ticks - state.interrupt_cost
    assert not (is_loop and world.dynamics.is_free_at_start and state.interrupt_cost)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(world=patrols(horizon=80), seed=st.integers(0, 2**32), is_loop=st.booleans())
def test_compiled_episodes_are_the_plain_ones_bit_for_bit(world, seed, is_loop):
    table = child(seed, "policy").random(world.situations) < 0.6
    fast = compiled(episodes)
    found = []
    for module, function in ((episodes, play), (fast, fast.play)):
        counts, state = np.zeros((3, len(COUNTS))), fresh_state(module)
        rng = child(seed, "episodes")
        function(world.rules(), state, table, is_loop, rng, counts)
        names = State.__dataclass_fields__
        last = [getattr(state, name) for name in names]
        found.append((counts.tobytes(), last, rng.bit_generator.state))
    assert found[0] == found[1]


def test_the_same_seed_plays_the_same_episodes_and_another_does_not():
    def played(seed: int) -> bytes:
        counts, state = np.zeros((2, len(COUNTS))), State()
        table = np.ones(MODULE.situations, np.bool_)
        play(MODULE.rules(), state, table, False, child(seed, "episodes"), counts)
        return counts.tobytes()

    assert played(42) == played(42) != played(43)


def test_a_new_episode_begins_with_nothing_of_the_last():
    state = State()
    begin(DEPTH_2.rules(), state)
    fresh = astuple(state)
    rng = child(1, "restart")
    for _ in range(300):
        tick(DEPTH_2.rules(), state, can_respond(state, False))
        if goes_off(DEPTH_2.rules(), state, rng):
            set_off(DEPTH_2.rules(), state, rng)
    begin(DEPTH_2.rules(), state)
    assert astuple(state) == fresh
