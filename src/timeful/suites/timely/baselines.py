"""Baselines: what unhurried runs took, by case and by everything that changes the time.

A file of them is JSON that people can read; two files, or a file and new runs, are merged by case
and run number. (Timely Machine, section 5.2.2 and A.1.1.)
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import msgspec

from timeful.errors import RecordError
from timeful.tasks.budgets import Baseline
from timeful.version import __version__


class Took(msgspec.Struct, frozen=True, kw_only=True):
    """What one unhurried run took: nanoseconds that counted, and thoughts."""

    counted: int
    steps: int


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The unhurried runs of a case under some conditions, by run number."""

    case: str
    conditions: dict[str, Any]
    runs: dict[str, Took]

    @property
    def key(self) -> str:
        """What it is found by."""
        return key_of(self.case, self.conditions)

    @property
    def baseline(self) -> Baseline:
        """The mean over its runs."""
        runs = list(self.runs.values())
        return Baseline(
            counted=fmean(one.counted for one in runs), steps=fmean(one.steps for one in runs)
        )


class _File(msgspec.Struct, frozen=True, kw_only=True):
    schema: Literal[1] = 1
    version: str
    baselines: list[Kept]


Baselines = Mapping[str, Kept]
"""Baselines by their keys."""


def key_of(case: str, conditions: Mapping[str, Any]) -> str:
    """What the baseline of a case under some conditions is found by."""
    return msgspec.json.encode([case, dict(conditions)], order="deterministic").decode()


def merged(*parts: Iterable[Kept]) -> Baselines:
    """All of them; of two runs with one number of one case, the later one."""
    found: dict[str, Kept] = {}
    for one in (one for part in parts for one in part):
        known = found.get(one.key)
        runs = one.runs if known is None else {**known.runs, **one.runs}
        found[one.key] = msgspec.structs.replace(one, runs=runs)
    return found


def load_baselines(path: Path) -> Baselines:
    """Read a file of baselines; one that is not there holds none.

    Raises:
        RecordError: If it is no such file.
    """
    if not path.exists():
        return {}
    try:
        return merged(msgspec.json.decode(path.read_bytes(), type=_File).baselines)
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{path} cannot be read as baselines: {error}") from error


def save_baselines(path: Path, baselines: Baselines) -> None:
    """Write a file of baselines whole, or leave the one that is there."""
    kept: Sequence[Kept] = [baselines[key] for key in sorted(baselines)]
    text = msgspec.json.encode(
        _File(version=__version__, baselines=list(kept)), order="deterministic"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.part")
    partial.write_bytes(msgspec.json.format(text) + b"\n")
    partial.replace(path)
