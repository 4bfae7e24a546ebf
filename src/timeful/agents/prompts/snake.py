"""What a model is told about Snake, in our own words.

The parts are those of the paper's appendix B for Freeway: the dynamics, the task, the form of the
answer, the state. Food that harms is not mentioned, since there is none; how long food lasts,
when the game ends and what happens if no answer comes in time are told.
"""

from collections.abc import Iterable, Sequence

from timeful.agents.prompts.sections import (
    code_answer,
    guidance_section,
    join_sections,
    one_action_answer,
    plan_answer,
    state_as_json,
)
from timeful.environments.game import View
from timeful.environments.snake.crawl import HORIZON, LIFE
from timeful.environments.snake.view import Place, SnakeView
from timeful.models.model import Guidance

NAMES = {"LEFT": "L", "RIGHT": "R", "UP": "U", "DOWN": "D"}

_WORDS = {letter: word.lower() for word, letter in NAMES.items()}

_STATE_FORM = """\
- `"snake"`: the cells of the snake as `[x, y]`, head first
- `"snake_dir"`: the letter of its heading
- `"internal_obstacles"`: the obstacles as `[x, y]`; the walls are not among them
- `"foods"`: the food as `[x, y, life, value]`
- `"size"`: the width and height of the grid, walls included
- `"game_turn"`: the turn"""


def plan(view: View) -> str:
    """Ask for the actions of the coming turns."""
    state = _snake(view)
    task = (
        "## Task\n\n"
        f"Plan the actions of the coming turns, beginning with turn {state.turn}, so that the "
        "snake eats as much as it can and does not die or trap itself. Plan as far as you can "
        "foresee, 10 to 20 turns if possible. The game goes on while you think: actions whose "
        "turns have passed when you answer are skipped."
    )
    answer = plan_answer(NAMES, turn=state.turn, example="LU")
    return join_sections(rules(state), task, answer, _state(state))


def react(view: View, guidance: Sequence[Guidance]) -> str:
    """Ask for the action of this turn, with what planners have said."""
    state = _snake(view)
    task = (
        "## Task\n\n"
        f"Choose the action of turn {state.turn}. Do not die, now or by getting trapped soon, and "
        "eat as much as you can."
    )
    answer = one_action_answer(NAMES, example="L")
    return join_sections(rules(state), task, answer, _state(state), guidance_section(guidance))


def code(view: View) -> str:
    """Ask for a function that plays on."""
    state = _snake(view)
    task = (
        "## Task\n\n"
        "Write a program that plays the rest of this game: the snake eats as much as it can and "
        "does not die or trap itself."
    )
    answer = code_answer(NAMES, form=_STATE_FORM, example="L")
    return join_sections(rules(state), task, answer, state_as_json(state))


def _snake(view: View) -> SnakeView:
    if not isinstance(view, SnakeView):
        raise TypeError(f"a view of snake is needed, got {type(view).__name__}")
    return view


def rules(view: View) -> str:
    """The rules of the game."""
    view = _snake(view)
    size, last = view.size, view.size - 1
    return f"""\
## Rules

You lead a snake over a grid of {size} by {size} cells, in a game that is played in turns and does
not wait for you. x grows to the right and y upwards, both from 0 to {last}. The cells of the
border, where x or y is 0 or {last}, are walls.

From turn T to turn T + 1, in this order:

1. The snake turns: L is towards smaller x, R larger x, U larger y, D smaller y. It cannot turn
   straight back: such an action is ignored and the snake keeps its heading.
2. The head moves one cell in its heading. The snake dies if that cell is a wall, an obstacle or
   a cell of its body. The cell of its tail is free, since the tail moves away, unless food is
   there.
3. Food in that cell is eaten: the snake grows by one cell, so its tail stays where it is.
   Otherwise the tail moves up.
4. The life of every food falls by 1, and food whose life is 0 is gone. Food whose life is shown
   as 1 can be eaten in this turn, and never after. New food has a life of {LIFE}. With every third
   turn (1, 4, 7 and so on) one appears; where is not known before.

If no answer comes in time, the snake keeps its heading. The game ends when the snake dies or
after {HORIZON} turns. Your score is the value of all the food eaten, minus 1 if the snake died."""


def _state(view: SnakeView) -> str:
    foods = [
        f"- at ({food.x}, {food.y}): life {food.life}, value {food.value:+d}" for food in view.foods
    ]
    return "\n".join(
        [
            f"## State (turn {view.turn})",
            "",
            f"Turn: {view.turn} of {HORIZON}",
            f"Snake, head first: {_format_positions(view.body)}",
            f"Heading: {view.heading} ({_WORDS[view.heading]})",
            f"Obstacles: {_format_positions(view.obstacles)}",
            f"Food:{'' if foods else ' none'}",
            *foods,
            "",
            "The grid, largest y on top: `#` is a wall or obstacle, `a` the head, `b` and so on "
            "the body, a number is food and its life.",
            "",
            view.text(),
        ]
    )


def _format_positions(positions: Iterable[Place]) -> str:
    return ", ".join(f"({x}, {y})" for x, y in positions) or "none"
