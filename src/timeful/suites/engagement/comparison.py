"""What our numbers are compared with, and how: metrics, published numbers, bands and claims."""

from dataclasses import dataclass
from math import isinf


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A column of a published table: a ratio of aggregate counts, or a mean over episodes.

    `of` is None for a mean over episodes; `scale` is 100 for a percentage. `decimals` are
    how many are shown.
    """

    name: str
    count: str
    of: str | None = None
    scale: float = 1.0
    decimals: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published number, the half-width of its 95 % interval if printed, and where it stands."""

    value: float
    half_width: float | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Where one of our numbers counts as reproduced, ends included."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a number lies inside."""
        return self.low <= value <= self.high

    @property
    def words(self) -> str:
        """It in words."""
        return f"at least {self.low:g}" if isinf(self.high) else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence about the results, and of how many cases (seeds, or one mean) it holds."""

    text: str
    held: int
    cases: int
    is_promised: bool = True
    """Whether it must hold of every case."""

    @property
    def holds(self) -> bool:
        """Whether it holds of every case."""
        return self.held == self.cases
