"""Pace: what a token costs in time.

T = alpha * N + beta (Real-Time Reasoning Gym, section 6): `per_token` is alpha, `first` is beta.
Token time is the pace without a first-token delay at which one token lasts exactly one
`TOKEN`, a length that nothing depends on except how instants are printed.
"""

from dataclasses import dataclass

from timeful.core.units import NO_TIME, Duration, milliseconds

TOKEN = milliseconds(1)
"""The length of one token in token time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A constant pace: `first` before anything comes, then `per_token` for each token."""

    first: Duration = NO_TIME
    per_token: Duration = TOKEN

    def __post_init__(self) -> None:
        if self.first < 0 or self.per_token < 0:
            raise ValueError(f"a pace must not be negative, got {self}")

    def __call__(self, tokens: int) -> Duration:
        """The time from the start of a thought until its `tokens`-th token is known."""
        return self.first + tokens * self.per_token

    def most_tokens(self, span: Duration) -> int | None:
        """The most tokens that are known within a span; None if there is no bound."""
        if span < self.first:
            return 0
        return (span - self.first) // self.per_token if self.per_token else None


TOKEN_TIME = Pace()
"""Time counted in generated tokens, as in the paper's main experiments (section 2)."""


def tokens(count: int) -> Duration:
    """The time that so many tokens take in token time.

    Raises:
        ValueError: If the count is negative.
    """
    if count < 0:
        raise ValueError(f"a number of tokens must not be negative, got {count}")
    return count * TOKEN
