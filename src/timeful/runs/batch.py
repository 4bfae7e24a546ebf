"""Many episodes: in parallel, resumable, none lost and none played twice.

A run folder (see `records/folder.py`) holds one finished record an episode in `episodes/`, and
`rows.jsonl`, an index with the row of each finished episode. An episode is finished when its
record has its final name. Rows that the index lacks are made from the records.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from timeful.errors import KernelError, RecordError, SettingsError
from timeful.records.folder import FolderKind
from timeful.records.recorder import Recorder
from timeful.records.store import KeyedLog, read_log, replace_atomically
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

RUN = FolderKind(noun="run", contents=("episodes", "rows.jsonl"), locations=("file",))
"""The folder of a run."""


class IndexedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `rows.jsonl`."""

    key: str
    row: msgspec.Raw


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


def finished_rows(out: Path, job: Job[S, R], specs: Sequence[S]) -> dict[str, R]:
    """The rows of the finished episodes by key; rows that the index lacks are added to it.

    Raises:
        RecordError: If a finished record cannot be read.
    """
    return _open_index(out, job, specs)[1]


def _open_index(
    out: Path, job: Job[S, R], specs: Sequence[S]
) -> tuple[KeyedLog[str, IndexedRow], dict[str, R]]:
    """The index of a run, complete, and the rows in it of these episodes if they are finished."""
    path = out / "rows.jsonl"
    try:
        index = _read_index(path)
        lines = read_log(path, IndexedRow)
        rows = {line.key: msgspec.json.decode(line.row, type=job.row) for line in lines}
    except (RecordError, msgspec.DecodeError):
        path.unlink()  # it is made anew from the records
        index, rows = _read_index(path), {}
    finished = {}
    for spec in specs:
        if (record := _record(out, spec.key)).exists():
            if spec.key not in rows:
                rows[spec.key] = job.sum_up(record)
                index.put(_index_line(spec.key, rows[spec.key]))
            finished[spec.key] = rows[spec.key]
    return index, finished


def _read_index(path: Path) -> KeyedLog[str, IndexedRow]:
    return KeyedLog(path, IndexedRow, key=lambda line: line.key)


def _index_line(key: str, row: Row) -> IndexedRow:
    return IndexedRow(key=key, row=msgspec.Raw(msgspec.json.encode(row)))


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
    index, rows = _open_index(out, job, specs)
    if retry_failed:
        failed = {key for key, row in rows.items() if row.status == "failed"}
        # Before a record changes: after a kill its old row must not be believed.
        index.discard(failed)
        rows = {key: row for key, row in rows.items() if key not in failed}
    for row in rows.values():
        on_row(row)
    missing = [spec for spec in specs if spec.key not in rows]
    results = (
        _in_process(missing, job, out) if workers == 1 else _parallel(missing, job, out, workers)
    )
    for key, row in results:
        rows[key] = row
        index.put(_index_line(key, row))
        on_row(row)
    return [rows[spec.key] for spec in specs]


def play_to_file(spec: S, job: Job[S, R], out: Path) -> R:
    """Play one episode into its record, and give it its final name when it is whole.

    Raises:
        KernelError: If the timeline broke; it names the episode. This ends the run.
    """
    final = _record(out, spec.key)
    with replace_atomically(final) as partial:
        recorder = Recorder(partial)
        try:
            job.play(spec, recorder)
        except KernelError as error:
            raise KernelError(f"{error} (in episode {spec.key})") from error
        finally:
            recorder.close()
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
    # Workers do not need the type of the rows, and one that is made at run time cannot be sent.
    job = replace(job, row=msgspec.Struct)  # type: ignore[arg-type]
    waiting = list(reversed(specs))
    suspects: list[S] = []
    while waiting or suspects:
        is_single = bool(suspects)
        pool = WorkerPool(1 if is_single else workers)
        running: dict[Future[R], S] = {}
        try:
            while (suspects if is_single else waiting) or running:
                queue = suspects if is_single else waiting
                while queue and len(running) < (1 if is_single else 2 * workers):
                    # Taken when it is submitted: a pool may be found broken just here.
                    running[pool.submit(play_to_file, queue[-1], job, out)] = queue[-1]
                    queue.pop()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    row = future.result()
                    yield running.pop(future).key, row
        except BrokenProcessPool:
            broken = list(running.values())
            if is_single:
                why = "the process that played it died"
                for spec in broken:
                    yield spec.key, _give_up(spec, job, out, why)
            else:
                suspects = broken
        finally:
            pool.stop()


def _record(out: Path, key: str) -> Path:
    return out / "episodes" / f"{key}.jsonl"
