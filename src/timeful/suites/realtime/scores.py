"""From raw returns to scores: S = (R - R_min) / (R_max - R_min).

Real-Time Reasoning Gym, App. A and Table 4. The bounds are the least and greatest returns that
the authors observed, not bounds of the games: a greedy snake reaches 24 and a scripted cook 84,
so a score above 1 is possible. It is kept as it is, beside a clipped one, and flagged.
"""

from dataclasses import dataclass

from timeful.errors import check_known

BOUNDS: dict[str, tuple[float, float]] = {
    "freeway": (0.0, 89.0),
    "snake": (-1.0, 15.0),
    "overcooked": (0.0, 56.0),
}
"""R_min and R_max of each game (paper Table 4)."""

GAMES: tuple[str, ...] = tuple(BOUNDS)
"""The games in the paper's order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One return, raw and normalised; `clipped` is `normalised` brought into [0, 1]."""

    raw: float
    normalised: float
    clipped: float

    @property
    def is_above_one(self) -> bool:
        """Whether the return is greater than any that the paper's authors saw."""
        return self.normalised > 1


def score(game: str, raw: float) -> Score:
    """Normalise the raw return of one episode.

    Raises:
        SettingsError: If the paper gives no bounds for the game.
    """
    check_known("game", game, BOUNDS)
    low, high = BOUNDS[game]
    normalised = (raw - low) / (high - low)
    return Score(raw=raw, normalised=normalised, clipped=min(1.0, max(0.0, normalised)))
