"""Runs, trainings and records below some paths: what there is, its tables, and its episodes.

Nothing is written. Files are opened below the resolved roots only; a link that leads out of one is
not followed. What cannot be read says so in its entry, and does not hide the rest.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

import msgspec

from timeful.core.clock import monotonic_ns
from timeful.errors import RecordError
from timeful.files import decode
from timeful.records.folder import SETTINGS
from timeful.version import __version__
from timeful.viewer.pack import about, pack_apart, pack_part
from timeful.viewer.reading import RawRecord, read_raw
from timeful.viewer.schema import Catalogue, Rows, RunEntry
from timeful.viewer.tables import (
    ARMS,
    find_journals,
    make_rows,
    read_curves,
    read_row,
    read_rows,
    read_sections,
)

EXAMPLES = Path(__file__).with_name("examples")
"""Records that are shown where there is no run."""

PARTS = ("lanes", "texts", "frames")
MOST_RUNS = 2_000
_DEPTH = 4
_CACHE_BYTES = 64 << 20
_PACKED_AT_ONCE = 8
_LONG_BYTES = 32 << 20
"""A longer record is packed in a process of its own."""
_FEW = 20
"""The most records that are read for the first page where a run has no index."""
_SEARCH_NS = 1_000_000_000
"""The time between two searches for new runs."""

Fill = Callable[[RawRecord, Path], RawRecord]
"""Completes a record of a folder that has answers only, by playing the episode again."""


@dataclass(slots=True, kw_only=True)
class Run:
    """A folder of records, or a single record; episodes keep their numbers while it grows."""

    number: int
    root: Path
    base: Path
    name: str
    kind: Any
    keys: list[str] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)
    seen: tuple[int, ...] = ()

    def refresh(self) -> None:
        """Find new episodes; a record that is being written gets its final path when it is done."""
        seen = tuple(_changed_ns(path) for path in (self.root, self.root / "episodes"))
        if self.kind != "training" and self.keys and seen == self.seen:
            return
        self.seen = seen
        for path in _record_paths(self.root):
            key = _key(path, self.root)
            if key not in self.paths:
                self.keys.append(key)
                self.paths[key] = path
            elif path.suffix == ".jsonl" or not self.paths[key].exists():
                self.paths[key] = path


class Runs:
    """The runs below some paths; all that a page reads comes from here.

    Args:
        paths: Runs, folders of runs, and records.
        fill: Completes records; None leaves them as they are.
        examples: Records that are shown if there is no run.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        fill: Fill | None = None,
        examples: Path | None = None,
    ) -> None:
        self._paths = [Path(path) for path in paths]
        self._fill = fill
        self._examples = examples
        self._lock = Lock()
        self._next_search = 0
        self._unread: set[int] = set()
        self._tables: dict[Path, tuple[Any, Any]] = {}
        self._packing = BoundedSemaphore(_PACKED_AT_ONCE)
        self._numbers: dict[Path, Run] = {}
        self._packs: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._heads: dict[tuple[Path, int], dict[str, Any]] = {}

    @property
    def runs(self) -> list[Run]:
        """All runs, in the order in which they were found."""
        with self._lock:
            if monotonic_ns() >= self._next_search:
                for root, base, kind in self._find():
                    self._add(root, base, kind)
                self._next_search = monotonic_ns() + _SEARCH_NS
            return list(self._numbers.values())

    def _add(self, root: Path, base: Path, kind: str) -> None:
        if root not in self._numbers and len(self._numbers) < MOST_RUNS:
            number, name = len(self._numbers), _name(root, base)
            self._numbers[root] = Run(number=number, root=root, base=base, name=name, kind=kind)

    def _find(self) -> Iterator[tuple[Path, Path, str]]:
        is_empty = True
        for path in self._paths:
            base = _resolved(path)
            for root, kind in _find_runs(base, _DEPTH):
                is_empty = False
                yield root, base if base.is_dir() and root != base else base.parent, kind
        if is_empty and self._examples is not None:
            for path in sorted(self._examples.iterdir()):
                if path.is_dir():
                    yield path.resolve(), self._examples.resolve(), "example"

    def run(self, number: int) -> Run:
        """A run by its number, with its episodes.

        Raises:
            RecordError: If there is none.
        """
        run = next((run for run in self.runs if run.number == number), None)
        if run is None:
            raise RecordError(f"there is no run {number}")
        with self._lock:
            run.refresh()
        return run

    def catalogue(self, *, has_times: bool = True) -> Catalogue:
        """What there is, the latest change first.

        Args:
            has_times: Whether entries say when they were changed; an export does not.
        """
        entries = [self._entry(run) for run in self.runs]
        entries.sort(key=lambda entry: (-(entry.changed or 0.0), entry.path))
        if not has_times:
            for entry in entries:
                entry.changed = None
            entries.sort(key=lambda entry: entry.number)
        hint = ""
        if all(entry.kind == "example" for entry in entries):
            places = ", ".join(str(path) for path in self._paths)
            hint = f"There is no run in {places}. Make one: timeful run realtime --preset quick"
        return Catalogue(version=__version__, runs=entries, hint=hint)

    def _entry(self, run: Run) -> RunEntry:
        entry = RunEntry(
            number=run.number,
            name=run.name,
            path=run.name,
            kind=run.kind,
            suite="",
            state="done",
            episodes=0,
            failed=0,
            stand_in=None,
        )
        try:
            with self._lock:
                run.refresh()
            settings = read_settings(run)
            rows, _ = self._read_rows(run)
            entry.suite = str(settings.get("suite", ""))
            entry.about = about({k: v for k, v in settings.items() if k != "suite"})[:40]
            entry.changed = _changed(run.root)
            entry.episodes = len(run.keys)
            table = list(rows.values())
            if not table and len(run.keys) <= _FEW:
                table = [self._head(self._checked(run, key))[0] or {} for key in run.keys]
            entry.failed = sum(row.get("status") == "failed" for row in table)
            flags = {row.get("stand_in") for row in table} - {None}
            entry.stand_in = True if flags == {True} else False if flags else None
            parts = [path for path in run.paths.values() if path.suffix == ".part"]
            if parts:
                entry.state = "running" if any(map(_is_alive, parts)) else "stopped"
        except (OSError, RecordError) as error:
            entry.state, entry.problem = "unreadable", str(error)
        return entry

    def rows(self, number: int, *, budget: int = 500) -> Rows:
        """The table of a run.

        Args:
            number: The run.
            budget: The most records to read for rows that the index lacks.
        """
        run = self.run(number)
        rows, notices = self._read_rows(run)
        rows = dict(rows)
        pending = 0
        for key in run.keys:
            if key in rows:
                continue
            try:
                head, is_new = self._head(self._checked(run, key), may_read=budget > 0)
                budget -= is_new
                pending += head is None
                rows[key] = head or {}
            except (OSError, RecordError) as error:
                rows[key] = {"status": "unreadable", "error": str(error)}
        (self._unread.add if pending else self._unread.discard)(number)
        sections, more = read_sections(run.root)
        return make_rows(
            number,
            run.keys,
            [rows[key] for key in run.keys],
            sections=sections,
            curves=read_curves(run.root),
            pending=pending,
            notices=[*notices, *more],
        )

    def _head(self, path: Path, *, may_read: bool = True) -> tuple[dict[str, Any] | None, bool]:
        """The row of a record, and whether it was read now; None if it was not."""
        key = (path, _size(path))
        if key in self._heads or not may_read:
            return self._heads.get(key), False
        return self._heads.setdefault(key, read_row(path)), True

    def _read_rows(self, run: Run) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """The index of a run; it is read again when it has changed."""
        path = run.root / "rows.jsonl"
        state = (_changed_ns(path), _size(path))
        if (known := self._tables.get(run.root)) is None or known[0] != state:
            known = self._tables[run.root] = (state, read_rows(run.root))
        rows: tuple[dict[str, dict[str, Any]], list[str]] = known[1]
        return rows

    def record(self, number: int, episode: int) -> RawRecord:
        """A record by the numbers of its run and episode.

        Raises:
            RecordError: If there is none, or it cannot be read.
        """
        run = self.run(number)
        if not 0 <= episode < len(run.keys):
            raise RecordError(f"run {number} has no episode {episode}")
        record = read_raw(self._checked(run, run.keys[episode]))
        return record if self._fill is None else self._fill(record, run.root)

    def part(self, number: int, episode: int, name: str) -> bytes:
        """A part of an episode as JSON; packs are kept in memory, the latest 64 MB of them.

        Raises:
            RecordError: If there is no such episode or part.
        """
        if name not in PARTS:
            raise RecordError(f"an episode has no part {name!r}; it has {', '.join(PARTS)}")
        run = self.run(number)
        if not 0 <= episode < len(run.keys):
            raise RecordError(f"run {number} has no episode {episode}")
        path = self._checked(run, run.keys[episode])
        try:
            stat = path.stat()
        except OSError as error:
            raise RecordError(f"cannot read {path.name}: {error.strerror}") from None
        key = (path, stat.st_size, stat.st_mtime_ns, name)
        with self._lock:
            if key in self._packs:
                self._packs.move_to_end(key)
                return self._packs[key]
        with self._packing:
            if self._fill is None and stat.st_size > _LONG_BYTES:
                value = pack_apart(path, name)
            else:
                value = pack_part(self.record(number, episode), name)
        with self._lock:
            self._packs[key] = value
            while len(self._packs) > 1 and sum(map(len, self._packs.values())) > _CACHE_BYTES:
                self._packs.popitem(last=False)
        return value

    def _checked(self, run: Run, key: str) -> Path:
        """The path of a record, if no link leads out of its run.

        Raises:
            RecordError: If one does.
        """
        path = run.paths[key]
        resolved = path.resolve()
        inside = run.root if run.root.is_dir() else run.root.parent
        if not resolved.is_relative_to(inside):
            raise RecordError(f"{path.name} is a link that leads out of {run.name}")
        return resolved

    def signature(self) -> tuple[Any, ...]:
        """A value that changes when a run grows, or when more of its rows were read.

        It reads some of the rows that a table lacks.
        """
        for number in tuple(self._unread):
            self.rows(number)
        values: list[Any] = [len(self._heads)]
        for run in self.runs:
            for path in (run.root, run.root / "episodes", run.root / "rows.jsonl"):
                try:
                    stat = path.stat()
                    values.append((run.number, stat.st_mtime_ns, stat.st_size))
                except OSError:
                    continue
            values += [
                (run.number, key, _size(path))
                for key, path in run.paths.items()
                if path.suffix == ".part"
            ]
        return tuple(values)


