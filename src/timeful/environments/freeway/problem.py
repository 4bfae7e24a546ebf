"""Freeway as a search problem: which lane to be in, turn by turn.

The future of the traffic does not depend on the player, so what is imagined here is exact until
a hit (in compat mode; in paper mode, new cars are not foreseen).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from timeful.environments.freeway.cars import GOAL, HORIZON, PLAYER_COLUMN, Road, covers
from timeful.environments.policy_source import read_policy_source
from timeful.environments.temporal_option import TemporalOption

Height = tuple[int, int]
"""Turns ahead of the view, and y."""

CLIMB = {"U": 1, "S": 0, "D": -1}
SPAN = 30
"""Turns ahead that a plan may reach: the hardest published roads take 21."""

BREADTH = GOAL
"""States worth comparing at one turn: all heights below the goal."""


class FreewayProblem:
    """A crossing to be planned, from what a view shows. Its value is the height reached."""

    actions: ClassVar[tuple[str, ...]] = ("U", "S", "D")

    def __init__(self, road: Road, *, turn: int, y: int) -> None:
        self._road = road
        self._traffic_words: dict[Height, str] = {}
        self.turn = turn
        self.breadth = BREADTH
        self.span = min(SPAN, HORIZON - turn)
        self.start: Height = (0, y)
        self.where = f"y={y}"

    def options(self, state: Height) -> tuple[TemporalOption[Height], ...]:
        """Up, stay and, unless at the bottom, down."""
        letters = self.actions if state[1] else self.actions[:2]
        return tuple([self.step(state, letter) for letter in letters])

    def step(self, state: Height, letter: str) -> TemporalOption[Height]:
        """Imagine one turn."""
        ahead, y = state
        ahead, y = ahead + 1, max(0, y + CLIMB[letter])
        after, labels = (ahead, y), (f"y={y}",)
        if y == GOAL:
            return TemporalOption(letter, labels, "cross the goal line", after, y, y, solved=True)
        if self._road.danger(ahead) >> y & 1:
            return TemporalOption(letter, labels, f"be hit in lane {y}", None, y, -1.0)
        return TemporalOption(letter, labels, f"be safe at y={y}", after, y, y)

    def tell(self, state: Height, options: Iterable[TemporalOption[Height]]) -> str:
        """Say at length what comes of each option."""
        turn, y = self.turn + state[0], state[1]
        bound = (
            f"From y={y} the goal takes {GOAL - y} more turns or more, so turn {turn + GOAL - y}."
        )
        return " ".join([bound, *(self._tell(state, option) for option in options)])

    def program(self, depth: int) -> str:
        """A program that plays by looking `depth` decisions ahead: `next_action(json_state)`."""
        return read_policy_source(Path(__file__).parent, depth)

    def _tell(self, state: Height, option: TemporalOption[Height]) -> str:
        ahead = state[0] + 1
        y = max(0, state[1] + CLIMB[option.letters])
        turn = self.turn + ahead
        if option.solved:
            return f"{option.letters} takes me to y={y} at turn {turn}: I have crossed the road."
        traffic = self._traffic(ahead, y)
        if option.state is None:
            return (
                f"{option.letters} takes me to y={y} at turn {turn}. {traffic} "
                "My column is covered at that moment, so I am hit: this is closed."
            )
        return (
            f"{option.letters} takes me to y={y} at turn {turn}. {traffic} "
            f"My column is free at that moment, so I keep it; {GOAL - y} lanes are left. "
            f"{self._next(ahead + 1, y)}"
        )

    def _next(self, ahead: int, y: int) -> str:
        """What can be seen of the turn after."""
        danger = self._road.danger(ahead)
        here, above = ("taken" if danger >> lane & 1 else "free" for lane in (y, y + 1))
        return f"In the turn after that, y={y} will be {here} and y={y + 1} will be {above}."

    def _traffic(self, ahead: int, lane: int) -> str:
        sentence = self._traffic_words.get((ahead, lane))
        if sentence is None:
            cars = [
                f"one from {tail} to {head} going {'right' if car.sign > 0 else 'left'}, "
                f"which is {'on' if covers(car, PLAYER_COLUMN) else 'clear of'} my column"
                for car in self._road.traffic(ahead)
                if car.lane == lane
                for head in [car.column - PLAYER_COLUMN]
                for tail in [head - car.sign * (car.length - 1)]
            ]
            description = "; ".join(cars) or "nobody"
            sentence = f"In lane {lane} there will be {description}."
            self._traffic_words[ahead, lane] = sentence
        return sentence
