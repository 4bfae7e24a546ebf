"""Many episodes: in parallel, resumable, none lost and none played twice.

A run folder holds `settings.json`, one finished record an episode in `episodes/`, and
`rows.jsonl`, an index with one row a finished episode that is made anew from the records where
it lacks some. An episode is finished when its record bears its final name; what was being
written when a process died is deleted by the next one. A folder is for one process at a time:
see `lock.py`.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from timeful.errors import KernelError, SettingsError
from timeful.records.recorder import Recorder
from timeful.runs.workers import WorkerPool


class Spec(Protocol):
    """What says which episode to play: a value that can be pickled."""

    @property
    def key(self) -> str:
        """A name for it that no other episode of the run has, fit for a file name."""
        ...


class Row(Protocol):
    """What a run needs to know of an episode's row, a msgspec struct of the suite's own."""

    @property
    def status(self) -> str:
        """`ok` or `failed`."""
        ...

    @property
    def error(self) -> str | None:
        """What it failed with."""
        ...


S = TypeVar("S", bound=Spec)
R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[S, R]):
    """How to play an episode and how to sum it up; both are importable functions.

    `play` writes the whole record, a failed episode's included. `sum_up` makes the row, which
    is of type `row`, from a finished record's path. `give_up` writes the record of an episode
    whose process died.
    """

    play: Callable[[S, Recorder], object]
    sum_up: Callable[[Path], R]
    give_up: Callable[[S, Recorder, str], object]
    row: type[R]


def open_run(out: Path, settings: bytes, *, replace: bool = False) -> bool:
    """Begin a run in a folder, or find the same run in it to continue.

    Whoever opens a run should hold the folder's lock until the run is over.

    Args:
        out: The run folder; made if needed.
        settings: All that makes the run what it is, as JSON.
        replace: Start afresh if the folder holds another run of the same suite.

    Returns:
        Whether there was something to continue.

    Raises:
        SettingsError: If the folder holds another run, or something that is no run.
    """
    path = out / "settings.json"
    if path.exists():
        if path.read_bytes() == settings:
            for torn in (out / "episodes").glob("*.part"):
                torn.unlink(missing_ok=True)
            return True
        if not replace:
            raise SettingsError(
                f"{out} holds a run with other settings ({_differences(path, settings)}); "
                "choose another folder with --out, or start it afresh with --replace"
            )
        check_same_suite(out, settings)
        for old in [*(out / "episodes").glob("*"), out / "rows.jsonl"]:
            old.unlink(missing_ok=True)
    elif out.exists() and any(out.iterdir()):
        raise SettingsError(f"{out} is not empty and holds no run; choose another folder")
    (out / "episodes").mkdir(parents=True, exist_ok=True)
    partial = out / "settings.json.part"
    partial.write_bytes(settings)
    partial.replace(path)
    return False


def check_same_suite(out: Path, settings: bytes) -> None:
    """Find out whether a folder holds a run of this suite, which may be replaced.

    Raises:
        SettingsError: If it holds anything else.
    """
    if _suite((out / "settings.json").read_bytes()) != _suite(settings):
        raise SettingsError(
            f"{out} holds something else than such a run, which --replace does not touch; choose "
            "another folder with --out"
        )


def _suite(settings: bytes) -> object:
    try:
        return msgspec.json.decode(settings, type=dict[str, object]).get("suite")
    except msgspec.DecodeError:
        return "unreadable"


def _differences(path: Path, settings: bytes) -> str:
    try:
        old, new = msgspec.json.decode(path.read_bytes()), msgspec.json.decode(settings)
        names = sorted(k for k in {*old, *new} if old.get(k) != new.get(k))
    except (msgspec.DecodeError, TypeError, AttributeError):
        return "which cannot be read"
    return "different: " + ", ".join(names)


def finished_rows(out: Path, job: Job[S, R], specs: Sequence[S]) -> dict[str, R]:
    """The rows of the episodes that are finished, by key; the index is mended where it lacks some.

    Raises:
        RecordError: If a finished record cannot be read.
    """
    rows = _read_index(out / "rows.jsonl", job.row)
    known = {
        spec.key: rows.get(spec.key) or job.sum_up(_record(out, spec.key))
        for spec in specs
        if _record(out, spec.key).exists()
    }
    if {**rows, **known} != rows:
        _write_index(out, {**rows, **known})
    return known


def _write_index(out: Path, rows: Mapping[str, Row]) -> None:
    partial = out / "rows.jsonl.part"
    partial.write_bytes(b"".join(_row_line(key, row) for key, row in rows.items()))
    partial.replace(out / "rows.jsonl")


def run_batch(
    specs: Sequence[S],
    job: Job[S, R],
    out: Path,
    *,
    workers: int,
    retry_failed: bool = False,
    on_row: Callable[[R], None] = lambda _: None,
) -> list[R]:
    """Play what is not finished yet and return the rows of all, in the order of the specs.

    Args:
        specs: The episodes.
        job: How to play them.
        out: The run folder, opened.
        workers: How many processes play side by side; 1 plays in this process.
        retry_failed: Play episodes again that failed before.
        on_row: Called as each episode is done, and at once for those that were finished.

    Raises:
        SettingsError: If two episodes bear one name, or there are no workers.
        KernelError: If the timeline broke in an episode: no result is made around a bug.
        RecordError: If a finished record cannot be read.
        KeyboardInterrupt: After everything was stopped; what is finished stays finished.
    """
    if workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {workers}")
    if len({spec.key for spec in specs}) < len(specs):
        raise SettingsError("two episodes of the run bear one name")
    rows = finished_rows(out, job, specs)
    if retry_failed:
        rows = {key: row for key, row in rows.items() if row.status == "ok"}
        # Before a record changes: after a kill its old row must not be believed.
        _write_index(out, rows)
    for row in rows.values():
        on_row(row)
    missing = [spec for spec in specs if spec.key not in rows]
    played = (
        _in_process(missing, job, out) if workers == 1 else _parallel(missing, job, out, workers)
    )
    with (out / "rows.jsonl").open("ab") as index:
        for key, row in played:
            rows[key] = row
            index.write(_row_line(key, row))
            index.flush()
            on_row(row)
    return [rows[spec.key] for spec in specs]


def play_to_file(spec: S, job: Job[S, R], out: Path) -> R:
    """Play one episode into its record, and give it its final name when it is whole.

    Raises:
        KernelError: If the timeline broke; it names the episode. This ends the run.
    """
    final = _record(out, spec.key)
    partial = final.with_name(f"{spec.key}.{os.getpid()}.part")
    recorder = Recorder(partial)
    try:
        job.play(spec, recorder)
    except KernelError as error:
        raise KernelError(f"{error} (in episode {spec.key})") from error
    finally:
        recorder.close()
    partial.replace(final)
    return job.sum_up(final)


def _give_up(spec: S, job: Job[S, R], out: Path, why: str) -> R:
    return play_to_file(
        spec,
        replace(job, play=lambda s, r: job.give_up(s, r, why)),
        out,
    )


def _in_process(specs: Sequence[S], job: Job[S, R], out: Path) -> Iterator[tuple[str, R]]:
    for spec in specs:
        yield spec.key, play_to_file(spec, job, out)


def _parallel(
    specs: Sequence[S], job: Job[S, R], out: Path, workers: int
) -> Iterator[tuple[str, R]]:
    """Play side by side; when a process dies, play what it may have killed one by one."""
    waiting = list(reversed(specs))
    suspects: list[S] = []
    while waiting or suspects:
        alone = bool(suspects)
        pool = WorkerPool(1 if alone else workers)
        running: dict[Future[R], S] = {}
        try:
            while (suspects if alone else waiting) or running:
                queue = suspects if alone else waiting
                while queue and len(running) < (1 if alone else 2 * workers):
                    # Taken when it is submitted: a pool may be found broken just here.
                    running[pool.submit(play_to_file, queue[-1], job, out)] = queue[-1]
                    queue.pop()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    row = future.result()
                    yield running.pop(future).key, row
        except BrokenProcessPool:
            broken = list(running.values())
            if alone:
                why = "the process that played it died"
                for spec in broken:
                    yield spec.key, _give_up(spec, job, out, why)
            else:
                suspects = broken
        finally:
            pool.stop()


def _record(out: Path, key: str) -> Path:
    return out / "episodes" / f"{key}.jsonl"


def _row_line(key: str, row: Row) -> bytes:
    return msgspec.json.encode({"key": key, "row": row}) + b"\n"


class _Indexed(msgspec.Struct):
    key: str
    row: msgspec.Raw


def _read_index(path: Path, kind: type[R]) -> dict[str, R]:
    """Read what can be read: a last line cut by a kill is made anew from its record."""
    rows: dict[str, R] = {}
    if path.exists():
        for line in path.read_bytes().splitlines():
            try:
                indexed = msgspec.json.decode(line, type=_Indexed)
                rows[indexed.key] = msgspec.json.decode(indexed.row, type=kind)
            except msgspec.DecodeError:
                continue
    return rows
