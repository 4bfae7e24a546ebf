r"""What a model is told and asked in Overcooked.

The content follows the paper's prompts (appendix B, which prints Freeway's): the world, its
laws, the task, the form of the answer, the state; the wording is ours. The horizon is told,
clean plates are told from served ones, and no LaTeX occurs but `\boxed`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from timeful.agents.prompts.sections import (
    code_answer,
    guidance_section,
    join_sections,
    one_action_answer,
    plan_answer,
    state_as_json,
)
from timeful.environments.game import View
from timeful.environments.overcooked.kitchen import (
    COOK_TIME,
    RECIPE,
    SOUP_LIFTED,
    SOUP_VALUE,
    USEFUL_DISH,
)
from timeful.environments.overcooked.view import SHOWN_HISTORY
from timeful.environments.overcooked.world import Overcooked
from timeful.models.model import Guidance

NAMES: Final[Mapping[str, str]] = {
    "UP": "U",
    "DOWN": "D",
    "LEFT": "L",
    "RIGHT": "R",
    "INTERACT": "I",
    "STAY": "S",
}
"""What each letter is called; a model may answer with either."""

_HORIZON: Final = Overcooked.horizon
_FULL: Final = len(RECIPE)

_WORLD: Final = f"""\
## The kitchen

You are Alice, one of two cooks in a kitchen. The other is Bob, whom you do not control and who
decides for himself; what he means to do is not shown, but his last actions are. In every turn
both of you act once, at the same time. The game does not wait for you: if no answer of yours
comes in time, you stay. It ends after {_HORIZON} turns.

The kitchen is a grid of cells (x, y). x grows to the right, y grows upward, and (0, 0) is the
lower left corner. Cooks walk on floor cells only. Everything else is used from a floor cell
beside it, by facing it:

- Counter: holds at most one item.
- Onion Dispenser, Dish Dispenser: never run out.
- Pot: cooks soup from exactly {_FULL} onions.
- Serving Counter: takes finished soups.

There are three items, and a cook holds at most one:

- onion;
- dish: a clean, empty plate;
- soup: a finished soup on a plate."""

_LAWS: Final = f"""\
## What actions do

- U, D, L, R (up, down, left, right): turn to that side, and step there if it is floor. U is
  y + 1, D is y - 1, L is x - 1, R is x + 1. Towards anything else you only turn.
- I (interact): use the one cell that you face, see below.
- S (stay): do nothing.

If both cooks would end a turn in the same cell, or would swap cells, both stay where they are
(they still turn).

What I does depends on the cell that you face and on what you hold:

- Counter: put down what you hold if the counter is empty; pick up what lies there if your hands
  are empty.
- Onion Dispenser or Dish Dispenser, with empty hands: take an onion or a dish.
- Pot, holding an onion: put it in, if fewer than {_FULL} onions are inside. The last of {_FULL}
  onions starts the cooking by itself. The soup is ready after {COOK_TIME} turns, of which the
  turn of the last onion is the first.
- Pot, holding a dish, soup ready: lift the soup onto your dish. The pot is empty again.
- Serving Counter, holding a soup: serve it. Your hands are empty again.
- In every other case nothing happens.

Interactions come before steps, and yours before Bob's.

## Points

- {SOUP_VALUE} for every soup served, whoever of you serves it.
- {SOUP_LIFTED} for every soup that you lift out of a pot.
- {USEFUL_DISH} for a dish that you take from the Dish Dispenser while it is of use: no dish lies
  on a counter, and the dishes that are carried are fewer than the pots that hold anything."""

_STATE_FORM: Final = """\
- `"game_turn"`: the turn
- `"history"`: two lists, the letters of the last actions of Alice and of Bob, the latest last
- `"state"`: a dictionary with
  - `"players"`: Alice, then Bob, each with `"name"`, `"position"` as `[x, y]`, `"facing"` (U, D, L
    or R), `"orientation"` as `[dx, dy]`, and `"held_object"`: None, or a dictionary whose `"name"`
    is "onion", "dish" or "soup"
  - `"objects"`: what lies on counters and is in pots, each with `"name"`, `"position"` and `"on"`,
    which is "Counter" or "Pot". What is in a pot is always named "soup", raw or not, and has
    `"ingredients"`, `"cooking_tick"` (-1 before it cooks), `"cook_time"`, `"is_cooking"`,
    `"remaining_cooking_tick"` (None unless it cooks) and `"is_ready"`
  - `"all_orders"` and `"timestep"`, as outside
