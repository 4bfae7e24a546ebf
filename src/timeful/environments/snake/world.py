"""Snake: eat what appears before it is gone, and do not run into anything.

Read `Crawl.step` in `crawl` first: it is the whole law of a turn.

Compat mode equals the published benchmark. Its quirk: food ages while the list of foods is
being walked, so the food right after one that just vanished does not age in that turn; and
food may appear under the snake. Paper mode has neither, and takes any seed.
"""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from timeful.environments.game import DIFFICULTIES, MODES, Difficulty, Mode
from timeful.environments.settings import check_seed
from timeful.environments.snake.crawl import ACTIONS, HORIZON, LIFE, Crawl
from timeful.environments.snake.levels import (
    MOVES,
    PUBLISHED_SEEDS,
    SIZE,
    Level,
    fresh_level,
    published_level,
)
from timeful.environments.snake.view import SnakeView, show
from timeful.errors import SettingsError, WorldError, check_known

_Cell = Annotated[int, msgspec.Meta(ge=0, lt=SIZE * SIZE)]
_Turn = Annotated[int, msgspec.Meta(ge=0, le=HORIZON + LIFE)]


class _Saved(msgspec.Struct, tag="snake", frozen=True):
    """A saved game. Its level is made from the settings; `drawn` says how far food has come."""

    difficulty: Difficulty
    seed: int
    mode: Mode
    turn: _Turn
    body: Annotated[list[_Cell], msgspec.Meta(min_length=1)]
    heading: Literal["L", "R", "U", "D"]
    foods: list[tuple[_Cell, _Turn]]
    drawn: Annotated[int, msgspec.Meta(ge=0)]
    score: float
    done: bool


class Snake(Crawl):
    """The game: a snake for which food appears, and that can be saved and restored."""

    __slots__ = ("difficulty", "drawn", "level", "mode", "seed")

    name: ClassVar[str] = "snake"
    actions: ClassVar[tuple[str, ...]] = ACTIONS
    default_action: ClassVar[str] = "S"
    """Keep the heading; legal, though no letter a player is asked for."""
    horizon: ClassVar[int] = HORIZON
    restarted = False
    busy = False

    def __init__(self, *, difficulty: Difficulty, seed: int, mode: Mode = "compat") -> None:
        """Make the game.

        Args:
            difficulty: How many obstacles there are.
            seed: 0 to 31 in compat mode, any integer in paper mode.
            mode: The published benchmark's rules, or the paper's.

        Raises:
            SettingsError: If there is no such difficulty, mode or seed.
        """
        self.level = _level(difficulty, seed, mode)
        self.difficulty: Difficulty = difficulty
        self.seed = seed
        self.mode: Mode = mode
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        super().__init__(self.level.obstacles)
        self.drawn = 0
        for _ in range(3):
            self._appear()

    def _appear(self) -> None:
        """Let food appear on the next cell of the cycle; in paper mode, on the next free one."""
        cycle = self.level.cycle
        for _ in cycle:
            cell = cycle[self.drawn % len(cycle)]
            self.drawn += 1
            if self.mode == "compat" or (cell not in self.body and cell not in self.foods):
                self.foods.append(cell)
                self.ends.append(self.turn + LIFE)
                return

    def _vanish(self) -> None:
        """Remove the foods whose life is over; in compat mode, with the benchmark's quirk."""
        if self.mode == "paper":
            super()._vanish()
            return
        index = 0
        while index < len(self.foods):
            if self.ends[index] == self.turn:
                del self.foods[index], self.ends[index]
                if index < len(self.ends):  # the next food is passed over: it does not age
                    self.ends[index] += 1
            index += 1

    def view(self) -> SnakeView:
        """What a player is shown now."""
        return show(self)

    def copy(self) -> Self:
        """An independent game in the same state."""
        twin = super().copy()
        twin.level, twin.drawn = self.level, self.drawn
        twin.difficulty, twin.seed, twin.mode = self.difficulty, self.seed, self.mode
        return twin

    def summary(self) -> dict[str, Any]:
        """Body, direction, food as [x, y, life] in order, and the obstacles as they were drawn."""
        view = self.view()
        return {
            "body": _pairs(view.body),
            "dir": view.heading,
            "food": [[food.x, food.y, food.life] for food in view.foods],
            "obstacles": _pairs(view.obstacles),
        }

    def save(self) -> bytes:
        """The full state as JSON."""
        state = _Saved(
            difficulty=self.difficulty,
            seed=self.seed,
            mode=self.mode,
            turn=self.turn,
            body=self.body,
            heading=self.view().heading,  # type: ignore[arg-type]
            foods=list(zip(self.foods, self.ends, strict=True)),
            drawn=self.drawn,
            score=self.score,
            done=self.done,
        )
        return msgspec.json.encode(state)

    def load(self, state: bytes) -> None:
        """Continue from a saved state, taking over its difficulty, seed and mode.

        Raises:
            WorldError: If the bytes are no saved state of this game.
        """
        try:
            loaded_state = msgspec.json.decode(state, type=_Saved)
            settings = (loaded_state.difficulty, loaded_state.seed, loaded_state.mode)
            if settings != (self.difficulty, self.seed, self.mode):
                self.level = _level(*settings)
        except (msgspec.DecodeError, SettingsError) as error:
            raise WorldError(f"this is no saved state of snake: {error}") from error
        super().__init__(self.level.obstacles)
        self.difficulty, self.seed, self.mode = settings
        self.turn, self.drawn = loaded_state.turn, loaded_state.drawn
        self.score, self.done = loaded_state.score, loaded_state.done
        self.body, self.heading = list(loaded_state.body), MOVES[loaded_state.heading]
        self.foods = [cell for cell, _ in loaded_state.foods]
        self.ends = [end for _, end in loaded_state.foods]


def _pairs(positions: Iterable[tuple[int, int]]) -> list[list[int]]:
    return [list(position) for position in positions]


def _level(difficulty: Difficulty, seed: int, mode: Mode) -> Level:
    check_known("difficulty", difficulty, DIFFICULTIES)
    check_known("mode", mode, MODES)
    check_seed("snake", seed, published=None if mode == "paper" else PUBLISHED_SEEDS)
    make = fresh_level if mode == "paper" else published_level
    return make(difficulty, seed)
