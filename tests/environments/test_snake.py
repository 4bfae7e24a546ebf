"""Snake: the published levels and rules, the paper's, and what a player can foresee."""

import numpy as np
import pytest

from timeful.environments.game import DIFFICULTIES
from timeful.environments.snake import Crawl, Food, Snake, SnakeView, imagine
from timeful.environments.snake.levels import OBSTACLE_RANGES, START, fresh_level

PUBLISHED = [(difficulty, seed) for difficulty in DIFFICULTIES for seed in range(32)]
STEPS = {"L": (-1, 0), "R": (1, 0), "U": (0, 1), "D": (0, -1)}
OPPOSITE = {"L": "R", "R": "L", "U": "D", "D": "U"}


class Reference:
    """The published rules in their plainest form: lists of coordinates, lives counted down."""

    def __init__(self, difficulty: str, seed: int) -> None:
        rng = np.random.RandomState(seed)
        self.obstacles = []
        while len(self.obstacles) < {"easy": 1, "medium": 5, "hard": 8}[difficulty]:
            x = rng.randint(1, 7)
            y = rng.randint(1, 7)
            if (x, y) != (3, 3) and (x, y) not in self.obstacles:
                self.obstacles.append((x, y))
        inside = [(x, y) for x in range(1, 7) for y in range(1, 7)]
        self.cells = [c for c in inside if c not in self.obstacles and c != (3, 3)]
        rng.shuffle(self.cells)
        rng.shuffle(self.cells)
        self.snake, self.dir, self.turn, self.done, self.used = [(3, 3)], "L", 0, False, 0
        self.score = 0
        self.foods = []
        for _ in range(3):
            self.spawn()

    def spawn(self) -> None:
        self.foods.append([*self.cells[self.used % len(self.cells)], 10])
        self.used += 1

    def step(self, action: str) -> float:
        self.turn += 1
        if action in STEPS and OPPOSITE[action] != self.dir:
            self.dir = action
        x, y = self.snake[0]
        head = (x + STEPS[self.dir][0], y + STEPS[self.dir][1])
        meal = [food for food in self.foods if tuple(food[:2]) == head]
        if (
            head in self.snake[:-1]
            or head in self.obstacles
            or not (1 <= head[0] <= 6 and 1 <= head[1] <= 6)
            or (head == self.snake[-1] and meal)
        ):
            self.done = True
            self.score -= 1
            return -1.0
        self.snake.insert(0, head)
        if meal:
            self.foods.remove(meal[0])
            self.score += 1
        else:
            self.snake.pop()
        for food in self.foods:  # the quirk: the list shrinks while it is walked
            food[2] -= 1
            if food[2] == 0:
                self.foods.remove(food)
        if self.turn % 3 == 1:
            self.spawn()
        self.done = self.turn >= 100
        return 1.0 if meal else 0.0

    def shown(self) -> dict:
        return {
            "body": [list(cell) for cell in self.snake],
            "dir": self.dir,
            "food": self.foods,
            "obstacles": [[int(x), int(y)] for x, y in self.obstacles],
        }


def careful(game, rng: np.random.Generator) -> str:
    """A random action, one that eats or at least does not kill if there is one."""
    actions = [str(action) for action in rng.permutation(list("LRUDS"))]
    outcomes = {}
    for action in actions:
        outcomes.setdefault(game.copy().step(action), action)
    return outcomes[max(outcomes)]


@pytest.mark.parametrize(("difficulty", "seed"), PUBLISHED)
def test_every_published_transition_equals_the_plain_rules(difficulty, seed):
    rng = np.random.default_rng([seed, len(difficulty)])
    for _ in range(3):
        game, reference = Snake(difficulty=difficulty, seed=seed), Reference(difficulty, seed)
        assert game.summary() == reference.shown()
        while not game.done:
            action = careful(game, rng)
            assert game.step(action) == reference.step(action)
            assert (game.turn, game.done) == (reference.turn, reference.done)
            assert game.score == reference.score
            assert game.summary() == reference.shown()


def scene(*, body, heading, foods=(), obstacles=(), turn=1) -> Crawl:
    """A world built for a test; nothing new appears in it."""
    return imagine(
        SnakeView(
            turn=turn,
            body=tuple(body),
            heading=heading,
            obstacles=tuple(obstacles),
            foods=tuple(Food(*food) for food in foods),
        )
    )


def test_the_tail_makes_room_unless_there_is_food_on_it():
    square = [(3, 3), (3, 2), (2, 2), (2, 3)]
    free = scene(body=square, heading="U")
    assert free.step("L") == 0.0
    assert free.view().body == ((2, 3), (3, 3), (3, 2), (2, 2))
    blocked = scene(body=square, heading="U", foods=[(2, 3, 5)])
    assert blocked.step("L") == -1.0
    assert blocked.done


def test_food_can_be_eaten_in_the_turn_of_its_last_life():
    game = scene(body=[(3, 3)], heading="L", foods=[(2, 3, 1)])
    assert game.step("S") == 1.0
    assert game.view().body == ((2, 3), (3, 3))


def circle(game: Snake, turns: int) -> list[tuple[int, ...]]:
    """The lives that are shown while a snake runs in a circle."""
    lives = []
    for turn in range(turns):
        game.step("DRUL"[turn % 4])
        lives.append(tuple(food.life for food in game.view().foods))
    return lives


def untouched_game(mode: str) -> Snake:
    """A game in which a circle from the start meets no food and no obstacle for 12 turns."""
    for seed in range(32):
        game = Snake(difficulty="easy", seed=seed, mode=mode)
        circle(game, 12)
        if not game.done and game.score == 0:
            game.reset()
            return game
    raise AssertionError("no such game")


