"""Metrics: a number of each group of episodes, declared as a value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from timeful.errors import SettingsError, unknown

Column = str | Callable[[Any], float | None]
"""A column of an episode's row, or a function of the row.

`name.2`, `name.sum` and `name.len` are an item of a tuple, its sum and its length."""


@dataclass(frozen=True, slots=True, kw_only=False)
class Metric:
    """A mean over episodes, or a ratio of two sums over episodes.

    Attributes:
        name: The name in tables and results.
        value: The column that is summed. An episode whose value is None is left out. "" where
            the suite computes the metric from other cells.
        per: The column of the denominator; None for a mean over episodes.
        scale: A factor, such as 100 for a percentage.
        digits: The number of decimals in tables.
        better: Whether higher or lower values are better; "" if neither.
        is_further: Whether the metric is shown in the table of additional metrics only.
    """

    name: str
    value: Column = ""
    per: Column | None = None
    scale: float = 1.0
    digits: int = 2
    better: Literal["higher", "lower", ""] = "higher"
    is_further: bool = False


def read_column(rows: Sequence[Any], column: Column) -> NDArray[np.float64]:
    """Read a column of rows as numbers; None becomes nan.

    Raises:
        SettingsError: If the rows have no such column, or it holds no numbers.
    """
    try:
        values = [read_item(row, column) for row in rows]
        return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
    except AttributeError:
        names = [name for name in dir(rows[0]) if not name.startswith("_")]
        raise SettingsError(unknown("column", str(column), names)) from None
    except (TypeError, ValueError, IndexError) as error:
        raise SettingsError(f"the column {column!r} holds no numbers: {error}") from None


def read_item(row: Any, column: Column) -> Any:
    """Read a column of one row."""
    if callable(column):
        return column(row)
    name, _, item = column.partition(".")
    value = getattr(row, name)
    if item in ("sum", "len"):
        return sum(value) if item == "sum" else len(value)
    return value[int(item)] if item else value
