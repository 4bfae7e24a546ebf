"""How large the decoder is and how it is taught, as values; nothing heavy is loaded."""

from dataclasses import dataclass
from math import cos, pi

from timeful.errors import SettingsError

WARM_UP = 20
"""Steps in which the learning rate rises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large it is.

    Attributes:
        width: Of its vectors.
        layers: How many.
        heads: Of attention, in each.
        context: The most tokens it reads.
        spread: The standard deviation of its first weights; the usual 0.02 is too small for a
            decoder as narrow as this, which then hardly learns.
        theta: The base of its rotary positions. That positions are relative is what lets it learn
            in hundreds of steps: to look 25 tokens back is the same everywhere.
    """

    width: int = 64
    layers: int = 2
    heads: int = 4
    context: int = 128
    spread: float = 0.06
    theta: float = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of the cold start.

    Attributes:
        steps: Updates.
        batch: Examples of an update.
        rate: The learning rate at its height, of AdamW.
        floor: The share of it that is left at the end, by a cosine; 1 for a constant one.
        mix: How often each way is taught, in the language's order.
        follow: The share of examples whose way follows the budget: the cold start fraction.
        asks: The share of examples in which the timer is asked, of a language that has one.
    """

    steps: int
    batch: int
    rate: float
    floor: float
    mix: tuple[float, ...]
    follow: float = 0.0
    asks: float = 1.0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 1:
            raise SettingsError(f"a phase has at least a step and an example, got {self}")
        if not all(0 <= share <= 1 for share in (self.follow, self.floor, self.asks)):
            raise SettingsError(f"shares are from 0 to 1, got {self}")
        if min(self.mix) < 0 or not sum(self.mix):
            raise SettingsError(f"a mix has no negative weights and one above 0, got {self.mix}")

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, from 0."""
        height = self.floor + (1 - self.floor) * (1 + cos(pi * step / self.steps)) / 2
        return self.rate * height * min(1.0, (step + 1) / WARM_UP)
