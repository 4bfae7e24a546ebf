"""The lines of `metrics.jsonl`, as reports read them."""

from pathlib import Path
from typing import Any

import msgspec

from timeful.errors import RecordError


class UpdateMetrics(msgspec.Struct, frozen=True):
    """The metrics of an update that learning curves show; its line has more."""

    update: int
    reward: float | None
    tokens: dict[str, float]
    right_in_time: dict[str, float]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The complete lines of a file of metrics; none if it does not exist.

    Raises:
        RecordError: If it cannot be read.
    """
    try:
        text = path.read_bytes() if path.exists() else b""
        whole = [line for line in text.splitlines(keepends=True) if line.endswith(b"\n")]
        return [msgspec.json.decode(line, type=dict[str, Any]) for line in whole]
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read: {error}") from error
