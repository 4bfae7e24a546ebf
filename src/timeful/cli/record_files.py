"""The records that a command was given: files, folders of them, and runs."""

from collections.abc import Iterable
from pathlib import Path


def record_files(given: Iterable[Path]) -> list[Path]:
    """Records by their files, each once; of a run, those in its folder `episodes`.

    Raises:
        RecordError: If a folder has none.
    """
    return list({path.resolve(): path for one in given for path in _files(one)}.values())


def _files(given: Path) -> list[Path]:
    from timeful.errors import RecordError

    if not given.is_dir():
        return [given]
    inner = given / "episodes"
    found = sorted((inner if inner.is_dir() else given).glob("*.jsonl"))
    if not found:
        raise RecordError(f"there is no record in {given}; records are .jsonl files")
    return found
