"""Data sets as files: rows as JSON lines or as Parquet, written as they come.

A file is there whole or not at all. The same rows are the same bytes.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from timeful.errors import SettingsError
from timeful.records.store import replace_atomically

Format = Literal["jsonl", "parquet"]
Row = dict[str, Any]

Kind = Literal["text", "number", "integer", "messages"]
Columns = Mapping[str, Kind]
"""What a data set's columns hold. All but messages may be null."""

_GROUP = 500
"""Rows of a group in Parquet: so many are in memory."""


def write_rows(rows: Iterable[Row], path: Path, columns: Columns, form: Format = "jsonl") -> int:
    """Write rows, and return how many.

    Args:
        rows: The rows, each with all columns and no others.
        path: The file; one that is there is replaced at the end.
        columns: What they hold.
        form: The form of the file.

    Raises:
        SettingsError: If Parquet is asked for without pyarrow.
    """
    write = _write_jsonl if form == "jsonl" else _write_parquet
    with replace_atomically(path) as partial:
        return write(rows, partial, columns)


def check_form(form: str) -> None:
    """Refuse a form that cannot be written here.

    Raises:
        SettingsError: If pyarrow is missing.
    """
    if form == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401, PLC0415 - heavy, and needed for this form alone
        except ImportError:
            raise SettingsError(
                "Parquet needs pyarrow: pip install 'timeful[train]', or take --format jsonl"
            ) from None


def check_target(path: Path, *, replace: bool) -> None:
    """Refuse a file that is there already, unless it may be replaced.

    Raises:
        SettingsError: If it is, or its place is none for a file.
    """
    if path.is_dir():
        raise SettingsError(f"{path} is a folder; give a file in it")
    if not replace and path.exists():
        raise SettingsError(f"{path} is there already; give another file, or --replace")
    blocked = next((parent for parent in path.parents if parent.exists()), None)
    if blocked is not None and not blocked.is_dir():
        raise SettingsError(f"{blocked} is a file, so {path} cannot be in it")


def _write_jsonl(rows: Iterable[Row], path: Path, columns: Columns) -> int:
    count = 0
    with path.open("wb") as file:
        for row in rows:
            file.write(msgspec.json.encode({name: row[name] for name in columns}) + b"\n")
            count += 1
    return count


def _write_parquet(rows: Iterable[Row], path: Path, columns: Columns) -> int:
    check_form("parquet")
    import pyarrow as pa  # noqa: PLC0415 - heavy, and needed for this form alone
    from pyarrow import parquet  # noqa: PLC0415

    kinds = {
        "text": pa.string(),
        "number": pa.float64(),
        "integer": pa.int64(),
        "messages": pa.list_(pa.struct({"role": pa.string(), "content": pa.string()})),
    }
    schema = pa.schema({name: kinds[kind] for name, kind in columns.items()})
    count, waiting = 0, iter(rows)
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(waiting, _GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count
