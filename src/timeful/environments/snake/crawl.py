"""The law of a snake's turn, in a real game or in a player's imagination.

Each food eaten is worth 1, death costs 1, and an episode's return is their sum (paper,
appendix A). Cells are numbers, see `levels`.
"""

from typing import Self

from timeful.environments.snake.levels import BORDER, MOVES, START
from timeful.errors import IllegalActionError, WorldError

ACTIONS = ("L", "R", "U", "D")
LEGAL = (*ACTIONS, "S")
HORIZON = 100
LIFE = 10
"""Turns that a food lasts."""

_TURNS = MOVES | {"S": 0}


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
        indices = [index for index, end in enumerate(self.ends) if end > self.turn]
        self.foods = [self.foods[index] for index in indices]
        self.ends = [self.ends[index] for index in indices]

    def _appear(self) -> None:
        """Let a new food appear: in imagination, none does."""

    def legal_actions(self) -> tuple[str, ...]:
        """The actions that `step` takes, keeping the heading included."""
        return LEGAL

    def copy(self) -> Self:
        """An independent snake in the same state."""
        twin = object.__new__(type(self))
        twin.obstacles, twin.solid = self.obstacles, self.solid
        twin.turn, twin.heading = self.turn, self.heading
        twin.score, twin.done = self.score, self.done
        twin.body, twin.foods, twin.ends = self.body[:], self.foods[:], self.ends[:]
        return twin
