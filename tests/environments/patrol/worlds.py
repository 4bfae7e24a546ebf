"""Patrols for tests: every flag varied, and alarms put where a test wants them."""

from dataclasses import replace
from typing import get_args

from hypothesis import strategies as st

from timeful.environments.patrol.dynamics import State, begin
from timeful.environments.patrol.settings import (
    DEPTH_2,
    DEPTH_3,
    MODULE,
    AfterAlarm,
    AfterInterruption,
    Dynamics,
    PatrolSettings,
    Places,
)

DYNAMICS = st.builds(
    Dynamics,
    is_aged_first=st.booleans(),
    after_interruption=st.sampled_from(get_args(AfterInterruption)),
    is_free_at_start=st.booleans(),
    after_alarm=st.sampled_from(get_args(AfterAlarm)),
    is_walking_on=st.booleans(),
    alarms=st.sampled_from(get_args(Places)),
    switch_ticks=st.integers(0, 2),
)
"""Every flag that changes a tick."""


@st.composite
def patrols(draw: st.DrawFn, horizon: int) -> PatrolSettings:
    """One of the paper's worlds with other dynamics, shorter and with more alarms."""
    world = draw(st.sampled_from((MODULE, DEPTH_2, DEPTH_3)))
    return replace(
        world,
        horizon=horizon,
        alarm_probability=draw(st.sampled_from((0.07, 0.15, 0.6))),
        dynamics=draw(DYNAMICS),
    )


def alarmed(world: PatrolSettings, cell: tuple[int, int], deadline: int) -> State:
    """The start of a patrol, with an alarm that has just gone off."""
    state = State()
    begin(world.rules(), state)
    state.alarm = state.alarms = 1
    state.alarm_row, state.alarm_col = cell
    state.deadline = deadline
    return state
