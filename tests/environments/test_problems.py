"""Promises of the games' search problems and programs: they know the game's own laws."""

import json
from itertools import pairwise

import pytest

from timeful.environments.freeway import Freeway, policy
from timeful.environments.game import DIFFICULTIES
from timeful.environments.overcooked import Overcooked
from timeful.environments.overcooked import policy as cooking
from timeful.environments.overcooked.kitchen import FLOOR
from timeful.environments.overcooked.walks import walks_from
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.environments.snake import Snake
from timeful.seeding import child


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("seed", range(8))
def test_freeway_is_foreseen_step_by_step_until_a_hit(difficulty, seed):
    game, rng = Freeway(difficulty=difficulty, seed=seed), child(seed, "actions")
    problem = game.view().problem()
    state = problem.start
    for _ in range(30):
        letter = "UUSD"[rng.integers(4)]
        option = problem.step(state, letter)
        game.step(letter)
        assert (option.state is None) == game.hit
        assert option.solved == game.done
        if game.hit or game.done:
            return
        state = option.state
        assert option.labels == (f"y={game.y}",) == (game.view().problem().where,)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("seed", range(8))
def test_a_freeway_program_sees_the_traffic_as_it_will_be(monkeypatch, difficulty, seed):
    monkeypatch.setattr(policy, "DEPTH", 25)
    game = Freeway(difficulty=difficulty, seed=seed)
    seen = policy.dangers(game.view().json_state()["car_states"])
    real = [game.road.danger(turn) for turn in range(1, 26)]
    assert [sum(1 << lane for lane in lanes) for lanes in seen] == real


@pytest.mark.parametrize("seed", range(8))
def test_a_snake_is_foreseen_until_food_appears(seed):
    game, rng = Snake(difficulty="hard", seed=seed), child(seed, "actions")
    for _ in range(40):
        letter = "LRUD"[rng.integers(4)]
        option = game.view().problem().step(game.view().problem().start, letter)
        reward = game.step(letter)
        assert (option.state is None) == (reward < 0)
        if game.done:
            return
        assert option.state.score == reward
        assert option.labels == (game.view().problem().where,)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_every_errand_in_a_kitchen_is_a_sequence_of_steps_that_hold(difficulty):
    game, rng = Overcooked(difficulty=difficulty, seed=0), child(0, "actions")
    for _ in range(60):
        problem = game.view().problem()
        for option in problem.options(problem.start):
            state = problem.start
            for letter, label in zip(option.letters, option.labels, strict=True):
                step = problem.step(state, letter)
                state = step.state
                assert step.labels == (label,)
            assert (step.key, step.value) == (option.key, option.value)
        game.step("UDLRI"[rng.integers(5)])


def test_walks_are_shortest_and_end_before_what_they_lead_to():
    layout = Overcooked(difficulty="hard", seed=0)._kitchen.layout
    start = layout.cell(1, 1)
    found = walks_from(layout, start, "D")
    lengths = [len(walk.letters) for walk in found.values()]
    assert all(a <= b for a, b in pairwise(lengths))
    for cell, walk in found.items():
        last = walk.cells[-1] if walk.cells else start
        assert layout.ahead[walk.facing][last] == cell
        assert layout.terrain[cell] != FLOOR
    assert found[layout.cell(1, 0)].letters == ""
    assert len(found[layout.cell(7, 2)].letters) == 7


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("depth", [1, 3])
def test_programs_stand_alone_and_look_as_far_as_they_are_told(name, depth):
    game = make_game(name, difficulty="medium", seed=0)
    program = {}
    exec(game.view().problem().program(depth), program)
    assert program["DEPTH"] == depth
    state = json.loads(json.dumps(game.view().json_state()))
    assert program["next_action"](state) in game.actions


def test_a_cooking_program_puts_down_what_is_of_no_use():
    game = Overcooked(difficulty="easy", seed=0)
    state = game.view().json_state()
    state["state"]["players"][0]["held_object"] = {"name": "dish"}
    moves = []
    for _ in range(3):
        moves.append(cooking.next_action(state))
        state["state"]["players"][0]["facing"] = moves[-1]
        if moves[-1] == "I":
            break
    assert moves[-1] == "I"
