"""Result rows: one shape for the numbers of every suite, and their files.

`results.json` is a list of such rows. `value` is ours and `published` is the paper's; an unknown
number is null.
"""

from collections.abc import Iterable, Mapping, Sequence
from csv import writer
from io import StringIO
from pathlib import Path

import msgspec

from timeful.errors import RecordError
from timeful.files import decode
from timeful.reports.metric import Column, read_item

Scalar = str | int | float | bool | None
"""A value that identifies a cell: a column of its episodes' rows."""

Where = Mapping[str, Scalar]
"""The values that identify a cell, by column."""


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a suite's results: one metric of a group of episodes.

    `value` is None where nothing was run or every episode failed; `n` counts the episodes (or the
    pairs of a p-value) that it was computed from. `low` and `high` bound the 95 % interval.
    `source` names the place where `published` is printed. `stand_in` is true where no model of
    the paper's kind was run, and None where nothing was run. `spread` is the standard deviation
    over training seeds or sets, where there are several. `where` identifies the episodes: their
    rows have these values in these columns. `failed` counts the failed episodes among them.
    """

    suite: str
    experiment: str
    setting: str
    method: str
    metric: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    published: float | None = None
    source: str | None = None
    stand_in: bool | None = None
    spread: float | None = None
    where: dict[str, Scalar] = {}
    failed: int = 0

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % interval; None if there is none, or only one episode."""
        if self.low is None or self.high is None or self.n == 1:
            return None
        return (self.high - self.low) / 2

    def matches(self, where: Where) -> bool:
        """Whether the cell has these values in these columns."""
        return all(self.where.get(name) == value for name, value in where.items())


def show_value(value: object) -> str:
    """A value of a column as options such as `--episodes` take it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def write_json(rows: Iterable[msgspec.Struct], path: Path) -> Path:
    """Write rows as a JSON list, one row a line."""
    lines = [msgspec.json.encode(row).decode() for row in rows]
    body = ",\n".join(lines)
    path.write_text(f"[\n{body}\n]\n" if lines else "[]\n", encoding="utf-8", newline="\n")
    return path


def read_results(path: Path) -> list[ResultRow]:
    """Read a `results.json`.

    Raises:
        RecordError: If the file is missing, or holds something else.
    """
    try:
        return decode(path.read_bytes(), list[ResultRow])
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read as results: {error}") from error


def write_csv(
    rows: Sequence[msgspec.Struct],
    kind: type[msgspec.Struct],
    path: Path,
    columns: Mapping[str, Column] | None = None,
) -> Path:
    """Write rows of one kind as CSV: a header line, None as nothing, a tuple spaced out.

    Columns of bytes are left out by default.

    Args:
        rows: The rows.
        kind: Their type.
        path: The file.
        columns: The columns by name; all fields by default.
    """
    names = columns or {f.name: f.name for f in msgspec.structs.fields(kind) if f.type is not bytes}
    text = StringIO()
    table = writer(text, lineterminator="\n")
    table.writerow(names)
    for row in rows:
        table.writerow([_cell(read_item(row, column)) for column in names.values()])
    path.write_text(text.getvalue(), encoding="utf-8", newline="\n")
    return path


def save_report(
    out: Path,
    numbers: Sequence[ResultRow],
    rows: Sequence[msgspec.Struct],
    kind: type[msgspec.Struct],
    *,
    columns: Mapping[str, Column] | None = None,
) -> None:
    """Write the tables of a report: `results.json`, `table.csv` and the rows.

    Args:
        out: The folder; made if needed.
        numbers: The cells.
        rows: The rows of the episodes that the cells were computed from.
        kind: The type of those rows.
        columns: The columns of that file; all fields of the rows by default.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_json(numbers, out / "results.json")
    # Published values alone are in results.json: most runs play a part of an experiment.
    write_csv([row for row in numbers if row.n or row.failed], ResultRow, out / "table.csv")
    write_csv(rows, kind, out / "episodes.csv", columns)


def _cell(value: object) -> str:
    """Format one value for a spreadsheet, which would take a text such as `=1+1` as a formula."""
    text = "\n".join(_plain(value).split("\r"))  # which the writer does not quote
    is_formula = not isinstance(value, int | float) and text.startswith(tuple("=+-@\t\n"))
    return f"'{text}" if is_formula else text


def _plain(value: object) -> str:
    """Format one value."""
    if isinstance(value, dict):
        return " ".join(f"{name}={_plain(item)}" for name, item in value.items())
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value)
    return str(value)
