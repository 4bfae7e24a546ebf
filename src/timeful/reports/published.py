"""Published numbers and bands, read from a TOML file next to a suite.

    [[numbers]]
    source = "Tables 3 and 18"
    model = "DeepSeek-V3.2"
    metrics = ["Utility", "Balanced"]
    is_compared = true        # shown next to ours; false: listed as not run
    rows = [
      { where = { interface = "loop" }, value = [0.730, 0.382], half = [0.117, 0.014] },
    ]

    [[bands]]
    where = { policy = "stand-in", interface = "loop" }
    least_episodes = 100      # the band applies to cells of at least as many; 0 by default
    Utility = [0.4, 1.1]

A row may also have `spread`, standard deviations. A number belongs to each cell that has all of
the values of `where`. With `columns = { benchmark = ["AIME", "MATH"] }` a row has the metrics of
each benchmark in turn.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isinf, isnan, nan
from pathlib import Path
from typing import Any

from timeful.reports.results import ResultRow, Scalar, Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published number; its 95 % half-width or standard deviation, if printed; its source."""

    where: Mapping[str, Scalar]
    metric: str
    value: float
    half_width: float | None = None
    source: str = ""
    model: str = ""
    is_compared: bool = True
    is_listed: bool = False
    spread: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The range, ends included, in which a number of ours counts as reproduced.

    It applies to cells of at least `least_episodes` episodes.
    """

    where: Mapping[str, Scalar]
    metric: str
    low: float
    high: float
    least_episodes: int = 0

    def holds(self, value: float) -> bool:
        """Whether a number lies inside."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"at least {self.low:g}" if isinf(self.high) else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """All published numbers and bands of a suite.

    Attributes:
        numbers: The published numbers.
        bands: The bands.
        key: From a cell to the values that its published number and its band are looked up by;
            the cell's own by default.
    """

    numbers: tuple[Published, ...] = ()
    bands: tuple[Band, ...] = ()
    key: Callable[[Where], Where] = dict

    def number(self, where: Where, metric: str) -> Published | None:
        """The published number to compare a cell with, or None."""
        key = self.key(where)
        return next((n for n in self.numbers if n.is_compared and _is_about(n, key, metric)), None)

    def band(self, cell: ResultRow) -> Band | None:
        """The band of a cell, or None."""
        key = self.key(cell.where)
        bands = (band for band in self.bands if _is_about(band, key, cell.metric))
        return next((band for band in bands if band.least_episodes <= cell.n), None)


def _is_about(reference: Published | Band, where: Where, metric: str) -> bool:
    return reference.metric == metric and all(
        name in where and where[name] == value for name, value in reference.where.items()
    )


def load_reference(path: Path, key: Callable[[Where], Where] = dict) -> Reference:
    """Read published numbers and bands from a TOML file of this package."""
    with path.open("rb") as file:
        data = tomllib.load(file)
    return Reference(
        numbers=tuple(n for table in data.get("numbers", ()) for n in _numbers(table)),
        bands=tuple(band for table in data.get("bands", ()) for band in _bands(table)),
        key=key,
    )


def _numbers(table: Mapping[str, Any]) -> Iterator[Published]:
    columns = [
        ({name: level}, metric)
        for name, levels in table.get("columns", {"": [""]}).items()
        for level in levels
        for metric in table["metrics"]
    ]
    is_compared = table.get("is_compared", True)
    for row in table["rows"]:
        halves, spreads = (row.get(name, [nan] * len(columns)) for name in ("half", "spread"))
        items = zip(columns, row["value"], halves, spreads, strict=True)
        for (column, metric), value, half, spread in items:
            # TOML has no null: a number that was not printed is nan there.
            if not isnan(value):
                yield Published(
                    where={
                        **table.get("where", {}),
                        **row["where"],
                        **{name: level for name, level in column.items() if name},
                    },
                    metric=metric,
                    value=float(value),
                    half_width=None if isnan(half) else float(half),
                    spread=None if isnan(spread) else float(spread),
                    source=row.get("source", table["source"]),
                    model=table.get("model", ""),
                    is_compared=is_compared,
                    is_listed=table.get("is_listed", not is_compared),
                )


def _bands(table: Mapping[str, Any]) -> Iterator[Band]:
    for metric, ends in table.items():
        if metric not in ("where", "least_episodes"):
            low, high = (*ends, inf)[:2]
            yield Band(
                where=table["where"],
                metric=metric,
                low=float(low),
                high=float(high),
                least_episodes=table.get("least_episodes", 0),
            )
