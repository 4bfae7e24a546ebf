"""Latency: how long the call of a tool takes.

| law | written | the call takes |
| --- | --- | --- |
| constant | `2s`, `0` | always the same |
| uniform | `uniform:1s:3s` | anything between, each as likely |
| lognormal | `lognormal:2s:0.3` | exp of a normal: its median, and the deviation of its logarithm |
| measured | `measured`, `measured:2` | as long as the work really ran, times a factor |
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from timeful.core.units import NO_TIME, Duration, in_seconds, seconds
from timeful.errors import SettingsError, check_range


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same span."""

    span: Duration = NO_TIME

    def draw(self, rng: np.random.Generator, took: Duration) -> Duration:
        """How long a call takes that really took `took`."""
        return self.span

    def __str__(self) -> str:
        return f"{_number(in_seconds(self.span))}s"


@dataclass(frozen=True, slots=True)
class Uniform:
    """Anything from `low` to `high`, which is not below it."""

    low: Duration
    high: Duration

    def __post_init__(self) -> None:
        low, high = in_seconds(self.low), in_seconds(self.high)
        check_range("the greatest latency in s", high, least=low)

    def draw(self, rng: np.random.Generator, took: Duration) -> Duration:
        """How long a call takes that really took `took`."""
        return Duration(int(rng.integers(self.low, self.high, endpoint=True)))

    def __str__(self) -> str:
        return f"uniform:{_number(in_seconds(self.low))}s:{_number(in_seconds(self.high))}s"


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Median and sigma, the standard deviation of the logarithm, 0 to 10."""

    median: Duration
    sigma: float

    def __post_init__(self) -> None:
        check_range("the sigma of a latency", self.sigma, least=0, most=10)

    def draw(self, rng: np.random.Generator, took: Duration) -> Duration:
        """How long a call takes that really took `took`."""
        return Duration(round(self.median * exp(self.sigma * float(rng.standard_normal()))))

    def __str__(self) -> str:
        return f"lognormal:{_number(in_seconds(self.median))}s:{_number(self.sigma)}"


@dataclass(frozen=True, slots=True)
class Measured:
    """As long as the work ran, times a factor above 0; nothing for a tool without real work."""

    factor: float = 1.0

    def __post_init__(self) -> None:
        check_range("the factor of a latency", self.factor, above=0)

    def draw(self, rng: np.random.Generator, took: Duration) -> Duration:
        """How long a call takes that really took `took`."""
        return Duration(round(self.factor * took))

    def __str__(self) -> str:
        return "measured" if self.factor == 1 else f"measured:{_number(self.factor)}"


Latency = Constant | Uniform | LogNormal | Measured


def read_latency(text: str) -> Latency:
    """Read a latency as the table above writes it; spans are in seconds, with or without the s.

    Raises:
        SettingsError: If it is none.
    """
    law, *numbers = text.strip().split(":")
    try:
        match law, numbers:
            case "uniform", [low, high]:
                return Uniform(_span(low), _span(high))
            case "lognormal", [median, sigma]:
                return LogNormal(_span(median), float(sigma))
            case "measured", []:
                return Measured()
            case "measured", [factor]:
                return Measured(float(factor))
            case "none", []:
                return Constant()
            case _, []:
                return Constant(_span(law))
    except ValueError:
        pass
    raise SettingsError(
        f"a latency is a span such as 2s, uniform:1s:3s, lognormal:2s:0.3 or measured; got {text!r}"
    )


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _span(text: str) -> Duration:
    return seconds(float(text.removesuffix("s")))
