"""Many episodes: in parallel, resumable, none lost and none played twice.

A run folder (see `records/folder.py`) holds one finished record an episode in `episodes/`, and
`rows.jsonl`, an index with the row of each finished episode. An episode is finished when its
record has its final name. Rows that the index lacks are made from the records.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from timeful.errors import KernelError, ModelError, RecordError, SettingsError
from timeful.files import decode
from timeful.models.ledger import LEDGER
from timeful.models.spending import Spending
from timeful.models.traffic import TRAFFIC, Limits, under
from timeful.records.events import Entry
from timeful.records.folder import SETTINGS, FolderKind, differences
from timeful.records.recorder import Recorder
from timeful.records.store import KeyedLog, read_log, replace_atomically
from timeful.runs.workers import Pool, ThreadPool, WorkerPool


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

RUN = FolderKind(noun="run", contents=("episodes", "rows.jsonl", LEDGER), locations=("file",))
"""The folder of a run."""

_FAILURES_IN_A_ROW = 10
"""The number of episodes without a model after which the run is given up."""


class IndexedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `rows.jsonl`."""

    key: str
    size: int
    """The bytes of the record; if it has another size, the row is not of this record."""
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
    out: Path, job: Job[S, R], specs: Sequence[S], *, retry_failed: bool = False
) -> tuple[KeyedLog[str, IndexedRow], dict[str, R]]:
    """The index of a run, complete, and the rows in it of these episodes if they are finished."""
    path = out / "rows.jsonl"
    try:
        index = _read_index(path)
        lines = read_log(path, IndexedRow)
        rows = {line.key: (line.size, decode(line.row, job.row)) for line in lines}
    except (RecordError, msgspec.DecodeError):
        path.unlink()  # it is made anew from the records
        index, rows = _read_index(path), {}
    finished = {}
    for spec in specs:
        if not (record := _record(out, spec.key)).exists():
            continue
        size, row = rows.get(spec.key, (-1, None))
        if row is None or size != record.stat().st_size:
            try:
                row = job.sum_up(record)
            except RecordError as error:
                if retry_failed:
                    continue
                raise RecordError(
                    f"{record}: {error}; --retry-failed plays the episode again"
                ) from error
            index.put(_index_line(out, spec.key, row))
        finished[spec.key] = row
    return index, finished


def _read_index(path: Path) -> KeyedLog[str, IndexedRow]:
    return KeyedLog(path, IndexedRow, key=lambda line: line.key)


def _index_line(out: Path, key: str, row: Row) -> IndexedRow:
    raw = msgspec.Raw(msgspec.json.encode(row))
    return IndexedRow(key=key, size=_record(out, key).stat().st_size, row=raw)


def run_batch(
    specs: Sequence[S],
    job: Job[S, R],
    out: Path,
    *,
    workers: int,
    limits: Limits | None = None,
    spending: Spending | None = None,
    retry_failed: bool = False,
    on_row: Callable[[R], None] = lambda _: None,
) -> list[R]:
    """Play what is not finished yet and return the rows of all, in the order of the specs.

    Args:
        specs: The episodes.
        job: How to play them.
        out: The run folder, opened.
        workers: How many processes play side by side; 1 plays in this process.
        limits: The limits of the traffic to endpoints; as many episodes are in flight as there
            may be connections, in threads of the processes. None: one episode a process.
        spending: Counts what requests to endpoints cost, and may end the run.
        retry_failed: Play episodes again that failed before, or whose records are damaged.
        on_row: Called as each episode is done, and at once for those that were finished.

    Raises:
        SettingsError: If two episodes bear one name, or there are no workers.
        ModelError: If an endpoint refuses all requests, or if episode after episode fails at it.
        KernelError: If the timeline broke in an episode: no result is made around a bug.
        RecordError: If a finished record cannot be read.
        BudgetError: If the budget is used up.
        KeyboardInterrupt: After everything was stopped; what is finished stays finished.
    """
    if workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {workers}")
    if len({spec.key for spec in specs}) < len(specs):
        raise SettingsError("two episodes of the run bear one name")
    index, rows = _open_index(out, job, specs, retry_failed=retry_failed)
    if retry_failed:
        failed = {key for key, row in rows.items() if row.status == "failed"}
        # Before a record changes: after a kill its old row must not be believed.
        index.discard(failed)
        rows = {key: row for key, row in rows.items() if key not in failed}
    for row in rows.values():
        on_row(row)
    missing = [spec for spec in specs if spec.key not in rows]
    spending = spending or Spending()
    failures = 0
    # Of episodes in flight together, those that fail come first.
    most = max(_FAILURES_IN_A_ROW, 0 if limits is None else limits.connections)
    with closing(_play(missing, job, out, workers, limits, spending)) as played:
        for key, row in played:
            rows[key] = row
            index.put(_index_line(out, key, row))
            on_row(row)
            failures = failures + 1 if (row.error or "").startswith("model: ") else 0
            if failures >= most:
                raise ModelError(
                    f"stopped: {failures} episodes in a row failed at the model, the last with: "
                    f"{row.error}; the same command with --retry-failed resumes"
                )
    return [rows[spec.key] for spec in specs]


