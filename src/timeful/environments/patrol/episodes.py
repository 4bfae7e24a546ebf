"""Whole episodes of a patrol by a table, for numba to compile, and the room to play them in."""

import sys
from dataclasses import fields
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from timeful.environments.patrol.dynamics import (
    Rules,
    State,
    begin,
    can_respond,
    goes_off,
    set_off,
    situation,
    tick,
)

COUNTS = (
    *("return", "alarms", "resolved", "expired", "active_ticks"),
    *("checkpoints", "interruptions", "interrupt_cost"),
)
"""The columns that `play` fills."""


def fresh_state(kernels: ModuleType) -> State:
    """Room for a patrol that a module of kernels works on: compiled ones take it as a record.

    A numpy record would do for both, but in Python it is 30 times slower than an object.
    """
    if kernels is sys.modules[kernels.__name__]:
        return State()
    record = np.dtype([(field.name, field.type) for field in fields(State)])
    state: State = np.zeros(1, record).view(np.recarray)[0]
    return state


def play(
    rules: Rules,
    state: State,
    table: NDArray[np.bool_],
    is_loop: bool,
    rng: np.random.Generator,
    counts: NDArray[np.float64],
) -> None:
    """Play one episode after the other.

    Args:
        rules: The settings.
        state: Room to work in.
        table: Whether to respond, for every `situation`.
        is_loop: Whether decisions wait for a boundary.
        rng: The chance of all episodes.
        counts: A row for each episode, filled with the columns of `COUNTS`.
    """
    for row in counts:
        begin(rules, state)
        for _ in range(rules.horizon):
            respond = can_respond(state, is_loop) and table[situation(state)]
            tick(rules, state, respond)
            if goes_off(rules, state, rng):
                set_off(rules, state, rng)
        row[0], row[1], row[2] = state.score, state.alarms, state.resolved
        row[3], row[4], row[5] = state.expired, state.active_ticks, state.checkpoints
        row[6], row[7] = state.interruptions, state.interrupt_cost
