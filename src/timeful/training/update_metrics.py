"""The lines of `metrics.jsonl`, as reports read them."""

from pathlib import Path
from typing import Any

import msgspec

from timeful.records.store import KeyedLog, read_log


class UpdateMetrics(msgspec.Struct, frozen=True):
    """A line: the metrics of an update. One of a training by examples has those of TRL alone."""

    update: int
    reward: float | None = None
    tokens: dict[str, float] = {}
    right_in_time: dict[str, float] = {}
    episodes: int = 0
    failed: int = 0
    unrewarded: int = 0
    alarm: str = ""
    trl: dict[str, Any] = {}


def open_metrics(path: Path) -> KeyedLog[int, dict[str, Any]]:
    """The lines of a file of metrics by their updates, to be written.

    Raises:
        RecordError: If it cannot be read.
    """
    return KeyedLog(path, dict[str, Any], key=lambda line: int(line["update"]))


def read_metrics(path: Path) -> list[UpdateMetrics]:
    """The complete lines of a file of metrics; none if it does not exist; raises as above."""
    return list(read_log(path, UpdateMetrics))
