"""Reads a submission: bytes that a program of a model's left behind, and that nobody trusts.

It is bounded before it is parsed, by size, then by rows and columns, and parsed by Python's own
`csv`, cell by cell, as pandas would read it where the two could differ in what they accept. What
is wrong is said in one error; there is no other way out.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan

MOST_BYTES = 16 << 20
_SHOWN = 60


class InvalidSubmissionError(ValueError):
    """A submission that cannot be graded; the message tells the model why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns that were asked for, as texts, and the names of all there are."""

    header: tuple[str, ...]
    columns: dict[str, list[str]]


def read_table(data: bytes, *, names: Sequence[str], rows: int) -> Table:
    """Read some columns of a CSV file.

    A name that occurs twice means its first column. A row that is too short lacks its last cells.

    Args:
        data: The file.
        names: The columns to read; each must be there.
        rows: How many rows it must have, empty lines aside.

    Raises:
        InvalidSubmissionError: If it is too large, no UTF-8 text, no table, or another one.
    """
    lines = _lines(_text(data))
    header = tuple(next(lines, []))
    if not header:
        raise InvalidSubmissionError("it is empty")
    for name in names:
        if name not in header:
            raise InvalidSubmissionError(f"it has no column {name!r}; it has {_some(header)}")
    indices = [header.index(name) for name in names]
    picked: list[list[str]] = []
    for count, row in enumerate(lines, start=1):
        if count > rows:
            raise InvalidSubmissionError(f"it has more than the {rows} rows of the test split")
        if len(row) > len(header):
            raise InvalidSubmissionError(
                f"row {count} has {len(row)} cells, but there are {len(header)} columns"
            )
        picked.append([row[index] if index < len(row) else "" for index in indices])
    if len(picked) < rows:
        raise InvalidSubmissionError(f"it has {len(picked)} rows; the test split has {rows}")
    columns = {name: [row[i] for row in picked] for i, name in enumerate(names)}
    return Table(header=header, columns=columns)


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise InvalidSubmissionError(
            f"it has {len(data)} bytes; no submission needs more than {MOST_BYTES}"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidSubmissionError(f"it is no UTF-8 text ({error.reason})") from None


def _lines(text: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for row in reader:
            if row:
                yield row
    except csv.Error as error:
        raise InvalidSubmissionError(
            f"line {reader.line_num} cannot be read as CSV ({error})"
        ) from None


_WORDS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
"""What pandas reads as yes and no, in a column that has nothing else."""

_MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"} | {
    *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
}
"""What pandas reads as a missing value."""


def numbers(name: str, column: Sequence[str]) -> list[float]:
    """A column as numbers, exact to the last bit; missing values are not a number.

    Raises:
        InvalidSubmissionError: If a cell is neither a number nor missing.
    """
    if all(cell in _WORDS for cell in column):
        return [_WORDS[cell] for cell in column]
    return [_number(name, cell) for cell in column]


def _number(name: str, cell: str) -> float:
    if cell in _MISSING:
        return nan
    # Python reads more than numbers of a CSV file: digits of other scripts, and 1_000.
    if cell.isascii() and "_" not in cell:
        try:
            return float(cell)
        except ValueError:
            pass
    raise InvalidSubmissionError(f"{_some([cell])} in the column {name!r} is no number")


def _some(texts: Sequence[str]) -> str:
    """The first few texts, cut to a line."""
    listing = ", ".join(repr(text[:_SHOWN]) for text in texts[:5])
    return listing + (", ..." if len(texts) > 5 else "")
