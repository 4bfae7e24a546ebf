"""Freeway: the published roads and rules, the paper's, and what a player can foresee."""

from itertools import pairwise

import numpy as np
import pytest

from timeful.environments.freeway import CarView, Freeway, FreewayView, imagine, minimum_crossing
from timeful.environments.freeway.cars import Car, Road, covers, leaving, wrapping
from timeful.environments.freeway.layout import CROSSING_RANGES, PUBLISHED_SEEDS
from timeful.environments.freeway.view import car_of, car_view
from timeful.environments.game import DIFFICULTIES
from timeful.errors import WorldError

PUBLISHED_CROSSINGS = {
    "easy": [13, 11, 11, 11, 13, 12, 11, 11],
    "medium": [12, 14, 14, 16, 14, 14, 15, 16],
    "hard": [19, 19, 20, 21, 19, 19, 21, 20],
}
"""The least turns of a crossing for each of the benchmark's 24 roads, measured on the original."""

PUBLISHED = [(difficulty, seed) for difficulty in DIFFICULTIES for seed in range(8)]


class Reference:
    """The rules of a published turn in their plainest form: cars are moved one by one."""

    def __init__(self, raw_seed: int) -> None:
        self.raw_seed = raw_seed
        self.turn, self.y, self.done, self.hit = 0, 0, False, False
        self.lay_out()

    def lay_out(self) -> None:
        rng = np.random.RandomState(self.raw_seed)
        rng.permutation(8)
        signs, links = np.where(rng.rand(8) > 0.5, 1, -1), rng.randint(0, 2, 8)
        self.cars, group = [], []
        for i in range(8):
            if i == 0 or links[i] != 1:
                sign, kind = int(signs[i]), rng.randint(0, 3)
                entry = 0 if sign == 1 else 8
                if kind == 0:
                    k = int(rng.randint(2, 5))
                    group = [{"x": entry, "fast": sign * k, "cells": k}]
                else:
                    n = int(rng.randint(2, 4)) if kind == 1 else 1
                    v = int(rng.randint(1, 4 if kind == 1 else 5))
                    xs = [(entry + sign * (9 // n) * j) % 9 for j in range(n)]
                    group = [{"x": x, "fast": 0, "v": v, "timer": v - 1, "cells": 1} for x in xs]
            self.cars += [{**car, "lane": 8 - i} for car in group]

    def step(self, action: str) -> None:
        self.turn, self.hit = self.turn + 1, False
        self.y = min(9, max(0, self.y + {"U": 1, "D": -1, "S": 0}[action]))
        if self.y == 9:
            self.done, self.y = True, 0
            return
        for car in self.cars:
            self.move(car)
            back = -1 if car["fast"] >= 0 else 1
            if self.y == car["lane"] and 4 in [car["x"] + back * i for i in range(car["cells"])]:
                self.y, self.hit = 0, True
        self.done = self.turn >= 100
        if self.hit and not self.done:
            self.lay_out()

    def move(self, car: dict) -> None:
        if car["x"] < 0:
            car["x"] = 8
        elif car["x"] > 8:
            car["x"] = 0
        elif car["fast"]:
            car["x"] += car["fast"]
        else:
            car["timer"] -= 1
            if car["timer"] < 0:
                car["timer"] = car["v"] - 1
                car["x"] += 1

    def shown(self) -> list[list[int]]:
        cars = []
        for car in self.cars:
            head, sign = 12 * (car["x"] - 4), -1 if car["fast"] < 0 else 1
            speed = 12 * abs(car["fast"])
            if not speed:
                speed = 12 // car["v"]
                head += (car["v"] - 1 - car["timer"]) * speed
            cars.append([car["lane"], head, sign, speed, 12 * car["cells"] - 1])
        return sorted(cars)


def lucky_actions(rng: np.random.Generator, climb: float) -> list[str]:
    rest = (1 - climb) / 2
    return [str(a) for a in rng.choice(["U", "D", "S"], size=100, p=[climb, rest, rest])]


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_every_published_road_takes_as_many_turns_as_the_original(difficulty):
    crossings = [minimum_crossing(Freeway(difficulty=difficulty, seed=s)) for s in range(8)]
    assert crossings == PUBLISHED_CROSSINGS[difficulty]


@pytest.mark.parametrize(("difficulty", "seed"), PUBLISHED)
def test_every_published_transition_equals_the_plain_rules(difficulty, seed):
    rng = np.random.default_rng([seed, len(difficulty)])
    hits = 0
    for climb in (0.4, 0.5, 0.6, 0.9):
        game = Freeway(difficulty=difficulty, seed=seed)
        reference = Reference(PUBLISHED_SEEDS[difficulty][seed])
        for action in lucky_actions(rng, climb):
            assert game.step(action) == -1.0
            reference.step(action)
            assert (game.turn, game.done, game.hit) == (reference.turn, reference.done, game.hit)
            assert game.hit == reference.hit
            assert game.score == 100 - game.turn
            hits += game.hit
            if not game.done:
                assert game.summary() == {"y": reference.y, "cars": reference.shown()}
            else:
                break
    assert hits > 0


def best_actions(game: Freeway) -> str:
    """A shortest crossing, by trying all that can be reached."""
    frontier = {game.y: ("", game)}
    while True:
        reached = {}
        for path, state in frontier.values():
            for action in "UDS":
                twin = state.copy()
                twin.step(action)
                if twin.done:
                    return path + action
                if not twin.hit:
                    reached.setdefault(twin.y, (path + action, twin))
        frontier = reached


@pytest.mark.parametrize(("difficulty", "seed"), [("easy", 0), ("medium", 3), ("hard", 3)])
def test_a_crossing_ends_the_game_with_100_minus_its_turns(difficulty, seed):
    game = Freeway(difficulty=difficulty, seed=seed)
    path = best_actions(game)
    assert len(path) == minimum_crossing(game)
    for action in path:
        assert not game.done
        game.step(action)
    assert game.done
    assert game.score == 100 - len(path)
    assert game.y == 0, "the benchmark puts the player back as the episode ends"


def test_a_hit_in_the_last_turn_leaves_the_cars_where_they_are():
    games = (Freeway(difficulty=difficulty, seed=seed) for difficulty, seed in PUBLISHED)
    game = next(game for game in games if game.road.danger(100) >> 1 & 1)
    start = game.view().cars
    for _ in range(99):
        game.step("S")
    game.step("U")
    assert (game.turn, game.hit, game.done, game.y) == (100, True, True, 0)
    assert game.view().cars != start


def test_the_default_action_of_the_benchmark_is_up():
    game = Freeway(difficulty="easy", seed=0)
    game.step("S")
    assert game.default_action == "U"


def test_the_grid_shows_heads_bodies_and_the_player():
    cars = (
        CarView(lane=1, head=0, direction="right", speed=36, span=35),
        CarView(lane=2, head=-24, direction="left", speed=24, span=23),
        CarView(lane=3, head=6, direction="right", speed=6, span=11),
        CarView(lane=4, head=60, direction="right", speed=12, span=11),
        CarView(lane=5, head=-44, direction="left", speed=4, span=11),
    )
    rows = FreewayView(turn=3, y=0, cars=cars).text().split("\n")
    assert [len(row) for row in rows] == [45] * 10
    assert [row.split() for row in rows] == [
        [".", ".", ".", ".", ".", ".", ".", ".", "."],
        [".", ".", ".", ".", ".", ".", ".", ".", "."],
        [".", ".", ".", ".", ".", ".", ".", ".", "."],
        [".", ".", ".", ".", ".", ".", ".", ".", "."],
        [".", "</3", ".", ".", ".", ".", ".", ".", "."],
        [".", ".", ".", ".", ".", ".", ".", ".", "."],
        [".", ".", ".", ".", "/2>", ".", ".", ".", "."],
        [".", ".", "<2", "x", ".", ".", ".", ".", "."],
        [".", ".", "x", "x", "3>", ".", ".", ".", "."],
        [".", ".", ".", ".", "P", ".", ".", ".", "."],
    ]


def test_the_structured_state_has_the_published_keys_and_the_papers_turn():
    game = Freeway(difficulty="easy", seed=0)
    game.step("S")
    state = game.view().json_state()
    assert set(state) == {"player_states", "car_states", "game_turn", "turn"}
    assert state["player_states"] == 0
    assert state["turn"] == state["game_turn"] == 1
    lanes = [car[0] for car in state["car_states"]]
    assert lanes == sorted(lanes)
    assert all(car[2] in ("left", "right") for car in state["car_states"])


def every_published_car():
    for difficulty, seed in PUBLISHED:
        game = Freeway(difficulty=difficulty, seed=seed)
        for turn in range(100):
            yield from game.road.traffic(turn)


def test_a_shown_car_can_be_read_back_without_loss():
    for car in set(every_published_car()):
        assert car_of(car_view(car)) == car


def test_the_prompts_rule_of_a_hit_is_the_grids():
    for car in set(every_published_car()):
        shown = car_view(car)
        low, high = sorted((shown.head, shown.tail))
        assert covers(car, 4) == (low <= 0 <= high)


@pytest.mark.parametrize(("difficulty", "seed"), PUBLISHED)
def test_imagined_futures_are_the_real_ones_until_a_hit(difficulty, seed):
    rng = np.random.default_rng([seed, len(difficulty)])
    compared = 0
    for _ in range(10):
        game = Freeway(difficulty=difficulty, seed=seed)
        for action in lucky_actions(rng, 0.4)[: rng.integers(90)]:
            if not game.done:
                game.step(action)
        imagined = imagine(game.view())
        for action in lucky_actions(rng, 0.4):
            if game.done:
                break
            assert imagined.view() == game.view()
            assert imagined.step(action) == game.step(action)
            assert (imagined.hit, imagined.done) == (game.hit, game.done)
            assert imagined.score == game.score
            compared += 1
            if game.hit:
                assert imagined.y == game.y == 0
                imagined = imagine(game.view())
    assert compared > 100


def test_a_road_without_a_gap_has_no_minimum_crossing():
    wall = Car(lane=1, column=4, sign=1, stride=0, period=1, timer=0, length=1)
    game = Freeway(difficulty="easy", seed=0)
    game.road = Road((wall,), wrapping)
    with pytest.raises(WorldError, match="cannot be crossed"):
        minimum_crossing(game)


# The paper's rules.

PAPER = [(difficulty, seed) for difficulty in DIFFICULTIES for seed in (0, 1, 2, 77, -3, 10**20)]


@pytest.mark.parametrize(("difficulty", "seed"), PAPER)
def test_paper_roads_have_the_difficulty_that_the_paper_asks_for(difficulty, seed):
    game = Freeway(difficulty=difficulty, seed=seed, mode="paper")
    assert minimum_crossing(game) in CROSSING_RANGES[difficulty]
    path = best_actions(game)
    assert len(path) == minimum_crossing(game)
    for action in path:
        game.step(action)
    assert (game.done, game.y, game.score) == (True, 9, 100 - len(path))
    assert imagine(game.view()).done


def test_paper_roads_differ():
    roads = {Freeway(difficulty="hard", seed=seed, mode="paper").view().cars for seed in range(30)}
    assert len(roads) == 30


def paper_traffic(turns=100):
    for difficulty, seed in PAPER:
        road = Freeway(difficulty=difficulty, seed=seed, mode="paper").road
        yield from pairwise(road.traffic(turn) for turn in range(turns))


def test_every_car_moves_in_the_direction_of_its_lane():
    kinds = set()
    for before, after in paper_traffic():
        for old, new in zip(before, after, strict=True):
            assert (new.lane, new.sign) == (old.lane, old.sign)
            if old.wait is None and new.wait is None:
                assert (new.column - old.column) * old.sign in (0, old.stride)
                kinds.add((old.sign, old.stride > 1))
        assert len({(car.lane, car.sign) for car in after}) == len({car.lane for car in after})
    assert kinds == {(1, True), (1, False), (-1, True), (-1, False)}


def test_new_cars_enter_on_either_side_after_a_wait_that_varies():
    entries, waits = set(), set()
    for before, after in paper_traffic():
        for old, new in zip(before, after, strict=True):
            if old.wait is None and new.wait is not None:
                waits.add(new.wait)
            if old.wait is not None and new.wait is None:
                entries.add((new.sign, new.column))
    assert entries == {(1, 0), (-1, 8)}
    assert waits == {0, 1, 2, 3}


def test_cars_of_a_lane_never_overlap():
    for _, after in paper_traffic():
        for column in range(9):
            lanes = [car.lane for car in after if covers(car, column)]
            assert len(lanes) == len(set(lanes))


def test_waiting_cars_are_not_shown():
    game = Freeway(difficulty="easy", seed=0, mode="paper")
    seen_waiting = False
    while not game.done:
        game.step("S")
        traffic = game.road.traffic(game.turn)
        waiting = [car for car in traffic if car.wait is not None]
        seen_waiting |= bool(waiting)
        assert len(game.view().cars) == len(traffic) - len(waiting)
    assert seen_waiting


def test_in_paper_mode_a_hit_sends_only_the_player_back():
    game, bystander = (Freeway(difficulty="hard", seed=1, mode="paper") for _ in range(2))
    while not game.hit:
        game.step("U")
        bystander.step("S")
    assert game.y == 0
    assert game.view().cars == bystander.view().cars
    assert game.view().cars != Freeway(difficulty="hard", seed=1, mode="paper").view().cars


def test_in_paper_mode_the_default_action_is_the_same_as_before():
    game = Freeway(difficulty="easy", seed=0, mode="paper")
    assert game.default_action == game.view().default == "U"
    for action in "SDU":
        game.step(action)
        assert game.default_action == game.view().default == action


def test_in_imagination_new_cars_do_not_come_and_the_others_are_right():
    game = Freeway(difficulty="medium", seed=5, mode="paper")
    imagined = imagine(game.view())
    left = False
    for _ in range(40):
        game.step("S")
        imagined.step("S")
        assert set(imagined.view().cars) <= set(game.view().cars)
        left |= len(imagined.view().cars) == 0
    assert left


def test_a_long_car_is_gone_only_when_its_tail_is():
    car = Car(lane=1, column=7, sign=1, stride=3, period=1, timer=0, length=3)
    (after,) = leaving((car,))
    assert covers(after, 8)
    assert leaving((after,)) == ()
