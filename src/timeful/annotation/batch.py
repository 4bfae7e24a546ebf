"""A file of dialogues, annotated: side by side, resumable, none lost and none annotated twice.

Beside the output `talks_annotated.jsonl.gz` lie

| file | what |
| --- | --- |
| `talks_annotated.jsonl.gz.work/` | the log, by which a run goes on: `worklog.py` |
| `talks_annotated.meta.json` | who annotated what, how, and which dialogues failed |
| `talks_annotated.turns.jsonl.gz` | a line for each turn, if asked for |

The output is made from the log when nothing is left to do. The same dialogues, settings and
answers make the same bytes, whatever was interrupted and however many worked on it.
"""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from timeful.annotation.oracle import Annotated, Oracle
from timeful.annotation.worklog import Done, WorkLog
from timeful.dialogues.dialogue import Dialogue
from timeful.errors import ModelError, SettingsError
from timeful.records.folder import locked

_IN_A_ROW = 10
"""So many dialogues without an answer are the endpoint's fault, and asking on would be in vain."""


class Watcher(Protocol):
    """Somebody who follows an annotation."""

    def start(self, total: int, done: int) -> None:
        """So many dialogues are wanted, and so many of them were done before."""
        ...

    def advance(self, done: Done) -> None:
        """One more is done."""
        ...

    def stopped(self, done: int) -> None:
        """It was interrupted when so many were done."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which dialogues of a file are annotated: a number of them from an index on, from 0."""

    start: int = 0
    most: int | None = None

    def __contains__(self, index: int) -> bool:
        return self.start <= index and (self.most is None or index < self.start + self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be annotated, and by whom.

    Attributes:
        read: Reads the dialogues, from the first, each time it is called.
        selection: Which of them are wanted.
        oracle: Who annotates.
        identity: What makes the annotation what it is, as JSON; an annotation with another does
            not go on in the same place.
        workers: How many dialogues are annotated side by side.
    """

    read: Callable[[], Iterator[Dialogue]]
    selection: Selection
    oracle: Oracle
    identity: bytes
    workers: int


def annotate(
    work: Work,
    out: Path,
    *,
    watcher: Watcher,
    write: Callable[[WorkLog], None],
    replace: bool = False,
    retry_failed: bool = False,
) -> dict[int, Done]:
    """Annotate what is not annotated yet, then write the output.

    What failed by the endpoint is asked for again by each run, what failed by its answers only if
    that is wanted.

    Args:
        work: What, and by whom.
        out: The output, by which its folder of work is named.
        watcher: Told how it goes on.
        write: Writes the output from the log.
        replace: Start afresh if there is another annotation of this name.
        retry_failed: Ask again for dialogues whose answers could not be used.

    Returns:
        All that is done, by index: also what earlier runs did with another selection.

    Raises:
        SettingsError: If the selection is empty, a dialogue cannot be read or an id stands twice,
            or the place is taken; before anybody is asked.
        ModelError: If the endpoint gives no answer, again and again.
        KeyboardInterrupt: After everything was stopped; what is done stays done.
    """
    wanted = _wanted(work)
    folder = out.with_name(f"{out.name}.work")
    if out.exists() and not folder.exists() and not replace:
        raise SettingsError(
            f"{out} is there already, and no annotation goes on in it; choose another file with "
            "--out, or start afresh with --replace"
        )
    with locked(folder), WorkLog.open(folder, work.identity, replace=replace) as log:
        again = {"endpoint", "answer"} if retry_failed else {"endpoint"}
        done = _settled(log, again)
        watcher.start(len(wanted), len(wanted & done))
        try:
            _annotate(work, wanted - done, log, watcher)
        except KeyboardInterrupt:
            log.read_again()
            watcher.stopped(len(wanted & _settled(log, {"endpoint"})))
            raise
        write(log)
        return dict(log.done)


def _settled(log: WorkLog, again: Collection[str]) -> set[int]:
    """What is done and did not fail by what is tried again."""
    return {index for index, one in log.done.items() if one.failure not in again}


def _wanted(work: Work) -> set[int]:
    """The indices that are wanted; all dialogues are read once, so that a bad one is found now."""
    seen: dict[str, int] = {}
    wanted = set()
    for index, dialogue in enumerate(work.read()):
        if dialogue.id in seen:
            raise SettingsError(
                f"two dialogues bear the id {dialogue.id}, number {seen[dialogue.id]} and {index} "
                "from 0; references could not be told apart"
            )
        seen[dialogue.id] = index
        if index in work.selection:
            wanted.add(index)
    if not wanted:
        raise SettingsError(
            f"there is nothing to annotate: start_index is {work.selection.start}, and there are "
            f"{len(seen)} dialogues"
        )
    return wanted


def _annotate(work: Work, missing: Collection[int], log: WorkLog, watcher: Watcher) -> None:
    running: dict[Future[Annotated], tuple[int, Dialogue]] = {}
    in_a_row = 0

    def take(most: int) -> None:
        """Write what is done, until at most so many are under way."""
        nonlocal in_a_row
        while len(running) > most:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                index, dialogue = running.pop(future)
                done = log.add(index, dialogue, future.result())
                watcher.advance(done)
                in_a_row = in_a_row + 1 if done.failure == "endpoint" else 0
                if in_a_row >= _IN_A_ROW:
                    raise ModelError(
                        f"stopped, as {in_a_row} dialogues in a row got no answer, the last with: "
                        f"{done.error}; the same command goes on from there"
                    )

    with ThreadPoolExecutor(work.workers, thread_name_prefix="annotate") as pool:
        try:
            for index, dialogue in enumerate(work.read()):
                if index in missing:
                    running[pool.submit(work.oracle.annotate, dialogue)] = index, dialogue
                    # As many again wait, so that nobody is idle while one is written.
                    take(2 * work.workers - 1)
            take(0)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # Not all of `running`: what was cancelled before it began never ends for `wait`.
            while left := [future for future in running if not future.done()]:
                # Again and again: a thread may have been about to open another stream.
                work.oracle.stop()
                wait(left, timeout=0.1)
            raise
