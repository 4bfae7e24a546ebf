"""The law of a patrol's tick; read `tick` first.

An agent goes round checkpoints and handles each for a while; at random an alarm goes off at a
distant one, one at a time, and has to be reached and resolved before its deadline (Engagement
Process, section 5.1.2 and appendix C; the timing that the paper leaves open is the one under
which the published hand-written policies get their published results).

Plain functions of numbers: a world steps through them in Python, and training loops take the
same functions compiled (`timeful.compiled`).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

NAVIGATING, HANDLING, ANSWERING, RESOLVING, WALKING_ON = range(5)
"""What the agent is doing. The last happens only where agents walk on after an expiry."""

KEEP, RESTART_PHASE, RESTART = range(3)
"""What becomes of a handling routine that was left for an alarm."""

SAME, NEAREST, NEXT = range(3)
"""Which checkpoint comes after an alarm."""


@dataclass(slots=True)
class State:
    """All that there is to know of a patrol, and the counts of its episode so far.

    `left` are the ticks of the phase under way or kept; `alarm` and `boundary` are 0 or 1, the
    latter whether something has just ended; `pause` are ticks of switching still to come.
    """

    tick: int = 0
    row: int = 0
    col: int = 0
    mode: int = HANDLING
    boundary: int = 1
    pause: int = 0
    checkpoint: int = 0
    phase: int = 0
    left: int = 0
    alarm: int = 0
    alarm_row: int = 0
    alarm_col: int = 0
    deadline: int = 0
    target_row: int = 0
    target_col: int = 0
    resolving: int = 0
    alarms: int = 0
    resolved: int = 0
    expired: int = 0
    active_ticks: int = 0
    checkpoints: int = 0
    interruptions: int = 0
    interrupt_cost: float = 0.0
    score: float = 0.0


class Rules(NamedTuple):
    """The settings as numbers; `PatrolSettings.rules` makes them and says what they mean.

    Tuples and not arrays: numba passes them without counting references, five times faster.
    """

    size: int
    cells: tuple[tuple[int, int], ...]
    phase_ticks: tuple[int, ...]
    phase_costs: tuple[float, ...]
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
    is_free_at_start: bool
    is_walking_on: bool
    is_alarmed_anywhere: bool
    switch_ticks: int


def begin(rules: Rules, state: State) -> None:
    """Put the agent at the first checkpoint, about to handle it, with no alarm."""
    state.tick = state.pause = state.checkpoint = state.phase = state.alarm = 0
    state.row, state.col = rules.cells[0]
    state.mode, state.boundary, state.left = HANDLING, 1, rules.phase_ticks[0]
    state.alarm_row = state.alarm_col = state.deadline = 0
    state.target_row = state.target_col = state.resolving = 0
    state.alarms = state.resolved = state.expired = state.active_ticks = 0
    state.checkpoints = state.interruptions = 0
    state.interrupt_cost = state.score = 0.0


def tick(rules: Rules, state: State, respond: bool) -> float:
    """Let one tick pass and return its reward; then an alarm may go off, see `goes_off`.

    A decision takes no time: a response moves in the very tick in which it was decided. Then
    the alarm ages. So an alarm at distance d > 0 is resolved in d + 2 ticks, just in time if its
    deadline says d + 2 when it is first seen.

    Args:
        rules: The settings.
        state: What the agent does and sees, changed in place.
        respond: Whether to leave everything for the alarm; only if `can_respond`.
    """
    reward = 0.0
    state.boundary = 0
    if respond:
        reward -= _leave(rules, state)
    if rules.is_aged_first:
        reward -= _age(rules, state)
    if not state.boundary:  # else an expiry has just freed the agent: that was its tick
        reward += _act(rules, state)
    if not rules.is_aged_first:
        reward -= _age(rules, state)
    state.tick += 1
    state.score += reward
    return reward


def goes_off(rules: Rules, state: State, rng: np.random.Generator) -> bool:
    """Whether a new alarm goes off at the end of a tick; there is one at a time.

    Apart from `tick`, which would take twice as long: compiled functions count references to a
    generator that they are given.
    """
    return not state.alarm and rng.random() < rules.probability


def set_off(rules: Rules, state: State, rng: np.random.Generator) -> None:
    """Let an alarm go off at one of the places that are far enough, if there are any."""
    cells = rules.size**2 if rules.is_alarmed_anywhere else len(rules.cells)
    far = 0
    for cell in range(cells):
        far += _is_far(rules, state, cell)
    if not far:
        return
    countdown = rng.integers(0, far)
    for cell in range(cells):
        if _is_far(rules, state, cell):
            if countdown == 0:
                state.alarm_row, state.alarm_col = _cell(rules, cell)
            countdown -= 1
    state.alarm = 1
    state.alarms += 1
    state.deadline = int(rng.integers(rules.deadline_low, rules.deadline_high + 1))


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


def situation(state: State) -> tuple[int, int, int, int]:
    """What a decision may depend on.

    Returns:
        0 while going to a checkpoint, or 1 + the phase of handling; the ticks left of that
        phase, or 0; the ticks until the deadline; and the steps to the alarm.
    """
    handles = state.mode == HANDLING
    kind = state.phase + 1 if handles else 0
    remaining = state.left if handles else 0
    return (
        kind,
        remaining,
        state.deadline,
        steps(state.row, state.col, state.alarm_row, state.alarm_col),
    )


def steps(row: int, col: int, other_row: int, other_col: int) -> int:
    """The Manhattan distance of two cells."""
    return abs(row - other_row) + abs(col - other_col)


def _leave(rules: Rules, state: State) -> float:
    """Leave everything for the alarm; return what that costs."""
    cost = 0.0
    if state.mode == HANDLING:
        state.interruptions += 1
        if not rules.is_free_at_start or state.left < rules.phase_ticks[state.phase]:
            cost = rules.phase_costs[state.phase]
            state.interrupt_cost += cost
        if rules.after_interruption == RESTART:
            state.phase = 0
        if rules.after_interruption != KEEP:
            state.left = rules.phase_ticks[state.phase]
    state.target_row, state.target_col = state.alarm_row, state.alarm_col
    state.mode = ANSWERING  # also where the alarm is right here: to arrive takes a tick
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
        _return(rules, state)
        return rules.resolve_reward
    if state.mode == NAVIGATING:
        row, col = rules.cells[state.checkpoint]
        if _walk(state, row, col):
            state.mode, state.boundary = HANDLING, 1
    elif _walk(state, state.target_row, state.target_col):
        if state.mode == ANSWERING:
            state.mode = RESOLVING
        else:
            _return(rules, state)
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


def _walk(state: State, row: int, col: int) -> bool:
    """Move one cell, to the right row first; return whether that is the place."""
    if state.row != row:
        state.row += 1 if row > state.row else -1
    elif state.col != col:
        state.col += 1 if col > state.col else -1
    return state.row == row and state.col == col


def _age(rules: Rules, state: State) -> float:
    """Bring an alarm that is still active nearer to its deadline; return what that costs."""
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
    elif state.mode > HANDLING:
        _return(rules, state)
    return rules.tick_penalty + rules.expire_penalty


def _is_far(rules: Rules, state: State, number: int) -> bool:
    row, col = _cell(rules, number)
    return steps(state.row, state.col, row, col) >= rules.distance


def _cell(rules: Rules, number: int) -> tuple[int, int]:
    if rules.is_alarmed_anywhere:
        return number // rules.size, number % rules.size
    return rules.cells[number]


def _return(rules: Rules, state: State) -> None:
    """Be done with an alarm, and go back to the checkpoints."""
    state.boundary, state.pause = 1, 0
    checkpoint = state.checkpoint
    if rules.after_alarm == NEXT:
        checkpoint = (checkpoint + 1) % len(rules.cells)
    elif rules.after_alarm == NEAREST:
        for number in range(len(rules.cells)):
            if _way(rules, state, number) < _way(rules, state, checkpoint):
                checkpoint = number
    if checkpoint != state.checkpoint:
        _head_for(rules, state, checkpoint)
    else:
        state.mode = NAVIGATING if _way(rules, state, checkpoint) else HANDLING


def _head_for(rules: Rules, state: State, checkpoint: int) -> None:
    """Make a checkpoint the one to come, to be handled from the start."""
    state.checkpoint, state.phase, state.left = checkpoint, 0, rules.phase_ticks[0]
    state.mode = NAVIGATING if _way(rules, state, checkpoint) else HANDLING


def _way(rules: Rules, state: State, checkpoint: int) -> int:
    row, col = rules.cells[checkpoint]
    return steps(state.row, state.col, row, col)
