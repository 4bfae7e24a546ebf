"""What can be seen of a patrol."""

from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, NamedTuple

from timeful.environments.patrol.dynamics import HANDLING, State, can_respond, situation
from timeful.environments.patrol.policies import Situation
from timeful.environments.patrol.settings import PatrolSettings

DOING = ("to checkpoint", "handling", "to alarm", "resolving", "walking on")
"""What the agent does, in the order of the numbers in the dynamics."""


class Alarm(NamedTuple):
    """An alarm at a cell, and the ticks until it expires."""

    row: int
    col: int
    deadline: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PatrolView:
    """All that there is, but for what chance will bring.

    Attributes:
        turn: The ticks that have passed.
        size: Rows, and columns, of the grid; row 0 is on top.
        agent: Where the agent is, as (row, column).
        doing: One of `DOING`.
        checkpoints: The cells of the checkpoints, in their order.
        checkpoint: Which of them is being handled or comes next, from 0.
        phase: The name of the phase of handling that is under way or comes next.
        left: The ticks left of that phase.
        alarm: The alarm, if there is one.
        at_boundary: Whether the tick that ends here has brought something to its end.
        choice: What there is to decide; None if there is nothing.
    """

    turn: int
    size: int
    agent: tuple[int, int]
    doing: str
    checkpoints: tuple[tuple[int, int], ...]
    checkpoint: int
    phase: str
    left: int
    alarm: Alarm | None
    at_boundary: bool
    choice: Situation | None

    def text(self) -> str:
        """The grid, each cell 5 wide, and what the agent does.

        A letter is a checkpoint, @ the agent, and ! the alarm with its deadline.
        """
        symbols = {(row, col): "" for row in range(self.size) for col in range(self.size)}
        for cell, letter in zip(self.checkpoints, ascii_uppercase, strict=False):
            symbols[cell] = letter
        symbols[self.agent] += "@"
        if self.alarm is not None:
            symbols[self.alarm[:2]] += f"!{self.alarm.deadline}"
        lines = [
            "".join(f"{symbols[row, col] or '.':<5}" for col in range(self.size)).rstrip()
            for row in range(self.size)
        ]
        name = ascii_uppercase[self.checkpoint % len(ascii_uppercase)]
        lines.append(f"{self.doing}; checkpoint {name}, {self.phase}: {self.left} ticks left")
        return "\n".join(lines)

    def json_state(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "turn": self.turn,
            "agent": list(self.agent),
            "doing": self.doing,
            "checkpoint": self.checkpoint,
            "phase": self.phase,
            "left": self.left,
            "alarm": None if self.alarm is None else self.alarm._asdict(),
            "at_boundary": self.at_boundary,
        }


def show(settings: PatrolSettings, state: State) -> PatrolView:
    """What can be seen of a state."""
    alarm = Alarm(state.alarm_row, state.alarm_col, state.deadline) if state.alarm else None
    return PatrolView(
        turn=state.tick,
        size=settings.size,
        agent=(state.row, state.col),
        doing=DOING[state.mode],
        checkpoints=settings.checkpoints,
        checkpoint=state.checkpoint,
        phase=settings.phases[state.phase].name,
        left=state.left,
        alarm=alarm,
        at_boundary=state.boundary == 1,
        choice=_choice(state),
    )


def _choice(state: State) -> Situation | None:
    if not can_respond(state, False):
        return None
    _, remaining, deadline, distance = situation(state)
    return Situation(state.phase if state.mode == HANDLING else None, remaining, deadline, distance)
