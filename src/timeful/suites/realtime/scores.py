"""From raw returns to scores: S = (R - R_min) / (R_max - R_min).

Real-Time Reasoning Gym, App. A and Table 4. The bounds are the least and greatest returns that the
authors observed, not bounds of the games: a greedy snake reaches 24 and a scripted cook 84, so a
score above 1 is possible. Scores are not clipped.
"""

BOUNDS: dict[str, tuple[float, float]] = {
    "freeway": (0.0, 89.0),
    "snake": (-1.0, 15.0),
    "overcooked": (0.0, 56.0),
}
"""R_min and R_max of each game (paper Table 4)."""

GAMES: tuple[str, ...] = tuple(BOUNDS)
"""The games in the paper's order."""


def normalise(game: str, raw: float) -> float:
    """Normalise the raw return of an episode; in a world without bounds it stays as it is."""
    low, high = BOUNDS.get(game, (0.0, 1.0))
    return (raw - low) / (high - low)
