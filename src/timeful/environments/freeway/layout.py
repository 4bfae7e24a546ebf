"""Where the cars of a Freeway episode start: the published seeds, and fresh ones.

Compat mode draws from numpy's legacy generator, call by call as the published benchmark does
(spec, section 3), so its roads are the same. Paper mode draws candidates until one has the
difficulty that the paper asks for (Table 5).
"""

import numpy as np

from timeful.environments.freeway.cars import (
    FIRST_COLUMN,
    LAST_COLUMN,
    LAST_LANE,
    Car,
    Road,
    Traffic,
    renewing,
    wrapping,
)
from timeful.environments.game import Difficulty
from timeful.errors import WorldError
from timeful.seeding import child

PUBLISHED_SEEDS: dict[Difficulty, tuple[int, ...]] = {
    "easy": (1000, 1001, 1002, 1003, 1013, 1014, 1016, 1018),
    "medium": (1069, 1093, 1536, 1858, 1338, 2496, 1933, 1863),
    "hard": (1447, 2408, 2418, 2661, 1100, 1944, 1310, 2453),
}
"""The raw generator seed of each game seed; in compat mode, difficulty is nothing else."""

CROSSING_RANGES: dict[Difficulty, range] = {
    "easy": range(9, 13),
    "medium": range(13, 17),
    "hard": range(17, 22),
}
"""The least number of turns in which a road can be crossed (paper, Table 5); 9 lanes take 9."""

MOST_CANDIDATES = 5_000
"""Roads to try before giving up; about one in twenty is hard, so this is never reached."""


def published_road(difficulty: Difficulty, seed: int) -> Road:
    """Make the road of a published game seed, 0 to 7."""
    rng = np.random.RandomState(PUBLISHED_SEEDS[difficulty][seed])
    rng.permutation(8)  # the benchmark chooses 8 of 8 lanes
    signs = [1 if draw > 0.5 else -1 for draw in rng.rand(8)]
    links = rng.randint(0, 2, 8)
    cars: list[Car] = []
    group: Traffic = ()
    for index in range(8):
        lane = LAST_LANE - index
        if index > 0 and links[index] == 1:
            group = tuple(car._replace(lane=lane) for car in group)
        else:
            group = _published_group(rng, lane=lane, sign=signs[index])
        cars.extend(group)
    return Road(tuple(cars), wrapping)


def _published_group(rng: np.random.RandomState, *, lane: int, sign: int) -> Traffic:
    """Draw the cars of one lane; slow cars move right whatever the sign, as published."""
    kind = rng.randint(0, 3)
    if kind == 0:
        return (_long_car(lane, sign, length=int(rng.randint(2, 5))),)
    if kind == 1:
        count, period = int(rng.randint(2, 4)), int(rng.randint(1, 4))
        return _slow_cars(lane, enters=sign, moves=1, count=count, period=period)
    return _slow_cars(lane, enters=sign, moves=1, count=1, period=int(rng.randint(1, 5)))


def fresh_road(difficulty: Difficulty, seed: int) -> Road:
    """Make a road of a checked difficulty from any seed (paper mode).

    The lanes are drawn as in the benchmark, except that every car moves in the direction of
    its lane and new cars enter at random. The least number of turns is that of the very
    future which the episode will have.

    Raises:
        WorldError: If `MOST_CANDIDATES` candidates are all too easy or too hard.
    """
    crossing_range = CROSSING_RANGES[difficulty]
    for attempt in range(MOST_CANDIDATES):
        purpose = ("freeway", difficulty, attempt)
        cars = _fresh_cars(child(seed, *purpose, "layout"))
        road = Road(cars, renewing(child(seed, *purpose, "new cars")))
        if road.fewest_turns(limit=crossing_range[-1]) in crossing_range:
            return road
    raise WorldError(
        f"no {difficulty} road found for seed {seed} among {MOST_CANDIDATES} candidates; "
        "take another seed"
    )


def _fresh_cars(rng: np.random.Generator) -> Traffic:
    """Draw a candidate: a new group in each lane, or a copy of the lane above."""
    cars: list[Car] = []
    group: Traffic = ()
    for lane in range(LAST_LANE, 0, -1):
        if group and rng.integers(2):
            group = tuple(car._replace(lane=lane) for car in group)
        else:
            group = _fresh_group(rng, lane=lane)
        cars.extend(group)
    return tuple(cars)


def _fresh_group(rng: np.random.Generator, *, lane: int) -> Traffic:
    sign = 1 if rng.integers(2) else -1
    kind = rng.integers(3)
    if kind == 0:
        return (_long_car(lane, sign, length=int(rng.integers(2, 5))),)
    count, slowest = (int(rng.integers(2, 4)), 3) if kind == 1 else (1, 4)
    period = int(rng.integers(1, slowest + 1))
    return _slow_cars(lane, enters=sign, moves=sign, count=count, period=period)


def _long_car(lane: int, sign: int, *, length: int) -> Car:
    """A car as many cells long as it moves in a turn."""
    column = FIRST_COLUMN if sign > 0 else LAST_COLUMN
    return Car(lane, column, sign, stride=length, period=1, timer=0, length=length)


def _slow_cars(lane: int, *, enters: int, moves: int, count: int, period: int) -> Traffic:
    """One-cell cars, evenly spaced from the edge that lies behind direction `enters`."""
    entry, width = (FIRST_COLUMN if enters > 0 else LAST_COLUMN), LAST_COLUMN + 1
    columns = ((entry + enters * (width // count) * index) % width for index in range(count))
    return tuple(
        Car(lane, column, moves, stride=1, period=period, timer=period - 1, length=1)
        for column in columns
    )
