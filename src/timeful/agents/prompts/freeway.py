"""What a model is told about Freeway, in our own words.

The parts are those of the paper's appendix B: the dynamics, the task, the form of the answer,
the state. What its prompts leave out is told here: how cars come back, what a hit costs, when
the game ends, and what happens if no answer comes in time.
"""

from collections.abc import Sequence

from timeful.agents.prompts.sections import (
    code_answer,
    guidance_section,
    join_sections,
    one_action_answer,
    plan_answer,
    state_as_json,
)
from timeful.environments.freeway.cars import HORIZON
from timeful.environments.freeway.view import CarView, FreewayView, lanes_of
from timeful.environments.game import View
from timeful.models.model import Guidance

NAMES = {"UP": "U", "DOWN": "D", "STAY": "S"}

_RULES = """\
## Rules

You cross a road in a game that is played in turns and does not wait for you. You are at x = 0
on a height y. You start at y = 0, the goal is y = 9, and the lanes between, y = 1 to y = 8, each
carry cars. The positions of cars are measured along their lane in twelfths of a cell; x = 0 is
where you cross.

From turn T to turn T + 1, in this order:

1. You move: U adds 1 to y, D takes 1 away, S changes nothing. You cannot go below y = 0.
2. If you are at y = 9 now, you have crossed and the game ends.
3. Every car moves by its speed: the head and the tail of a car that moves right both grow by
   it, those of a car that moves left both shrink by it.
4. You are hit if a car in the lane where you are *now* covers x = 0, that is, if 0 lies from its
   tail to its head, both ends included. Where you were before and where cars were before does
   not matter. There are no cars at y = 0."""

_ENDS = f"""\
The game ends after {HORIZON} turns. Your score is {HORIZON} minus the number of turns that you
needed, or 0 if you did not get across."""

_WRAP = """\
The road reaches from -48 to 48. The cars stay the same and come back: once the head of a car
that moves right is at 60 or beyond, the car does not move in the next turn but is put back with its
head at -48. In the same way, a car that moves left is put back with its head at 48 once its
head is at -60 or beyond. Cars whose heads are off the road are listed too."""

_COME_AND_GO = """\
The road reaches from -48 to 48. A car whose tail, too, has left the road is gone. A new car of
the same lane, direction, length and speed enters 1 to 4 turns later, by chance, or still later
while another car is in its way: with its head at -48 if it moves right, at 48 if it moves left.
Cars that are yet to enter are not listed."""

_ALL_BACK = """\
If you are hit, you are back at y = 0 and every car is back where it was in turn 0. The turns
that have passed still count. If no answer comes in time, the action of a turn is U."""

_YOU_BACK = """\
If you are hit, you are back at y = 0, while the cars drive on. The turns that have passed still
count. If no answer comes in time, the action of a turn is the one of the turn before."""

_STATE_FORM = """\
- `"player_states"`: your height y, 0 to 9
- `"car_states"`: a list of cars, each as `[lane, head, direction, speed, span]`; the direction is
  `"left"` or `"right"`, and the tail is head + span for a car that moves left, head - span
  for one that moves right
- `"turn"`: the turn, also given as `"game_turn"`"""


def plan(view: View) -> str:
    """Ask for the actions of a whole crossing."""
    state = _freeway(view)
    task = (
        "## Task\n\n"
        f"Find the shortest sequence of actions that takes you from y = {state.y} to y = 9 "
        f"without a hit, beginning with the action of turn {state.turn}. The game goes on while "
        "you think: actions whose turns have passed when you answer are skipped."
    )
    answer = plan_answer(NAMES, turn=state.turn, example="SU")
    return join_sections(rules(state), task, answer, _state(state))


def react(view: View, guidance: Sequence[Guidance]) -> str:
    """Ask for the action of this turn, with what planners have said."""
    state = _freeway(view)
    task = (
        "## Task\n\n"
        f"Choose the action of turn {state.turn}. Do not be hit, now or by getting trapped soon, "
        "and get to y = 9 as early as you can."
    )
    answer = one_action_answer(NAMES, example="U")
    return join_sections(rules(state), task, answer, _state(state), guidance_section(guidance))


def code(view: View) -> str:
    """Ask for a function that plays on."""
    state = _freeway(view)
    task = (
        "## Task\n\n"
        "Write a program that plays the rest of this game: it gets to y = 9 in as few turns as "
        "possible without being hit."
    )
    answer = code_answer(NAMES, form=_STATE_FORM, example="S")
    return join_sections(rules(state), task, answer, state_as_json(state), _default(state))


def _freeway(view: View) -> FreewayView:
    if not isinstance(view, FreewayView):
        raise TypeError(f"a view of freeway is needed, got {type(view).__name__}")
    return view


def rules(view: View) -> str:
    """The rules of the game."""
    view = _freeway(view)
    if view.mode == "compat":
        return join_sections(_RULES, _WRAP, _ALL_BACK, _ENDS)
    return join_sections(_RULES, _COME_AND_GO, _YOU_BACK, _ENDS)


def _default(view: FreewayView) -> str:
    return f"Without an answer in time: {view.default}"


def _state(view: FreewayView) -> str:
    rows = [
        f"| {lane} | {', '.join(map(_car, cars)) or 'none'} |"
        for lane, cars in lanes_of(view).items()
    ]
    return "\n".join(
        [
            f"## State (turn {view.turn})",
            "",
            f"Turn: {view.turn} of {HORIZON}",
            f"You: y = {view.y}",
            _default(view),
            "",
            "| lane y | cars (head, tail, direction, speed) |",
            "| --- | --- |",
            *rows,
        ]
    )


def _car(car: CarView) -> str:
    return f"({car.head}, {car.tail}, {car.direction}, {car.speed})"
