"""The law of a patrol's tick; read `tick` first.

An agent goes round checkpoints and handles each for a while; at random an alarm goes off at a
distant one, one at a time, and has to be reached and resolved before its deadline (Engagement
Process, section 5.1.2 and appendix C; the timing that the paper leaves open is the one under
which the published hand-written policies get their published results).

Plain functions of a record of numbers: a world steps through them in Python, and training
loops take the same functions compiled (`timeful.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NAVIGATING, HANDLING, ANSWERING, RESOLVING, WALKING_ON = range(5)
"""What the agent is doing. The last happens only where agents walk on after an expiry."""

KEEP, RESTART_PHASE, RESTART = range(3)
"""What becomes of a handling routine that was left for an alarm."""

SAME, NEAREST, NEXT = range(3)
"""Which checkpoint comes after an alarm."""

STATE = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("tick", "row", "col", "mode", "boundary", "pause"),
            *("checkpoint", "phase", "left"),  # left: ticks of this phase
            *("alarm", "alarm_row", "alarm_col", "deadline"),
            *("target_row", "target_col", "resolving"),
            *("alarms", "resolved", "expired", "active_ticks", "checkpoints", "interruptions"),
        )
    ]
    + [("interrupt_cost", np.float64), ("score", np.float64)]
)
"""All that there is to know of a patrol, and the counts of its episode so far."""

COUNTS = (
    *("return", "alarms", "resolved", "expired", "active_ticks"),
    *("checkpoints", "interruptions", "interrupt_cost"),
)
"""The columns that `play` fills."""

State = Any
"""A scalar record of `STATE`: numpy and numba both read and write its fields as attributes."""


class Rules(NamedTuple):
    """The settings as numbers; `PatrolSettings.rules` makes them and says what they mean.

    Cells are rows of (row, column), phases are in their order; `places` are the cells on which
    an alarm can go off.
    """

    cells: NDArray[np.int64]
    places: NDArray[np.int64]
    phase_ticks: NDArray[np.int64]
    phase_costs: NDArray[np.float64]
    horizon: int
    probability: float
    distance: int
    deadline_low: int
    deadline_high: int
    resolve_ticks: int
    checkpoint_reward: float
    resolve_reward: float
    expire_penalty: float
    tick_penalty: float
    is_aged_first: bool
    after_interruption: int
    after_alarm: int
    is_charged_at_start: bool
    is_walking_on: bool
    switch_ticks: int


def begin(rules: Rules, state: State) -> None:
    """Put the agent at the first checkpoint, about to handle it, with no alarm."""
    state.tick = state.pause = state.checkpoint = state.phase = state.alarm = 0
    state.row, state.col = rules.cells[0, 0], rules.cells[0, 1]
    state.mode, state.boundary, state.left = HANDLING, 1, rules.phase_ticks[0]
    state.alarm_row = state.alarm_col = state.deadline = 0
    state.target_row = state.target_col = state.resolving = 0
    state.alarms = state.resolved = state.expired = state.active_ticks = 0
    state.checkpoints = state.interruptions = 0
    state.interrupt_cost = state.score = 0.0


def tick(rules: Rules, state: State, respond: bool, rng: np.random.Generator) -> float:
    """Let one tick pass and return its reward.

    A decision takes no time: a response moves in the very tick in which it was decided. An
    alarm at distance d is resolved d + 2 ticks later, so just in time if its deadline says
    d + 2. Then the alarm ages; then, if there is none, one may appear.

    Args:
        rules: The settings.
        state: What the agent does and sees, changed in place.
        respond: Whether to leave everything for the alarm; only if `can_respond`.
        rng: Draws whether, where and how urgent.
    """
    reward = 0.0
    state.boundary = 0
    if respond:
        reward -= _leave(rules, state)
    if rules.is_aged_first:
        reward -= _age(rules, state)
    reward += _act(rules, state)
    if not rules.is_aged_first:
        reward -= _age(rules, state)
    if not state.alarm:
        _appear(rules, state, rng)
    state.tick += 1
    state.score += reward
    return reward


def can_respond(state: State, is_loop: bool) -> bool:
    """Whether there is something to decide: an alarm, and an agent that is not answering one.

    Args:
        state: The state.
        is_loop: Whether the agent may decide at a boundary only: on arrival, at the end of a
            phase, and when an alarm is done with.
    """
    if not state.alarm or state.mode > HANDLING:
        return False
    return state.boundary == 1 or not is_loop


def distance(state: State) -> int:
    """How many steps the agent is from the alarm."""
    return _steps(state.row, state.col, state.alarm_row, state.alarm_col)


def situation(state: State) -> tuple[int, int, int, int]:
    """What a decision depends on.

    Returns:
        0 while going to a checkpoint, or 1 + the phase of handling; the ticks left of that
        phase, or 0; the ticks until the deadline; and the steps to the alarm.
    """
    handles = state.mode == HANDLING
    kind = state.phase + 1 if handles else 0
    left = state.left if handles else 0
    return kind, left, state.deadline, distance(state)


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
        state: A record to work with.
        table: Whether to respond, for every `situation`.
        is_loop: Whether decisions wait for a boundary.
        rng: The chance of all episodes.
        counts: A row for each episode, filled with the columns of `COUNTS`.
    """
    for episode in range(len(counts)):
        begin(rules, state)
        for _ in range(rules.horizon):
            respond = can_respond(state, is_loop) and table[situation(state)]
            tick(rules, state, respond, rng)
        count(state, counts[episode])