- `"all_orders"`: the soups that are asked for, each with `"ingredients"` and `"value"`
- `"layout"`: for each kind of cell ("Floor", "Counter", "Pot", "Onion Dispenser", "Dish
  Dispenser", "Serving Counter") the list of its `[x, y]`"""


def rules(_: View) -> str:
    """The rules of the game."""
    return join_sections(_WORLD, _LAWS)


def plan(view: View) -> str:
    """Ask a planner for the actions of the coming turns, with a one-sentence conclusion."""
    task = (
        "## Task\n\n"
        f"Plan your actions from turn {view.turn} on, so that the kitchen earns as many points as "
        f"possible by the end of turn {_HORIZON - 1}, the last one. Plan as far as you can "
        "foresee, 10 to 20 turns if possible. Think of what Bob will do, and of the ways that he "
        "may block. The game goes on while you think."
    )
    answer = plan_answer(NAMES, turn=view.turn, example="RI")
    return join_sections(_WORLD, _LAWS, task, answer, _state(view))


def react(view: View, guidance: Sequence[Guidance]) -> str:
    """Ask a reactor for the action of this turn, with what planners have said, the latest last."""
    task = (
        "## Task\n\n"
        f"Choose your action for turn {view.turn}, so that the kitchen earns as many points as "
        f"possible by the end of turn {_HORIZON - 1}, the last one. See that Bob does not block "
        "you, nor you him."
    )
    answer = one_action_answer(NAMES, example="S")
    return join_sections(_WORLD, _LAWS, task, guidance_section(guidance), _state(view), answer)


def code(view: View) -> str:
    """Ask for a function that chooses every later action."""
    task = (
        "## Task\n\n"
        f"Write a program that plays Alice from turn {view.turn} until turn {_HORIZON - 1}, the "
        "last one, so that the kitchen earns as many points as possible."
    )
    answer = code_answer(NAMES, form=_STATE_FORM, example="S")
    return join_sections(_WORLD, _LAWS, task, answer, state_as_json(view))


def _state(view: View) -> str:
    state = view.json_state()
    lines = [
        f"## State (turn {view.turn})",
        "",
        f"- Turn: {view.turn} of {_HORIZON}",
        *(_cook(player) for player in state["state"]["players"]),
        *(
            f"- Last actions of {player['name']} (at most {SHOWN_HISTORY}, the latest last): "
            f"{' '.join(actions) or 'none yet'}"
            for player, actions in zip(state["state"]["players"], state["history"], strict=True)
        ),
        f"- On counters: {_list(_counters(state))}",
        f"- In pots: {_list(_pots(state))}",
        f"- Wanted: {_list(_orders(state))}",
        "",
        "Cells:",
        "",
        *(f"- {name}: {_list(_cells(cells))}" for name, cells in state["layout"].items()),
        "",
        "The same as a picture, the top row first. X counter, P pot, O onions, D dishes, S serving",
        "counter. An arrow with 0 is Alice, with 1 Bob, and shows where they face; o, d, s after",
        "it or on a counter is an onion, dish or soup. In a pot, each ø is an onion, a number the",
        "turns that it has cooked, and ✓ a soup that is ready.",
        "",
        "```text",
        view.text(),
        "```",
    ]
    return "\n".join(lines)


def _cook(player: Mapping[str, Any]) -> str:
    x, y = player["position"]
    item = player["held_object"]
    holding = f"holding: {item['name']}" if item else "with empty hands"
    return f"- {player['name']} is at ({x}, {y}), facing {player['facing']}, {holding}."


def _counters(state: Mapping[str, Any]) -> list[str]:
    return [
        f"{thing['name']} at {_cell(thing['position'])}"
        for thing in state["state"]["objects"]
        if thing["on"] == "Counter"
    ]


def _pots(state: Mapping[str, Any]) -> list[str]:
    return [
        f"{_cell(pot['position'])} with {len(pot['ingredients'])} of {_FULL} onions, "
        f"{_progress(pot)}"
        for pot in state["state"]["objects"]
        if pot["on"] == "Pot"
    ]


def _progress(pot: Mapping[str, Any]) -> str:
    if pot["is_ready"]:
        return "ready"
    if pot["is_cooking"]:
        ticks = pot["remaining_cooking_tick"]
        return f"ready in {ticks} turn{'' if ticks == 1 else 's'}"
    return "not cooking"


def _orders(state: Mapping[str, Any]) -> list[str]:
    return [
        f"soup of {' + '.join(order['ingredients'])}, always, {order['value']} points"
        for order in state["all_orders"]
    ]


def _cells(cells: Sequence[Sequence[int]]) -> list[str]:
    return [_cell(cell) for cell in cells]


def _cell(cell: Sequence[int]) -> str:
    return f"({cell[0]}, {cell[1]})"


def _list(items: Sequence[str]) -> str:
    return "; ".join(items) or "nothing"