def read_settings(run: Run) -> dict[str, Any]:
    """The settings of a run; of a single record, those in its first line.

    Raises:
        RecordError: If they cannot be read.
    """
    if run.root.is_file():
        return {"suite": read_row(run.root).get("suite", "")}
    path = run.root / SETTINGS
    if not path.exists():
        first = next(iter(run.paths.values()), None)
        return {} if first is None else {"suite": read_row(first).get("suite", "")}
    try:
        return decode(path.read_bytes(), dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{SETTINGS} cannot be read: {error}") from None


def _find_runs(path: Path, depth: int) -> Iterator[tuple[Path, str]]:
    """The runs at or below a path."""
    try:
        if path.is_file():
            yield path, "records"
        elif path.is_dir():
            entries = sorted(path.iterdir())
            names = {entry.name for entry in entries}
            if SETTINGS in names:
                yield path, "training" if find_journals(path) else "run"
            elif any(entry.suffix == ".jsonl" and entry.is_file() for entry in entries):
                yield path, "records"
            elif depth:
                for entry in entries:
                    if entry.is_dir() and not entry.is_symlink() and entry.suffix != ".part":
                        yield from _find_runs(entry, depth - 1)
    except OSError:
        yield path, "run"


def _record_paths(root: Path) -> Iterable[Path]:
    if root.is_file():
        return [root]
    folders = [path for arm in ARMS for path in root.glob(f"{arm}episodes") if path.is_dir()]
    paths = [path for folder in folders for path in folder.rglob("*.jsonl*")]
    if not folders:
        paths = [path for path in root.glob("*.jsonl*") if path.name not in _LOGS]
    return sorted(path for path in paths if path.suffix in (".jsonl", ".part", ".xz"))


_LOGS = ("rows.jsonl", "metrics.jsonl", "ruler.jsonl")


def _key(path: Path, root: Path) -> str:
    """The name of an episode: that of its file, after its folder in a training."""
    name = path.name.partition(".jsonl")[0]
    parents = path.relative_to(root).parts[:-1] if path != root else ()
    parents = tuple(part for part in parents if part != "episodes")
    return "/".join((*parents, name))


def _is_alive(path: Path) -> bool:
    """Whether the process that writes a record, which its temporary name has, still runs."""
    words = path.name.split(".")
    number = words[-3] if len(words) > 3 else ""
    if not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _changed(root: Path) -> float | None:
    times = []
    for path in (root / "rows.jsonl", root / "metrics.jsonl", root / SETTINGS, root):
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            continue
    return times[0] if times else None


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return -1


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _name(root: Path, base: Path) -> str:
    try:
        relative = root.relative_to(base).as_posix()
    except ValueError:
        relative = root.name
    return relative if relative not in ("", ".") else root.name
