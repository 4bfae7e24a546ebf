"""The line through measured points: T = alpha N + beta, by least squares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from timeful.core.units import seconds
from timeful.errors import ModelError
from timeful.models.pace import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """T = alpha N + beta (Real-Time Reasoning Gym, section 6), T in seconds, N in tokens.

    `r_squared` is the share of the variance of T that the line explains.
    """

    alpha: float
    beta: float
    r_squared: float

    @property
    def pace(self) -> Pace:
        """The line as a pace; a delay below zero, which noise can give, becomes none."""
        return Pace(first=seconds(max(self.beta, 0.0)), per_token=seconds(self.alpha))


def line_through(points: Sequence[tuple[int, float]]) -> Line:
    """Fit a line by least squares through (tokens, seconds).

    Raises:
        ModelError: If the points are fewer than two, all of one length, or get faster with
            length: no pace can be told from them.
    """
    if len({tokens for tokens, _ in points}) < 2:
        raise ModelError(
            f"a pace needs answers of at least two lengths, got {len(points)} of"
            f" {sorted({tokens for tokens, _ in points})} tokens"
        )
    n, t = np.array(points, dtype=np.float64).T
    dn, dt = n - n.mean(), t - t.mean()
    alpha = float(dn @ dt / (dn @ dn))
    beta = float(t.mean() - alpha * n.mean())
    if alpha < 0:
        raise ModelError(f"longer answers took less time ({alpha:.3g} s/token): measure again")
    spread, residuals = float(dt @ dt), dt - alpha * dn
    # Without any spread there is nothing to explain, and nothing unexplained.
    r_squared = 1.0 - float(residuals @ residuals) / spread if spread > 0 else 1.0
    return Line(alpha=alpha, beta=beta, r_squared=r_squared)
