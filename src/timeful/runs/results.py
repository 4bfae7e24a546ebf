"""Results: rows of one shape for every suite, and their files.

`results.json` is a list of such rows. A number is ours if it stands in `value` and the paper's
if it stands in `published`; what is unknown is null, and nothing is ever filled in.
"""

from collections.abc import Iterable, Sequence
from csv import writer
from io import StringIO
from pathlib import Path

import msgspec

from timeful.errors import RecordError


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a suite: ours, the published one, or both.

    `value` is None where it was not run or every episode failed; `n` counts what it was made
    of (episodes, or pairs for a p-value). `low` and `high` bound the 95 % interval. `source`
    says where `published` is printed. `stand_in` is true where no model of the paper's kind
    was run, and None where nothing was. `spread` is the standard deviation over training seeds,
    where there are some.
    """

    suite: str
    experiment: str
    setting: str
    method: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    published: float | None
    source: str | None
    stand_in: bool | None
    spread: float | None = None


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
        return msgspec.json.decode(path.read_bytes(), type=list[ResultRow])
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read as results: {error}") from error


def write_csv(rows: Sequence[msgspec.Struct], kind: type[msgspec.Struct], path: Path) -> Path:
    """Write rows of one kind as CSV: a header line, None as nothing, a tuple spaced out."""
    names = kind.__struct_fields__
    text = StringIO()
    table = writer(text, lineterminator="\n")
    table.writerow(names)
    for row in rows:
        table.writerow([_plain(getattr(row, name)) for name in names])
    path.write_text(text.getvalue(), encoding="utf-8", newline="\n")
    return path


def save_report(
    out: Path,
    page: str,
    numbers: Sequence[ResultRow],
    rows: Sequence[msgspec.Struct],
    kind: type[msgspec.Struct],
    *,
    name: str = "episodes",
) -> Path:
    """Write a whole report: `report.html`, `results.json`, `table.csv` and the rows behind them.

    Args:
        out: The folder; made if needed.
        page: The page, as HTML.
        numbers: All numbers of the suite.
        rows: What they were made from.
        kind: The type of those rows.
        name: What the file of those rows is called, without its ending.

    Returns:
        The path of the page.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_json(numbers, out / "results.json")
    write_csv(numbers, ResultRow, out / "table.csv")
    write_csv(rows, kind, out / f"{name}.csv")
    path = out / "report.html"
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def _plain(value: object) -> str:
    """One value as a spreadsheet reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(str(part) for part in value)
    return str(value)