def test_in_compat_mode_the_food_after_a_vanished_one_lives_a_turn_longer():
    lives = circle(untouched_game("compat"), 12)
    assert lives[8] == (1, 1, 1, 2, 5, 8)
    assert lives[9] == (1, 2, 4, 7, 10)  # the 2nd was passed over, and so was the 4th
    assert lives[10] == (2, 3, 6, 9)


def test_in_paper_mode_all_food_lasts_ten_turns():
    lives = circle(untouched_game("paper"), 12)
    assert lives[8] == (1, 1, 1, 2, 5, 8)
    assert lives[9] == (1, 4, 7, 10)
    assert lives[10] == (3, 6, 9)


def test_the_default_action_keeps_the_heading():
    game, twin = Snake(difficulty="easy", seed=0), Snake(difficulty="easy", seed=0)
    game.step(game.default_action)
    twin.step("L")
    assert game.view() == twin.view()


def test_the_grid_shows_walls_body_and_food():
    view = SnakeView(
        turn=7,
        body=((3, 3), (4, 3), (4, 4)),
        heading="L",
        obstacles=((1, 6),),
        foods=(Food(2, 2, 10), Food(4, 4, 3)),
    )
    rows = view.text().split("\n")
    assert [len(row) for row in rows] == [48] * 8
    assert [row.split() for row in rows] == [
        ["#", "#", "#", "#", "#", "#", "#", "#"],
        ["#", "#", ".", ".", ".", ".", ".", "#"],
        ["#", ".", ".", ".", ".", ".", ".", "#"],
        ["#", ".", ".", ".", "c+3", ".", ".", "#"],
        ["#", ".", ".", "a", "b", ".", ".", "#"],
        ["#", ".", "+10", ".", ".", ".", ".", "#"],
        ["#", ".", ".", ".", ".", ".", ".", "#"],
        ["#", "#", "#", "#", "#", "#", "#", "#"],
    ]


def test_the_structured_state_has_the_published_keys():
    game = Snake(difficulty="medium", seed=0)
    state = game.view().json_state()
    assert list(state) == [
        "snake", "snake_dir", "internal_obstacles", "foods", "size", "game_turn",
    ]  # fmt: skip
    assert state["snake"] == [[3, 3]]
    assert state["snake_dir"] == "L"
    assert all(food[2:] == [10, 1] for food in state["foods"])


def test_the_view_does_not_tell_where_food_will_appear():
    fields = set(SnakeView.__dataclass_fields__)
    assert fields == {"turn", "body", "heading", "obstacles", "foods", "size"}


# The paper's rules.

PAPER = [(d, s) for d in DIFFICULTIES for s in (*range(20), -3, 10**20)]


@pytest.mark.parametrize(("difficulty", "seed"), PAPER)
def test_paper_levels_have_as_many_obstacles_as_asked_and_wall_nothing_off(difficulty, seed):
    level = fresh_level(difficulty, seed)
    assert len(set(level.obstacles)) == len(level.obstacles)
    assert len(level.obstacles) in OBSTACLE_RANGES[difficulty]
    assert START not in level.obstacles
    assert len(level.cycle) == 35 - len(level.obstacles)
    reached, frontier = {START}, [START]
    while frontier:
        cell = frontier.pop()
        near = {cell + 1, cell - 1, cell + 8, cell - 8} & set(level.cycle) - reached
        reached |= near
        frontier += near
    assert reached == {START, *level.cycle}


def test_paper_levels_use_the_whole_range_and_differ():
    for difficulty, counts in OBSTACLE_RANGES.items():
        levels = [fresh_level(difficulty, seed) for seed in range(60)]
        assert {len(level.obstacles) for level in levels} == set(counts)
        assert len({level.cycle for level in levels}) == 60


@pytest.mark.parametrize("seed", range(10))
def test_in_paper_mode_food_never_appears_under_the_snake_or_on_food(seed):
    rng = np.random.default_rng(seed)
    game = Snake(difficulty="easy", seed=seed, mode="paper")
    while not game.done:
        known = set(game.foods)
        game.step(careful(game, rng))
        assert len(set(game.foods)) == len(game.foods)
        assert not (set(game.foods) - known) & set(game.body)


def test_in_compat_mode_food_may_appear_under_the_snake():
    rng = np.random.default_rng(0)
    under = 0
    for seed in range(32):
        game = Snake(difficulty="easy", seed=seed)
        while not game.done:
            game.step(careful(game, rng))
            under += bool(set(game.foods) & set(game.body))
    assert under > 0


# Imagination.


@pytest.mark.parametrize("mode", ["compat", "paper"])
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_imagined_futures_are_the_real_ones_until_food_appears_or_the_quirk_acts(difficulty, mode):
    rng = np.random.default_rng(1)
    compared = 0
    for seed in range(32):
        game = Snake(difficulty=difficulty, seed=seed, mode=mode)
        while not game.done:
            imagined = imagine(game.view())
            assert imagined.view() == game.view()
            real = game.copy()
            while not real.done:
                quirk = mode == "compat" and real.turn + 1 in real.ends
                action = careful(real, rng)
                assert imagined.step(action) == real.step(action)
                assert imagined.done == real.done
                assert imagined.view().body == real.view().body
                if quirk or real.turn % 3 == 1:
                    break
                assert imagined.view() == real.view()
                compared += 1
            game.step(careful(game, rng))
    assert compared > 300