def play_to_file(spec: S, job: Job[S, R], out: Path) -> R:
    """Play one episode into its record, and give it its final name when it is whole.

    An episode of a run that is stopped ends without a record, at its next event.

    Args:
        spec: The episode.
        job: How to play it.
        out: The run folder.

    Raises:
        KernelError: If the timeline broke; it names the episode. This ends the run.
        ModelError: If the run was stopped because of an endpoint or its budget.
    """
    final, spending = _record(out, spec.key), TRAFFIC.get().spending
    with replace_atomically(final) as partial:
        recorder = _StoppableRecorder(partial, spending)
        try:
            job.play(spec, recorder)
        except (_StoppedError, Exception) as error:
            if spending.stopped is None and isinstance(error, KernelError):
                raise KernelError(f"{error} (in episode {spec.key})") from error
            if spending.stopped is None:
                raise
        finally:
            recorder.close()
        if spending.stopped is not None:
            raise spending.stopped
    return job.sum_up(final)


class _StoppedError(BaseException):
    """The run was stopped: no failure of an episode."""


class _StoppableRecorder(Recorder):
    """Ends its episode when the run is stopped."""

    def __init__(self, path: Path, spending: Spending) -> None:
        super().__init__(path)
        self._spending = spending
        self._has_ended = False
        self._append = super().write

    def write(self, event: Entry) -> None:
        """Append one event; the first one after the stop is raised as an error."""
        if self._spending.stopped is None:
            self._append(event)
        elif not self._has_ended:
            self._has_ended = True  # the timeline writes more while it is closed
            raise _StoppedError


def _give_up(spec: S, job: Job[S, R], out: Path, why: str) -> R:
    return play_to_file(
        spec,
        replace(job, play=lambda s, r: job.give_up(s, r, why)),
        out,
    )


def _play(
    specs: Sequence[S],
    job: Job[S, R],
    out: Path,
    workers: int,
    limits: Limits | None,
    spending: Spending,
) -> Generator[tuple[str, R], None, None]:
    if workers == 1 and limits is None:
        for spec in specs:
            with under(None, spending):
                row = play_to_file(spec, job, out)
            yield spec.key, row
    elif workers == 1 and limits is not None:
        for spec, finished in _play_in(ThreadPool(limits, spending), specs, job, out):
            assert finished is not None, "threads do not die"
            yield spec.key, finished
    else:
        yield from _play_in_processes(specs, job, out, workers, limits, spending)


def _play_in_processes(
    specs: Sequence[S],
    job: Job[S, R],
    out: Path,
    workers: int,
    limits: Limits | None,
    spending: Spending,
) -> Iterator[tuple[str, R]]:
    """Play in processes; episodes of a process that died are played again, each in its own."""
    # Workers do not need the type of the rows, and one that is made at run time cannot be sent.
    job = replace(job, row=msgspec.Struct)  # type: ignore[arg-type]
    suspects: list[S] = []
    for spec, row in _play_in(WorkerPool(workers, limits, spending), specs, job, out):
        if row is None:
            suspects.append(spec)
        else:
            yield spec.key, row
    pool = WorkerPool(workers, None, spending, is_single=True)
    for spec, row in _play_in(pool, suspects, job, out):
        if row is None:
            row = _give_up(spec, job, out, "the process that played it died")
        yield spec.key, row


def _play_in(
    pool: Pool,
    specs: Sequence[S],
    job: Job[S, R],
    out: Path,
) -> Iterator[tuple[S, R | None]]:
    """Play in a pool as many at a time as it has slots; no row if the process died."""
    waiting = iter(specs)
    running: dict[Future[R], S] = {}
    done: SimpleQueue[Future[R]] = SimpleQueue()
    try:
        while True:
            for spec in islice(waiting, pool.slots - len(running)):
                future = pool.submit(play_to_file, spec, job, out)
                running[future] = spec
                future.add_done_callback(done.put)
            if not running:
                return
            future = done.get()
            is_broken = isinstance(future.exception(), BrokenProcessPool)
            yield running.pop(future), None if is_broken else future.result()
    finally:
        pool.stop()


def has_record(out: Path, key: str) -> bool:
    """Whether an episode is finished."""
    return _record(out, key).exists()


def _record(out: Path, key: str) -> Path:
    return out / "episodes" / f"{key}.jsonl"


def find_missing(specs: Sequence[S], out: Path, settings: Mapping[str, Any]) -> list[S]:
    """The episodes that are not finished in a folder; all if it holds another run or none."""
    is_same = (out / SETTINGS).exists() and not differences(out / SETTINGS, settings, RUN.locations)
    return [spec for spec in specs if not (is_same and has_record(out, spec.key))]
