"""Files of predictions and results that were made elsewhere."""

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Annotated

import msgspec

from timeful.dialogues.explaining import explain
from timeful.dialogues.opportunity import Opportunity
from timeful.errors import SettingsError
from timeful.files import read_bytes, read_lines
from timeful.metrics.proactor.ranking import COLUMNS, Result
from timeful.metrics.proactor.turns import TurnScores, score_turn

_Number = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
"""Of a turn; above 2 ** 53 JSON does not hold every number."""


class PredictedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a dialogue as one line of JSON; what else the line says is left."""

    dialogue: str | int
    turn: _Number
    predictions: tuple[Opportunity, ...]
    references: tuple[Opportunity, ...]
    ready_ranges: dict[str, tuple[_Number, ...]]

    def scores(self) -> TurnScores | None:
        """All metrics of the turn; None without predictions."""
        return score_turn(self.turn, self.predictions, self.references, self.ready_ranges)


class _Name(msgspec.Struct):
    dialogue: str | int


def read_turns(path: Path) -> Iterator[PredictedTurn]:
    """Read turns one by one, one JSON object a line, packed with gzip or not.

    Raises:
        SettingsError: If a line is none (the line, the dialogue and the field are named), or there
            is no line.
    """
    decoder = msgspec.json.Decoder(PredictedTurn)
    number = 0
    for number, line in read_lines(path):
        try:
            turn = decoder.decode(line)
        except (ValueError, RecursionError) as error:
            where = f"{path.name}, line {number}{_name_of(line)}"
            raise SettingsError(f"{where}: {explain(error, PredictedTurn)}") from None
        yield turn
    if not number:
        raise SettingsError(f"{path.name} holds no turn")


def read_results(path: Path) -> list[Result]:
    """Read a table of results, CSV with the columns of `Result` in any order; others are left.

    Raises:
        SettingsError: If a column is missing, a value is no finite number (the line and the column
            are named), a name stands twice, or there is no row.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
        reader = csv.reader(StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"{path.name} is no CSV: {error}") from None
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    for column in COLUMNS:
        if header.count(column) != 1:
            names = ", ".join(header) or "nothing"
            raise SettingsError(
                f"{path.name} needs the column {column} once; line 1 has {names}, and the columns "
                f"are {', '.join(COLUMNS)}"
            )
    results: dict[str, Result] = {}
    for line, row in rows[1:]:
        where = f"{path.name}, line {line}"
        if len(row) != len(header):
            raise SettingsError(f"{where}: {len(row)} values under {len(header)} columns")
        result = _result(dict(zip(header, row, strict=True)), where)
        if result.name in results:
            raise SettingsError(f"{where}: {result.name!r} stands twice; a file is one group")
        results[result.name] = result
    if not results:
        raise SettingsError(f"{path.name} holds no result")
    return list(results.values())


def _result(cells: Mapping[str, str], where: str) -> Result:
    name = cells["name"].strip()
    if not name:
        raise SettingsError(f"{where}: there is no name")
    return Result(
        name=name, **{column: _finite(cells[column], where, column) for column in COLUMNS[1:]}
    )


def _finite(cell: str, where: str, column: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise SettingsError(f"{where}: {column} must be a finite number, got {cell.strip()!r}")
    return value


def _name_of(line: bytes) -> str:
    try:
        return f" (dialogue {msgspec.json.decode(line, type=_Name).dialogue})"
    except (ValueError, RecursionError):
        return ""
