"""Cars and how they move. No player changes them, so a road's whole future can be known.

Columns are 0..8, the player stands in column 4, and a car's body extends behind its head.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

FIRST_COLUMN, PLAYER_COLUMN, LAST_COLUMN = 0, 4, 8
FIRST_LANE, LAST_LANE, GOAL = 1, 8, 9

HORIZON = 100
"""The greatest number of turns of an episode."""

LONGEST_WAIT = 3
"""The most turns between a car's leaving the road and the entry of the next one (paper mode)."""


class Car(NamedTuple):
    """One car: every `period` turns its head moves `stride` cells in its direction.

    `timer` counts the turns, from `period` - 1 down, that pass before the next move. `wait` is
    None on the road; a car that has left it is not shown and enters again in `wait` turns.
    """

    lane: int
    column: int
    sign: int
    stride: int
    period: int
    timer: int
    length: int
    wait: int | None = None


Traffic = tuple[Car, ...]
Law = Callable[[Traffic], Traffic]


def _driven(car: Car) -> Car:
    if car.timer > 0:
        return car._replace(timer=car.timer - 1)
    return car._replace(timer=car.period - 1, column=car.column + car.sign * car.stride)


def wrapping(traffic: Traffic) -> Traffic:
    """Move cars as the published benchmark does (spec, section 3, step 3).

    A car whose head is off the road is put back on at the other end. That takes its whole
    turn, and its timer does not run.
    """
    cars = []
    for car in traffic:
        if car.column < FIRST_COLUMN:
            car = car._replace(column=LAST_COLUMN)
        elif car.column > LAST_COLUMN:
            car = car._replace(column=FIRST_COLUMN)
        else:
            car = _driven(car)
        cars.append(car)
    return tuple(cars)


def leaving(traffic: Traffic) -> Traffic:
    """Move cars on a road where a car that has wholly left it is gone."""
    driven = (_driven(car) for car in traffic)
    return tuple(car for car in driven if not _is_gone(car))


def renewing(rng: np.random.Generator) -> Law:
    """Make the law of paper mode: cars leave, and new ones enter on the side they come from.

    A car that has wholly left the road is followed by a new one of the same lane, direction,
    length and speed, which waits 0 to `LONGEST_WAIT` turns, all equally likely, and longer
    while the cell it enters by is taken. It enters with its head on the first cell.
    """

    def law(traffic: Traffic) -> Traffic:
        cars: list[Car] = []
        for index, car in enumerate(traffic):
            if car.wait is None:
                car = _driven(car)
                if _is_gone(car):
                    car = car._replace(wait=int(rng.integers(LONGEST_WAIT + 1)))
            elif car.wait > 0:
                car = car._replace(wait=car.wait - 1)
            else:
                car = _entered(car, traffic=(*cars, *traffic[index + 1 :]))
            cars.append(car)
        return tuple(cars)

    return law


def _is_gone(car: Car) -> bool:
    """Whether the last cell of the car, too, is off the road."""
    tail = car.column - car.sign * (car.length - 1)
    return tail > LAST_COLUMN if car.sign > 0 else tail < FIRST_COLUMN


def _entered(car: Car, *, traffic: Traffic) -> Car:
    """Put a waiting car on its first cell, unless another car is there."""
    entry = FIRST_COLUMN if car.sign > 0 else LAST_COLUMN
    if any(neighbour.lane == car.lane and covers(neighbour, entry) for neighbour in traffic):
        return car
    return car._replace(column=entry, timer=car.period - 1, wait=None)


def covers(car: Car, column: int) -> bool:
    """Whether some cell of the car lies in this column."""
    return car.wait is None and 0 <= car.sign * (car.column - column) < car.length


class Road:
    """The future of the traffic, worked out turn by turn when it is first asked for."""

    __slots__ = ("_danger", "_law", "_traffic")

    def __init__(self, cars: Traffic, law: Law) -> None:
        self._law = law
        self._traffic = [cars]
        self._danger = [0]

    def traffic(self, turns: int) -> Traffic:
        """The cars after this many turns, in the order in which they were generated."""
        while len(self._traffic) <= turns:
            self._grow()
        return self._traffic[turns]

    def danger(self, turns: int) -> int:
        """The lanes in which a player is hit in this turn, as bits: bit y is lane y."""
        while len(self._danger) <= turns:
            self._grow()
        return self._danger[turns]

    def _grow(self) -> None:
        cars = self._law(self._traffic[-1])
        danger = 0
        for car in cars:
            if covers(car, PLAYER_COLUMN):
                danger |= 1 << car.lane
        self._traffic.append(cars)
        self._danger.append(danger)

    def fewest_turns(self, *, limit: int) -> int | None:
        """The least number of turns from the start to the goal without a hit.

        Every place that can be reached is a bit, and all of them move at once.

        Args:
            limit: The number of turns after which the search gives up.

        Returns:
            The number of turns, or None if `limit` turns do not suffice.
        """
        reached = 1
        for turn in range(1, limit + 1):
            reached |= reached << 1 | reached >> 1
            if reached >> GOAL:
                return turn
            reached &= ~self.danger(turn)
        return None
