"""The records that a command was given: files, folders of them, and runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def record_files(given: Iterable[Path]) -> list[Path]:
    """Records by their files, each once; of a run, those in its folder `episodes`.

    Raises:
        RecordError: If a folder has none.
    """
    return list({path.resolve(): path for one in given for path in _files(one)}.values())


def mixed(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """A warning where means are of agents that differ, or of one at several paces.

    Args:
        settings: Of the records.
    """
    names = ("agent", "who", "model", "timing", "pace", "latency")
    told = [one.get("episode") or {} for one in settings]
    count = len({str([episode.get(name) for name in names]) for episode in told})
    if count < 2:
        return []
    return [f"{count} agents or paces are mixed in all of this; `timeful report` tells them apart"]


def _files(given: Path) -> list[Path]:
    from timeful.errors import RecordError

    if not given.is_dir():
        return [given]
    inner = given if given.name == "episodes" else given / "episodes"
    # A training has a folder in it for each update.
    found = sorted(inner.rglob("*.jsonl") if inner.is_dir() else given.glob("*.jsonl"))
    if not found:
        raise RecordError(f"there is no record in {given}; records are .jsonl files")
    return found
