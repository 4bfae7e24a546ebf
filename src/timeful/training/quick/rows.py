"""What the stages leave behind, read again: rows of graded problems, and lines of metrics."""

from pathlib import Path
from typing import TypeVar

import msgspec

from timeful.errors import RecordError
from timeful.suites.timely.rows import TimelyRow

R = TypeVar("R")


class Line(msgspec.Struct, frozen=True):
    """What the journal says of an update; the rest of it is TRL's, and is not for the tables."""

    update: int
    reward: float | None
    tokens: dict[str, float]
    right_in_time: dict[str, float]


def read_rows(path: Path) -> list[TimelyRow]:
    """The rows of a grading.

    Raises:
        RecordError: If it cannot be read.
    """
    return _read(path, TimelyRow, "remove it, and the same command grades again")


def read_metrics(path: Path) -> list[Line]:
    """The updates of a training.

    Raises:
        RecordError: If they cannot be read.
    """
    return _read(path, Line, "remove its folder, and the same command learns again")


def _read(path: Path, kind: type[R], advice: str) -> list[R]:
    try:
        return [msgspec.json.decode(one, type=kind) for one in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read: {error}; {advice}") from error
