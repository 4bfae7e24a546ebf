"""Many games at once as one vector environment of Gymnasium, with the state of all in arrays.

`gymnasium.make_vec("timeful.bridges.envs:timeful/Snake-array-v0", num_envs=64)` makes one. Its
episodes equal those of `SyncVectorEnv`, which tests compare; autoreset is `NEXT_STEP`.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

from timeful.bridges.arrays import HEADINGS, WALLS, cars_array
from timeful.bridges.gymnasium import WorldEnv
from timeful.core.units import milliseconds
from timeful.environments.freeway.cars import GOAL, HORIZON, PLAYER_COLUMN
from timeful.environments.freeway.world import Freeway
from timeful.environments.snake import crawl
from timeful.environments.snake.levels import MOVES, SIZE
from timeful.environments.snake.world import Snake

CELLS = SIZE * SIZE
_MOVES = np.array([0, *(MOVES[letter] for letter in crawl.ACTIONS)])
_CODES = np.zeros(2 * SIZE + 1, np.int8)
for _letter, _move in MOVES.items():
    _CODES[_move] = HEADINGS[_letter]
_CLIMB = np.array([0, 1, -1, 0])


class SnakeBatch:
    """The snakes of paper mode, as `Crawl.step` moves each of them."""

    def __init__(self, count: int, difficulty: Any, mode: Any) -> None:
        assert mode == "paper", "compat mode has an order of foods that arrays do not keep"
        self.count, self._difficulty = count, difficulty
        self._numbers = np.zeros((6, count), np.int64)
        self.turn, self.length, self.head, self.heading, self.drawn, self.size = self._numbers
        self.body, self.ends = np.zeros((2, count, CELLS), np.int8)
        self.solid = np.zeros((count, CELLS), np.bool_)
        self.cycle = np.zeros((count, CELLS), np.int8)

    def begin(self, row: int, seed: int) -> None:
        """Begin an episode in a row."""
        numbers, self.solid[row], self.ends[row], self.cycle[row] = _start(self._difficulty, seed)
        self._numbers[:, row] = numbers
        self.body[row] = 0
        self.body[row, self.head[row]] = 1

    def step(self, rows: Any, choices: Any) -> tuple[Any, Any, Any]:
        """Play a turn: rewards, which games ended, and which of these by death."""
        self.turn[rows] += 1
        turn, heading, change = self.turn[rows], self.heading[rows], _MOVES[choices]
        heading = np.where((change != 0) & (change != -heading), change, heading)
        self.heading[rows] = heading
        head = self.head[rows] + heading
        eats = self.ends[rows, head] > 0
        dies = self.solid[rows, head] | (self.body[rows, head] > ~eats)
        lives = ~dies
        crawls = lives & ~eats
        body = self.body[rows]
        body -= (body > 0) & crawls[:, None]
        self.body[rows] = body
        alive, grown = rows[lives], head[lives]
        self.length[rows] += lives & eats
        self.head[alive] = grown
        self.body[alive, grown] = self.length[alive]
        self.ends[alive, grown] = 0
        ends = self.ends[rows]
        ends += (ends > 0) & dies[:, None]  # in the turn of a death, food does not age
        ends[ends == turn[:, None]] = 0
        self.ends[rows] = ends
        self._appear(rows[lives & (turn % 3 == 1)])
        return np.where(dies, -1.0, eats), dies | (turn >= crawl.HORIZON), dies

    def _appear(self, rows: Any) -> None:
        """Let a food appear on the next free cell of each cycle."""
        for _ in range(CELLS):
            if not len(rows):
                return
            cell = self.cycle[rows, self.drawn[rows] % self.size[rows]]
            self.drawn[rows] += 1
            free = (self.body[rows, cell] == 0) & (self.ends[rows, cell] == 0)
            self.ends[rows[free], cell[free]] = self.turn[rows[free]] + crawl.LIFE
            rows = rows[~free]

    def show(self) -> Any:
        """The planes of `snake_array` for each game."""
        planes = np.zeros((self.count, 4, CELLS), np.int8)
        planes[:, 0], planes[:, 1] = self.solid, self.body
        np.subtract(
            self.ends, self.turn[:, None], out=planes[:, 2], where=self.ends > 0, casting="unsafe"
        )
        planes[np.arange(self.count), 3, self.head] = _CODES[self.heading]
        return planes.reshape(self.count, 4, SIZE, SIZE)


class FreewayBatch:
    """The crossings, as `Crossing.step` moves each of them, over tables of their roads."""

    def __init__(self, count: int, difficulty: Any, mode: Any) -> None:
        self.count, self._difficulty, self._mode = count, difficulty, mode
        self.turn, self.y, self.phase, self.default = np.zeros((4, count), np.int64)
        self.danger = np.zeros((count, HORIZON + 1), np.int64)
        self.cars = np.zeros((count, *_road_tables("easy", 0, "compat")[1].shape), np.int8)

    def begin(self, row: int, seed: int) -> None:
        """Begin an episode in a row."""
        self.turn[row] = self.y[row] = self.phase[row] = 0
        self.default[row] = 1
        self.danger[row], self.cars[row] = _road_tables(self._difficulty, seed, self._mode)

    def step(self, rows: Any, choices: Any) -> tuple[Any, Any, Any]:
        """Play a turn: rewards, which games ended, and which of these at the goal."""
        is_compat = self._mode == "compat"
        self.turn[rows] += 1
        choices = np.where(choices == 0, self.default[rows], choices)
        if not is_compat:
            self.default[rows] = choices
        y = np.maximum(0, self.y[rows] + _CLIMB[choices])
        wins = y == GOAL
        phase = self.phase[rows] + ~wins
        over = wins | (self.turn[rows] >= HORIZON)
        hits = ~wins & (self.danger[rows, phase] >> y & 1 > 0)
        self.y[rows] = np.where(hits | (wins & is_compat), 0, y)
        self.phase[rows] = np.where(hits & ~over & is_compat, 0, phase)
        return np.full(len(rows), -1.0), over, wins

    def show(self) -> Any:
        """The planes of `freeway_array` for each game."""
        rows = np.arange(self.count)
        cars = self.cars[rows, self.phase]
        planes = np.zeros((self.count, 4, *cars.shape[2:]), np.int8)
        planes[:, :3] = cars
        planes[rows, 3, self.y, PLAYER_COLUMN] = self.default
        return planes


@lru_cache(maxsize=1024)
def _start(difficulty: Any, seed: int) -> tuple[Any, ...]:
    """The numbers of a snake at its start, what is solid, the ends of foods, and the cycle."""
    game = Snake(difficulty=difficulty, seed=seed, mode="paper")
    solid, ends, cycle = WALLS.reshape(-1) > 0, np.zeros(CELLS, np.int8), np.zeros(CELLS, np.int8)
    solid[list(game.obstacles)] = True
    ends[list(game.foods)] = game.ends
    cycle[: len(game.level.cycle)] = game.level.cycle
    numbers = (0, 1, game.body[0], game.heading, game.drawn, len(game.level.cycle))
    return numbers, solid, ends, cycle


@lru_cache(maxsize=1024)
def _road_tables(difficulty: Any, seed: int, mode: Any) -> tuple[Any, Any]:
    """The danger of each turn, and the planes of its cars."""
    game = Freeway(difficulty=difficulty, seed=seed, mode=mode)
    planes = []
    for game.phase in range(HORIZON + 1):
        planes.append(cars_array(game.view().cars))
    return [game.road.danger(turn) for turn in range(HORIZON + 1)], np.array(planes)


_BATCHES: dict[str, Any] = {"snake": SnakeBatch, "freeway": FreewayBatch}


class TimedVectorEnv(VectorEnv[Any, Any, Any]):
    """Games of one kind that move by themselves, with steps as those of `WorldEnv`.

    Args:
        single: An environment with the same settings.
        batch: The games.
        seeds: The seeds of episodes, one of which each reset of a game draws.
        period: The length of a turn.
        thinking: The length of each decision.
    """

    def __init__(
        self, single: WorldEnv, batch: Any, *, seeds: Sequence[int], period: int, thinking: int
    ) -> None:
        self.num_envs = batch.count
        self.metadata = {**single.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.render_mode = None
        self.single_action_space = single.action_space
        self.single_observation_space = single.observation_space
        self.action_space = batch_space(single.action_space, self.num_envs)
        self.observation_space = batch_space(single.observation_space, self.num_envs)
        self._batch, self._seeds, self._period, self._thinking = batch, seeds, period, thinking
        self._timed = not hasattr(single.action_space, "n")
        self._rngs = [seeding.np_random()[0] for _ in range(self.num_envs)]
        self._over = np.zeros(self.num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in each row; the same seed begins the same ones. No options."""
        if isinstance(seed, int):
            seed = [seed + row for row in range(self.num_envs)]
        for row, number in enumerate(seed or ()):
            if number is not None:
                self._rngs[row] = seeding.np_random(number)[0]
        self._begin(range(self.num_envs))
        self._over[:] = False
        return self._batch.show(), self._info()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Think, act and let each game move; a game that was over begins again instead."""
        choices, thinking = actions, np.full(self.num_envs, self._thinking)
        if self._timed:
            choices = actions["action"]
            thinking = thinking + np.asarray(actions["tokens"], np.int64) * milliseconds(1)
        choices = np.asarray(choices)
        rewards = np.zeros(self.num_envs)
        ended, over = np.zeros((2, self.num_envs), np.bool_)
        playing = ~self._over
        self._begin(np.flatnonzero(self._over))
        turns = np.maximum(thinking - 1, 0) // self._period
        for turn in range(int(turns.max()) + 1):
            if turns.any():
                rows = np.flatnonzero(playing & ~over & (turns > turn))
                self._play(rows, np.zeros(len(rows), np.int64), rewards, over, ended)
        rows = np.flatnonzero(playing & ~over)
        self._play(rows, choices[rows], rewards, over, ended)
        self._over = over
        return self._batch.show(), rewards, ended, over & ~ended, self._info()

    def _play(self, rows: Any, choices: Any, rewards: Any, over: Any, ended: Any) -> None:
        if len(rows):
            utility, over[rows], ended[rows] = self._batch.step(rows, choices)
            rewards[rows] += utility

    def _begin(self, rows: Any) -> None:
        for row in rows:
            number = int(self._rngs[row].integers(len(self._seeds)))
            self._batch.begin(row, self._seeds[number])

    def _info(self) -> dict[str, Any]:
        return {"now": self._batch.turn * self._period, "_now": np.ones(self.num_envs, np.bool_)}


def make_vector_env(num_envs: int, game: str, **settings: Any) -> Any:
    """Make a vector environment of a game, with the arguments of `make_game_env`.

    Snake in compat mode, whose foods have an order, is one environment after the other.
    """
    from timeful.bridges.envs import game_seeds, make_game_env  # noqa: PLC0415 - it registers this

    single = make_game_env(game, **settings)
    mode = settings.get("mode", "paper")
    if game == "snake" and mode == "compat":
        return SyncVectorEnv([partial(make_game_env, game, **settings)] * num_envs)
    return TimedVectorEnv(
        single,
        _BATCHES[game](num_envs, settings.get("difficulty", "medium"), mode),
        seeds=settings.get("seeds") or game_seeds(game, mode),
        period=milliseconds(settings.get("step_ms", 1000)),
        thinking=milliseconds(settings.get("thinking_ms", 0)),
    )
