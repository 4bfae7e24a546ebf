"""The toy experiments as one call: learn, evaluate, write the report."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from timeful.errors import SettingsError
from timeful.records.folder import open_folder
from timeful.runs.batch import RUN
from timeful.seeding import child
from timeful.suites.engagement.toys import deliberation, patrol
from timeful.suites.engagement.toys.evaluated import Evaluated, Job, Plan
from timeful.suites.engagement.toys.numbers import Number, make_numbers
from timeful.suites.engagement.toys.report import Results, write_report
from timeful.suites.engagement.toys.tables import outside, text_tables
from timeful.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a run came to."""

    numbers: Sequence[Number]
    text: str
    report: Path

    @property
    def outside(self) -> list[Number]:
        """The numbers that are not in their bands."""
        return outside(self.numbers)


def run_toys(
    plan: Plan,
    out: Path,
    *,
    workers: int,
    replace: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Finished:
    """Run deliberation and patrol, and write their report into a folder.

    Args:
        plan: How much of it.
        out: The run folder.
        workers: How many threads work side by side; compiled loops do not wait for each other.
        replace: Start afresh if the folder holds a run with other settings.
        on_progress: Told how many pieces are done, and of how many.

    Raises:
        SettingsError: If a setting cannot work, before anything is run or written.
    """
    if workers < 1:
        raise SettingsError(f"a run needs at least one worker, got {workers}")
    common = {"suite": "engagement/toys", "version": __version__, **asdict(plan)}
    with open_folder(out, common, RUN, replace=replace):
        rows = _work(deliberation.jobs(plan) + patrol.jobs(plan), workers, on_progress)
        numbers = make_numbers(rows, rng=child(plan.seeds[0], "engagement/toys", "bootstrap"))
        optima = deliberation.optima()
        report = write_report(
            Results(
                plan=plan,
                rows=rows,
                numbers=numbers,
                optima=optima,
                traces=patrol.traces(plan),
            ),
            out,
        )
    return Finished(numbers=numbers, text=text_tables(numbers, optima), report=report)


def _work(
    jobs: Sequence[Job], workers: int, on_progress: Callable[[int, int], None]
) -> list[Evaluated]:
    """Do all jobs and put their rows in the order of the jobs."""
    rows: list[Evaluated] = []
    on_progress(0, len(jobs))
    pool = ThreadPoolExecutor(workers)
    try:
        for done, made in enumerate(pool.map(lambda job: job(), jobs), start=1):
            rows += made
            on_progress(done, len(jobs))
    finally:
        # After an error or Ctrl-C nobody wants the rest.
        pool.shutdown(cancel_futures=True)
    return rows
