"""The lines of `metrics.jsonl`, as reports read them."""

from pathlib import Path
from typing import Any

import msgspec

from timeful.records.store import KeyedLog, read_log


class UpdateMetrics(msgspec.Struct, frozen=True):
    """The metrics of an update that learning curves show; its line has more."""

    update: int
    reward: float | None
    tokens: dict[str, float]
    right_in_time: dict[str, float]


def open_metrics(path: Path) -> KeyedLog[int, dict[str, Any]]:
    """The lines of a file of metrics by their updates, to be written.

    Raises:
        RecordError: If it cannot be read.
    """
    return KeyedLog(path, dict[str, Any], key=lambda line: int(line["update"]))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a file of metrics; none if it does not exist; raises as above."""
    return list(read_log(path, dict[str, Any]))
