"""Annotation of a file of dialogues: several at a time, resumable, each dialogue once.

Next to the output `talks_annotated.jsonl.gz` are

| file | content |
| --- | --- |
| `talks_annotated.jsonl.gz.work/` | the log that a run resumes from: `worklog.py` |
| `talks_annotated.meta.json` | settings of the annotation, and the dialogues that failed |
| `talks_annotated.turns.jsonl.gz` | a line for each turn, if the settings ask for it |

The output is made from the log when all dialogues are done. The same dialogues, settings and
answers give the same bytes, independent of interruptions and of the number of workers.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from timeful.annotation.oracle import Annotated, Oracle
from timeful.annotation.worklog import WORK, Entry, WorkLog, entry_of, open_log, summaries
from timeful.dialogues.dialogue import Dialogue
from timeful.errors import ModelError, SettingsError
from timeful.models.ledger import Expense
from timeful.models.spending import Budget, track_spending
from timeful.models.traffic import TRAFFIC, Limits, under
from timeful.records.folder import check_folder, open_folder

_FAILURES_IN_A_ROW = 10
"""The number of dialogues without an answer after which the endpoint is given up."""


class Watcher(Protocol):
    """An observer of an annotation."""

    def start(self, total: int, done: int) -> None:
        """Take the number of selected dialogues, and how many earlier runs have done."""
        ...

    def advance(self, entry: Entry) -> None:
        """Take the entry of the next dialogue that is done."""
        ...

    def stopped(self, done: int) -> None:
        """Take the number of dialogues done at an interruption."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The dialogues of a file to annotate: at most `most`, from index `start` (from 0) on."""

    start: int = 0
    most: int | None = None

    def __contains__(self, index: int) -> bool:
        return self.start <= index and (self.most is None or index < self.start + self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The dialogues, and how they are annotated.

    Attributes:
        read: Reads the dialogues from the first one, at each call.
        selection: The dialogues to annotate.
        oracle: The annotator.
        identity: The settings that an annotation must equal to be resumed, as plain JSON values.
        workers: The number of dialogues annotated at a time.
        check: Checks the endpoint before the folder is made, given the folder of work; returns
            what that costs.
        limits: The limits of the traffic to the endpoint.
        budget: The most that may be spent, earlier sessions included.
    """

    read: Callable[[], Iterator[Dialogue]]
    selection: Selection
    oracle: Oracle
    identity: Mapping[str, Any]
    workers: int
    check: Callable[[Path], Sequence[Expense]] = lambda _: ()
    limits: Limits | None = None
    budget: Budget | None = None


def annotate(
    work: Work,
    out: Path,
    *,
    watcher: Watcher,
    write: Callable[[WorkLog], None],
    replace: bool = False,
    retry_failed: bool = False,
) -> list[Entry]:
    """Annotate the dialogues that are not done, then write the output.

    Dialogues at which the endpoint failed are repeated by each run; dialogues whose answers could
    not be used are repeated with `retry_failed`.

    Args:
        work: The dialogues and the oracle.
        out: The output; its folder of work is named after it.
        watcher: The observer.
        write: Writes the output from the log.
        replace: Delete an annotation with other settings.
        retry_failed: Repeat dialogues whose answers could not be used.

    Returns:
        The entries by index, without dialogues; those of earlier selections are included.

    Raises:
        SettingsError: If the selection is empty, a dialogue cannot be read, an id occurs twice, or
            the folder of work has another annotation; before the first request.
        ModelError: If the endpoint refuses all requests, or fails again and again.
        BudgetError: If the budget is used up; the log keeps what is done.
        KeyboardInterrupt: After all requests were stopped; the log keeps what is done.
    """
    selected = _select(work)
    folder = out.with_name(f"{out.name}.work")
    if out.exists() and not folder.exists() and not replace:
        raise SettingsError(
            f"{out} exists and is not a resumable annotation; give another --out, or start afresh "
            "with --replace"
        )
    retried = {"endpoint", "answer"} if retry_failed else {"endpoint"}
    probes: Sequence[Expense] = ()
    if not replace:
        check_folder(folder, work.identity, WORK)
    if replace or not folder.exists() or selected - _done(open_log(folder), retried):
        probes = work.check(folder)
    with open_folder(folder, work.identity, WORK, replace=replace):
        log = open_log(folder)
        done = _done(log, retried)
        watcher.start(len(selected), len(selected & done))
        try:
            with (
                track_spending(folder, work.budget) as spending,
                under(work.limits, spending),
            ):
                spending.is_uniform = False  # one dialogue may be too long
                spending.enter(probes)
                _annotate(work, selected - done, log, watcher)
        except KeyboardInterrupt:
            watcher.stopped(len(selected & _done(log, {"endpoint"})))
            raise
        write(log)
        return summaries(log)


def _done(log: WorkLog, retried: Collection[str]) -> set[int]:
    """The indices of entries without a failure that is retried."""
    return {index for index in log if log[index].failure not in retried}


def _select(work: Work) -> set[int]:
    """Select indices; all dialogues are read once, so that errors come before the first request."""
    numbers: dict[str, int] = {}
    selected = set()
    for index, dialogue in enumerate(work.read()):
        if dialogue.id in numbers:
            raise SettingsError(
                f"two dialogues have the id {dialogue.id}, number {numbers[dialogue.id]} and "
                f"{index} from 0; give each its own id"
            )
        numbers[dialogue.id] = index
        if index in work.selection:
            selected.add(index)
    if not selected:
        raise SettingsError(
            f"no dialogue is selected: start_index is {work.selection.start}, and the file has "
            f"{len(numbers)} dialogues"
        )
    return selected


def _annotate(work: Work, missing: Collection[int], log: WorkLog, watcher: Watcher) -> None:
    running: dict[Future[Annotated], tuple[int, Dialogue]] = {}
    failures = 0
    stops: list[ModelError] = []

    def collect(most: int) -> None:
        """Log results until at most this number of dialogues is running."""
        nonlocal failures
        while len(running) > most:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                index, dialogue = running.pop(future)
                if isinstance(stop := future.exception(), ModelError):
                    stops.append(stop)
                    continue
                entry = entry_of(index, dialogue, future.result())
                log.put(entry)
                watcher.advance(entry)
                failures = failures + 1 if entry.failure == "endpoint" else 0
                if failures >= _FAILURES_IN_A_ROW:
                    raise ModelError(
                        f"stopped: {failures} dialogues in a row got no answer, the last with: "
                        f"{entry.error}; the same command resumes"
                    )

    threads = ThreadPoolExecutor(
        work.workers,
        thread_name_prefix="annotate",
        initializer=TRAFFIC.set,
        initargs=(TRAFFIC.get(),),
    )
    with threads as pool:
        try:
            for index, dialogue in enumerate(work.read()):
                if index in missing and not stops:
                    running[pool.submit(work.oracle.annotate, dialogue)] = index, dialogue
                    # As many again are queued, so that no worker waits for the log.
                    collect(2 * work.workers - 1)
            collect(0)
            if stops:  # after the dialogues in flight, which are paid
                raise stops[0]
        except BaseException:
            _stop(pool, work.oracle, running)
            raise


def _stop(pool: ThreadPoolExecutor, oracle: Oracle, running: Collection[Future[Annotated]]) -> None:
    pool.shutdown(wait=False, cancel_futures=True)
    # Not all of `running`: `wait` never sees the end of cancelled futures.
    while pending := [future for future in running if not future.done()]:
        # Repeated, since a thread may be about to open another stream.
        oracle.stop()
        wait(pending, timeout=0.1)
