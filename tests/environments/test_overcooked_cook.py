"""A plain cook who sees only views, and golden traces of what he did.

The traces in `golden/overcooked_*.json` are changed only on purpose:
`python tests/environments/test_overcooked_cook.py` plays their `actions` again and rewrites the
rest; the change is then read in review.
"""

import json
from collections import deque
from pathlib import Path

import pytest

from timeful.environments.game import DIFFICULTIES
from timeful.environments.overcooked import Overcooked, OvercookedView
from timeful.environments.overcooked.kitchen import STEPS

GOLDEN = Path(__file__).parent / "golden"


def cook(view: OvercookedView) -> str:
    """A plain cook: fill the fullest pot, fetch a dish while it cooks, serve."""
    held = view.players[0].held
    pots = {(pot.x, pot.y): pot for pot in view.pots}
    on_fire = [cell for cell, pot in pots.items() if pot.onions == 3]
    with_room = [cell for cell in places(view, "P") if cell not in on_fire]
    onions = [(spot.x, spot.y) for spot in view.counters if spot.item == "onion"]
    taken = {(spot.x, spot.y) for spot in view.counters}
    if held == "soup":
        return walk(view, places(view, "S"))
    if held == "dish":
        ready = [cell for cell in on_fire if pots[cell].is_ready]
        return walk(view, ready) if ready else walk(view, on_fire or with_room, use=False)
    if held == "onion":
        most = max((pots[cell].onions if cell in pots else 0 for cell in with_room), default=0)
        best = [cell for cell in with_room if (pots[cell].onions if cell in pots else 0) == most]
        free = [cell for cell in places(view, "X") if cell not in taken]
        return walk(view, best or free)
    return walk(view, places(view, "D") if on_fire else places(view, "O") + onions)


def places(view: OvercookedView, kind: str) -> list[tuple[int, int]]:
    return [(x, y) for y, row in enumerate(view.rows) for x, cell in enumerate(row) if cell == kind]


def walk(view: OvercookedView, targets: list[tuple[int, int]], *, use: bool = True) -> str:
    """The first action on a shortest way to use one of these places."""
    alice, bob = view.players
    faced = (alice.x + STEPS[alice.facing][0], alice.y + STEPS[alice.facing][1])
    if faced in targets:
        return "I" if use else "S"
    first, queue = {(alice.x, alice.y): ""}, deque([(alice.x, alice.y)])
    while queue:
        x, y = queue.popleft()
        if (x, y) in targets:
            return first[x, y]
        if view.rows[y][x] != " ":
            continue
        for letter, (dx, dy) in STEPS.items():
            cell = (x + dx, y + dy)
            if cell not in first and cell != (bob.x, bob.y):
                first[cell] = first[x, y] or letter
                queue.append(cell)
    return "S"


@pytest.mark.parametrize("mode", ["compat", "paper"])
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_a_plain_cook_serves_soups_on_every_layout(difficulty, mode):
    game = Overcooked(difficulty=difficulty, seed=0, mode=mode)
    while not game.done:
        game.step(cook(game.view()))
    assert game.score >= 28


def golden_of(difficulty: str, actions: str) -> dict:
    game = Overcooked(difficulty=difficulty, seed=0)
    turns = [(game.step(one), game.summary(), game.view().history) for one in actions]
    return {
        "difficulty": difficulty,
        "actions": actions,
        "partner": "".join(history[1][-1] for _, _, history in turns),
        "rewards": {str(turn): r for turn, (r, _, _) in enumerate(turns, 1) if r},
        "states": {str(turn): turns[turn - 1][1] for turn in range(10, 101, 10)},
    }


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_a_golden_episode_of_100_turns_has_not_changed(difficulty):
    golden = json.loads((GOLDEN / f"overcooked_{difficulty}.json").read_text())
    assert len(golden["actions"]) == 100
    assert golden_of(difficulty, golden["actions"]) == golden


if __name__ == "__main__":
    for one in DIFFICULTIES:
        file = GOLDEN / f"overcooked_{one}.json"
        file.write_text(json.dumps(golden_of(one, json.loads(file.read_text())["actions"])) + "\n")
