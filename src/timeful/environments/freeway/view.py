"""What a Freeway player is shown.

Positions are in twelfths of a cell, measured from the player's column, so that a slow car's
position between two moves is a whole number too (spec, section 3, structured state).
"""

from dataclasses import dataclass
from typing import Any, Literal

from timeful.environments.freeway.cars import (
    FIRST_LANE,
    GOAL,
    LAST_COLUMN,
    PLAYER_COLUMN,
    Car,
    Road,
    leaving,
    wrapping,
)
from timeful.environments.freeway.problem import FreewayProblem
from timeful.environments.game import Mode

PARTS = 12
"""Positions to a cell."""


@dataclass(frozen=True, slots=True)
class CarView:
    """One car: `head`, `speed` per turn and `span` from head to tail in twelfths of a cell."""

    lane: int
    head: int
    direction: Literal["left", "right"]
    speed: int
    span: int

    @property
    def sign(self) -> int:
        """+1 for a car that moves right, -1 for one that moves left."""
        return 1 if self.direction == "right" else -1

    @property
    def tail(self) -> int:
        """The other end of the car, in twelfths of a cell."""
        return self.head - self.sign * self.span

    @property
    def length(self) -> int:
        """The car's length in cells."""
        return (self.span + 1) // PARTS

    @property
    def column(self) -> int:
        """The column of the head, 0..8 on the road, beyond it off the road."""
        return PLAYER_COLUMN + self.sign * (self.sign * self.head // PARTS)

    @property
    def progress(self) -> int:
        """Twelfths of a cell that the head has gone beyond its column."""
        return self.sign * self.head % PARTS


def car_view(car: Car) -> CarView:
    """Show a car."""
    speed = PARTS * car.stride // car.period
    progress = (car.period - 1 - car.timer) * speed
    return CarView(
        lane=car.lane,
        head=PARTS * (car.column - PLAYER_COLUMN) + car.sign * progress,
        direction="right" if car.sign > 0 else "left",
        speed=speed,
        span=PARTS * car.length - 1,
    )


def car_of(view: CarView) -> Car:
    """The car that is shown so: the inverse of `car_view`."""
    period = max(1, PARTS // view.speed)
    return Car(
        lane=view.lane,
        column=view.column,
        sign=view.sign,
        stride=max(1, view.speed // PARTS),
        period=period,
        timer=period - 1 - view.progress // view.speed,
        length=view.length,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FreewayView:
    """The state of a crossing, with the rules that hold for it.

    `cars` are sorted by lane, cars off the road included. `default` is the action that happens
    if none comes in time, and `mode` says by which rules cars enter and what a hit costs.
    """

    turn: int
    y: int
    cars: tuple[CarView, ...]
    default: str = "U"
    mode: Mode = "compat"

    def text(self) -> str:
        """The road as 10 rows of 9 columns, the goal on top (spec, section 3, text)."""
        rows = [["."] * (LAST_COLUMN + 1) for _ in range(GOAL + 1)]
        rows[self.y][PLAYER_COLUMN] = "P"
        for car in self.cars:
            for behind in range(car.length - 1, -1, -1):
                column = car.column - car.sign * behind
                if 0 <= column <= LAST_COLUMN:
                    rows[car.lane][column] = "x" if behind else _head_sign(car)
        return "\n".join("".join(f"{cell:<4} " for cell in row) for row in reversed(rows))

    def json_state(self) -> dict[str, Any]:
        """The state as the published benchmark structures it, with `turn` as the paper names it."""
        cars = [[car.lane, car.head, car.direction, car.speed, car.span] for car in self.cars]
        return {
            "player_states": self.y,
            "car_states": cars,
            "game_turn": self.turn,
            "turn": self.turn,
        }

    def problem(self) -> FreewayProblem:
        """What a search needs in order to plan from here, with nothing that is not shown."""
        return FreewayProblem(road_of(self), turn=self.turn, y=self.y)


def road_of(view: FreewayView) -> Road:
    """The road whose traffic is shown so, with the future that the shown facts imply."""
    law = wrapping if view.mode == "compat" else leaving
    return Road(tuple(car_of(car) for car in view.cars), law)


def lanes_of(view: FreewayView) -> dict[int, tuple[CarView, ...]]:
    """The cars of each lane from 1 to 8, lanes without cars included."""
    return {
        lane: tuple(car for car in view.cars if car.lane == lane)
        for lane in range(FIRST_LANE, GOAL)
    }


def _head_sign(car: CarView) -> str:
    """How the grid shows a head: cells per turn, or turns per cell behind a slash."""
    pace = str(car.speed // PARTS) if car.speed > PARTS else f"/{PARTS // car.speed}"
    return f"{pace}>" if car.direction == "right" else f"<{pace}"
