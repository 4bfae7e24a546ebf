"""Data sets as files: their columns, rows as JSON lines or Parquet, and their cards.

A file is written completely or not at all. The same rows give the same bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from timeful.errors import SettingsError
from timeful.records.store import replace_atomically
from timeful.version import __version__

Format = Literal["jsonl", "parquet"]
Row = dict[str, Any]

DatasetKind = Literal["sft", "preference", "prompts"]
ColumnKind = Literal["text", "number", "integer", "messages"]
Columns = Sequence[str]
"""The names of columns, of those in `_COLUMNS`. All but messages may be null."""

_GROUP = 500
"""Rows of a group in Parquet, which are in memory together."""


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
    import pyarrow as pa  # noqa: PLC0415 - heavy, and needed for this form alone
    from pyarrow import parquet  # noqa: PLC0415

    kinds = {
        "text": pa.string(),
        "number": pa.float64(),
        "integer": pa.int64(),
        "messages": pa.list_(pa.struct({"role": pa.string(), "content": pa.string()})),
    }
    schema = pa.schema({name: kinds[_COLUMNS[name][0]] for name in columns})
    count, waiting = 0, iter(rows)
    with parquet.ParquetWriter(path, schema) as writer:
        while group := list(islice(waiting, _GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


_COLUMNS: Mapping[str, tuple[ColumnKind, str]] = {
    "messages": ("messages", "the conversation: role and content of each message"),
    "prompt": ("messages", "the messages before the first answer to learn"),
    "chosen": ("messages", "the better completion"),
    "rejected": ("messages", "the worse completion"),
    "reward": ("number", "the reward"),
    "chosen_reward": ("number", "the reward of the better completion"),
    "rejected_reward": ("number", "the reward of the worse completion"),
    "answer": ("text", "the right answer, if there is one"),
    "tokens": ("integer", "the number of generated tokens"),
    "model": ("text", "the model's name"),
    "episode": ("text", "the record of the conversation"),
    "chosen_episode": ("text", "the record of the better completion"),
    "rejected_episode": ("text", "the record of the worse completion"),
    "case": ("text", "the problem, game or dialogue"),
    "conditions": ("text", "budget, latency and other conditions, as JSON"),
    "budget_s": ("number", "the budget in seconds, if there is one"),
    "alpha": ("number", "the factor of the time of thinking"),
    "split": ("text", "the split of the case, by a hash"),
    "purpose": ("text", "the purpose of the thought"),
    "tools": ("text", "tools of the API as JSON; null where the messages describe them"),
    "problem": ("text", "the name of the problem"),
    "jitter_s": ("number", "the standard deviation of the timer, in seconds"),
}

_ORIGIN = ("case", "conditions", "budget_s", "alpha", "split", "purpose", "tools")
_PAIR = ("reward", "episode")
COLUMNS: Mapping[DatasetKind, Columns] = {
    "sft": ("messages", "reward", "tokens", "model", "episode", *_ORIGIN),
    "preference": (
        *("prompt", "chosen", "rejected"),
        *(f"{which}_{name}" for name in _PAIR for which in ("chosen", "rejected")),
        *_ORIGIN,
    ),
    "prompts": ("prompt", "answer", *_ORIGIN),
}


def describe_columns(columns: Columns) -> dict[str, object]:
    """The descriptions of columns, for a card."""
    return {name: _COLUMNS[name][1] for name in columns}


LICENCE = """\
Problems, worlds and prompts that timeful makes itself are under its licence, Apache-2.0. Problems,
games and dialogues of others keep theirs, and the output of a model is under the terms of its
provider. Check both before you share these data."""

Table = Mapping[str, object]
"""A table of a card: a value for each name."""


def write_card(
    path: Path, title: str, about: str, tables: Mapping[str, Table], files: Mapping[str, str]
) -> Path:
    """Write the card of a data set: its contents, origin and omissions.

    It begins with the YAML by which `datasets` finds the files, so a folder with a card can be
    loaded or uploaded as it is.

    Args:
        path: The file.
        title: Its heading.
        about: A description of the data, in a sentence or two.
        tables: Tables of two columns by their headings; an empty one is left out.
        files: The file of each split.
    """
    paragraphs = [_front(files), f"# {title}", about]
    for heading, table in tables.items():
        if table:
            paragraphs.append(f"## {heading}\n\n{_table(table)}")
    paragraphs.append(f"## Licence\n\n{LICENCE}")
    paragraphs.append(f"Made by timeful {__version__}.")
    path.write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8", newline="\n")
    return path


def number_names(title: str, names: Sequence[str]) -> Table:
    """A table of numbered names."""
    return {f"{title} {number}": name for number, name in enumerate(names, 1)}


def _front(files: Mapping[str, str]) -> str:
    files_text = "\n".join(f"  - split: {split}\n    path: {name}" for split, name in files.items())
    return f"---\nconfigs:\n- config_name: default\n  data_files:\n{files_text}\n---"


def _table(table: Table) -> str:
    rows = "\n".join(f"| {_cell(name)} | {_cell(value)} |" for name, value in table.items())
    return f"| what | value |\n| --- | --- |\n{rows}"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
