"""Snake: eat what appears before it is gone, and do not run into anything.

Read `Crawl.step` first: it is the whole law of a turn. Each food eaten is worth 1, death costs
1, and an episode's return is their sum (paper, appendix A).

Compat mode equals the published benchmark. Its quirk: food ages while the list of foods is
being walked, so the food right after one that just vanished does not age in that turn; and
food may appear under the snake. Paper mode has neither, and takes any seed.
"""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec

from timeful.environments.game import Difficulty, Mode
from timeful.environments.settings import check_difficulty, check_mode, check_seed
from timeful.environments.snake.levels import (
    BORDER,
    MOVES,
    PUBLISHED_SEEDS,
    SIZE,
    START,
    Level,
    fresh_level,
    place,
    published_level,
)
from timeful.environments.snake.view import Food, SnakeView
from timeful.errors import IllegalActionError, SettingsError, WorldError

ACTIONS = ("L", "R", "U", "D")
LEGAL = (*ACTIONS, "S")
HORIZON = 100
LIFE = 10
"""Turns that a food lasts."""

_TURNS = MOVES | {"S": 0}
_LETTERS = {move: letter for letter, move in MOVES.items()}


class Crawl:
    """A snake among obstacles and food, in a real game or in a player's imagination.

    Here food vanishes when its life is over and none appears. `foods` are the cells of the
    foods, oldest first, and `ends` the turns at which they vanish.
    """

    __slots__ = (
        "body",
        "done",
        "ends",
        "foods",
        "heading",
        "obstacles",
        "score",
        "solid",
        "turn",
    )

    def __init__(self, obstacles: tuple[int, ...]) -> None:
        self.obstacles = obstacles
        self.solid = BORDER.union(obstacles)
        self.turn = 0
        self.body = [START]
        self.heading = MOVES["L"]
        self.foods: list[int] = []
        self.ends: list[int] = []
        self.score = 0.0
        self.done = False

    def step(self, action: str) -> float:
        """Play one turn and return its reward: +1 for food, -1 for death, else 0.

        S keeps the heading, and so does a reversal.

        Raises:
            IllegalActionError: If the action is none of L, R, U, D and S; nothing has changed.
            WorldError: If the game is over.
        """
        change = _TURNS.get(action)
        if change is None:
            raise IllegalActionError.named(action, LEGAL)
        if self.done:
            raise WorldError("the snake's game is over; reset it to play again")
        turn = self.turn = self.turn + 1
        if change and change != -self.heading:
            self.heading = change
        body, foods = self.body, self.foods
        head = body[0] + self.heading
        eats = head in foods
        # The tail makes room, unless the snake grows.
        if head in self.solid or (head in body and (eats or head != body[-1])):
            self.score -= 1.0
            self.done = True
            self.ends = [end + 1 for end in self.ends]  # in this turn, food does not age
            return -1.0
        body.insert(0, head)
        if eats:
            index = foods.index(head)
            del foods[index], self.ends[index]
            self.score += 1.0
        else:
            body.pop()
        if turn in self.ends:
            self._vanish()
        if turn % 3 == 1:
            self._appear()
        self.done = turn >= HORIZON
        return 1.0 if eats else 0.0

    def _vanish(self) -> None:
        """Remove the foods whose life is over."""
        kept = [index for index, end in enumerate(self.ends) if end > self.turn]
        self.foods = [self.foods[index] for index in kept]
        self.ends = [self.ends[index] for index in kept]

    def _appear(self) -> None:
        """Let a new food appear: in imagination, none does."""

    def legal_actions(self) -> tuple[str, ...]:
        """The actions that `step` takes, keeping the heading included."""
        return LEGAL

    def view(self) -> SnakeView:
        """What a player is shown now."""
        foods = zip(self.foods, self.ends, strict=True)
        return SnakeView(
            turn=self.turn,
            body=tuple(place(cell) for cell in self.body),
            heading=_LETTERS[self.heading],
            obstacles=tuple(place(cell) for cell in self.obstacles),
            foods=tuple(Food(*place(cell), life=end - self.turn) for cell, end in foods),
            size=SIZE,
        )

    def copy(self) -> Self:
        """An independent snake in the same state."""
        twin = object.__new__(type(self))
        twin.obstacles, twin.solid = self.obstacles, self.solid
        twin.turn, twin.heading = self.turn, self.heading
        twin.score, twin.done = self.score, self.done
        twin.body, twin.foods, twin.ends = self.body[:], self.foods[:], self.ends[:]
        return twin


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

    def copy(self) -> Self:
        """An independent game in the same state."""
        twin = super().copy()
        twin.level, twin.drawn = self.level, self.drawn
        twin.difficulty, twin.seed, twin.mode = self.difficulty, self.seed, self.mode
        return twin

    def summary(self) -> dict[str, Any]:
        """Body, direction, food as [x, y, life] in order, and the obstacles, sorted."""
        view = self.view()
        return {
            "body": _pairs(view.body),
            "dir": view.heading,
            "food": [[food.x, food.y, food.life] for food in view.foods],
            "obstacles": sorted(_pairs(view.obstacles)),
        }

    def save(self) -> bytes:
        """The full state as JSON."""
        saved = _Saved(
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
        return msgspec.json.encode(saved)

    def load(self, state: bytes) -> None:
        """Continue from a saved state, taking over its difficulty, seed and mode.

        Raises:
            WorldError: If the bytes are no saved state of this game.
        """
        try:
            saved = msgspec.json.decode(state, type=_Saved)
            asked = (saved.difficulty, saved.seed, saved.mode)
            if asked != (self.difficulty, self.seed, self.mode):
                self.level = _level(*asked)
        except (msgspec.DecodeError, SettingsError) as error:
            raise WorldError(f"this is no saved state of snake: {error}") from error
        super().__init__(self.level.obstacles)
        self.difficulty, self.seed, self.mode = asked
        self.turn, self.drawn = saved.turn, saved.drawn
        self.score, self.done = saved.score, saved.done
        self.body, self.heading = list(saved.body), MOVES[saved.heading]
        self.foods = [cell for cell, _ in saved.foods]
        self.ends = [end for _, end in saved.foods]


def _pairs(places: Iterable[tuple[int, int]]) -> list[list[int]]:
    return [list(place) for place in places]


def _level(difficulty: Difficulty, seed: int, mode: Mode) -> Level:
    """Check the settings and make the level that they name."""
    check_difficulty(difficulty)
    check_mode(mode)
    check_seed("snake", seed, published=None if mode == "paper" else PUBLISHED_SEEDS)
    make = fresh_level if mode == "paper" else published_level
    return make(difficulty, seed)
