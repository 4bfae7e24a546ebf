"""Find the records that a command reads: files, folders of them, and runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def record_files(roots: Iterable[Path]) -> list[Path]:
    """The paths of records, each once; of a run, those in its folder `episodes`.

    Raises:
        RecordError: If a folder has no records.
    """
    return list({path.resolve(): path for root in roots for path in _files(root)}.values())


def warn_of_mixture(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """A warning if means are over several agents or paces.

    Args:
        settings: The settings of the records.
    """
    names = ("agent", "who", "model", "timing", "pace", "latency")
    episodes = [table.get("episode") or {} for table in settings]
    count = len({str([episode.get(name) for name in names]) for episode in episodes})
    if count < 2:
        return []
    return [f"{count} agents or paces are mixed in these means; `timeful report` separates them"]


def _files(root: Path) -> list[Path]:
    from timeful.errors import RecordError

    if not root.is_dir():
        return [root]
    inner = root if root.name == "episodes" else root / "episodes"
    # A training has a folder for each update in `episodes`.
    records = sorted(inner.rglob("*.jsonl") if inner.is_dir() else root.glob("*.jsonl"))
    if not records:
        raise RecordError(f"no record in {root}; records are .jsonl files")
    return records