def count(state: State, row: NDArray[np.float64]) -> None:
    """Write the counts of an episode into a row of `COUNTS`."""
    row[0], row[1], row[2] = state.score, state.alarms, state.resolved
    row[3], row[4], row[5] = state.expired, state.active_ticks, state.checkpoints
    row[6], row[7] = state.interruptions, state.interrupt_cost


def _leave(rules: Rules, state: State) -> float:
    """Leave everything for the alarm; return what that costs."""
    cost = 0.0
    if state.mode == HANDLING:
        # Leaving right at the start of a phase abandons nothing.
        if rules.is_charged_at_start or state.left < rules.phase_ticks[state.phase]:
            cost = rules.phase_costs[state.phase]
        if rules.after_interruption == RESTART:
            state.phase = 0
        if rules.after_interruption != KEEP:
            state.left = rules.phase_ticks[state.phase]
        state.interruptions += 1
        state.interrupt_cost += cost
    state.target_row, state.target_col = state.alarm_row, state.alarm_col
    state.mode = ANSWERING if distance(state) else RESOLVING
    state.resolving = rules.resolve_ticks
    state.pause = rules.switch_ticks
    return cost


def _act(rules: Rules, state: State) -> float:
    """Do one tick of what the agent is doing; return what that earns."""
    if state.pause:
        state.pause -= 1
        return 0.0
    if state.mode == HANDLING:
        return _handle(rules, state)
    if state.mode == RESOLVING:
        state.resolving -= 1
        if state.resolving:
            return 0.0
        state.alarm = 0
        state.resolved += 1
        _go_on(rules, state)
        return rules.resolve_reward
    if state.mode == NAVIGATING:
        row, col = rules.cells[state.checkpoint, 0], rules.cells[state.checkpoint, 1]
        if _walk(state, row, col):
            state.mode, state.boundary = HANDLING, 1
    elif _walk(state, state.target_row, state.target_col):
        if state.mode == ANSWERING:
            state.mode = RESOLVING
        else:
            _go_on(rules, state)
    return 0.0


def _handle(rules: Rules, state: State) -> float:
    state.left -= 1
    if state.left:
        return 0.0
    state.boundary = 1
    state.phase += 1
    if state.phase < len(rules.phase_ticks):
        state.left = rules.phase_ticks[state.phase]
        return 0.0
    state.checkpoints += 1
    _head_for(rules, state, (state.checkpoint + 1) % len(rules.cells))
    return rules.checkpoint_reward


def _age(rules: Rules, state: State) -> float:
    """Let an alarm that is still active come nearer to its deadline; return what that costs."""
    if not state.alarm:
        return 0.0
    state.active_ticks += 1
    state.deadline -= 1
    if state.deadline > 0:
        return rules.tick_penalty
    state.alarm = 0
    state.expired += 1
    if state.mode == ANSWERING and rules.is_walking_on:
        state.mode = WALKING_ON
    elif state.mode == ANSWERING or state.mode == RESOLVING:
        _go_on(rules, state)
    return rules.tick_penalty + rules.expire_penalty


def _appear(rules: Rules, state: State, rng: np.random.Generator) -> None:
    """Let an alarm go off, perhaps, at one of the places that are far enough."""
    if rng.random() >= rules.probability:
        return
    choices = 0
    for place in rules.places:
        choices += _steps(state.row, state.col, place[0], place[1]) >= rules.distance
    if not choices:
        return
    chosen = rng.integers(0, choices)
    for place in rules.places:
        if _steps(state.row, state.col, place[0], place[1]) >= rules.distance:
            if chosen == 0:
                state.alarm_row, state.alarm_col = place[0], place[1]
            chosen -= 1
    state.alarm = 1
    state.alarms += 1
    state.deadline = rng.integers(rules.deadline_low, rules.deadline_high + 1)


def _go_on(rules: Rules, state: State) -> None:
    """Be done with an alarm, and go back to the checkpoints."""
    state.boundary, state.pause = 1, 0
    checkpoint = state.checkpoint
    if rules.after_alarm == NEXT:
        checkpoint = (checkpoint + 1) % len(rules.cells)
    elif rules.after_alarm == NEAREST:
        far = [_steps(state.row, state.col, cell[0], cell[1]) for cell in rules.cells]
        checkpoint = far.index(min(far))
    if checkpoint != state.checkpoint:
        _head_for(rules, state, checkpoint)
        return
    row, col = rules.cells[checkpoint, 0], rules.cells[checkpoint, 1]
    state.mode = NAVIGATING if _steps(state.row, state.col, row, col) else HANDLING


def _head_for(rules: Rules, state: State, checkpoint: int) -> None:
    """Make a checkpoint the next one, to be handled from the start."""
    state.checkpoint, state.phase, state.left = checkpoint, 0, rules.phase_ticks[0]
    row, col = rules.cells[checkpoint, 0], rules.cells[checkpoint, 1]
    state.mode = NAVIGATING if _steps(state.row, state.col, row, col) else HANDLING


def _walk(state: State, row: int, col: int) -> bool:
    """Move one cell, along the rows first; return whether that is the place."""
    if state.row != row:
        state.row += 1 if row > state.row else -1
    elif state.col != col:
        state.col += 1 if col > state.col else -1
    return state.row == row and state.col == col


def _steps(row: int, col: int, other_row: int, other_col: int) -> int:
    return abs(row - other_row) + abs(col - other_col)
