"""Running a suite: play what is missing in a folder, then write the report from its records."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from timeful.errors import KernelError, ModelError, RecordError, SettingsError
from timeful.experiments.report import Report, report_data, write_report
from timeful.experiments.rows import RowMaker, row_maker
from timeful.experiments.suite import Pairs, Steps, Suite
from timeful.experiments.sweep import (
    Choice,
    PlannedEpisode,
    plan_episode,
    plan_episodes,
    run_settings,
)
from timeful.models.kinds import ApiKey
from timeful.models.ledger import Accounts, Expense
from timeful.models.model_spec import ModelSpec
from timeful.models.preflight import Preflight, check_endpoints
from timeful.models.prices import check_names
from timeful.models.redaction import clean_key
from timeful.models.spending import Budget, Spending, track_spending
from timeful.models.traffic import Limits, under
from timeful.records.events import EpisodeEnded, EpisodeFailed, EpisodeStarted
from timeful.records.folder import (
    check_folder,
    check_path,
    open_folder,
    read_settings,
)
from timeful.records.recorder import Recorder, read_record
from timeful.records.summary import foreign_record
from timeful.records.usage_total import UsageTotal
from timeful.reports.results import ResultRow
from timeful.runs.batch import RUN, Job, find_missing, finished_rows, run_batch
from timeful.runs.concurrency import choose_concurrency, find_live_models, has_own_model
from timeful.version import __version__

MAIN_KEY = "OPENAI_API_KEY"
"""The environment variable of the key that `play` takes as `api_key`."""


class Watcher(Protocol):
    """Follows a run."""

    def start(self, total: int) -> None:
        """All settings are valid, and this many episodes will be played."""
        ...

    def follow(self, spending: Spending) -> None:
        """What the run spends from now on, while it grows."""
        ...

    def advance(self, row: Any) -> None:
        """One more episode is finished, now or in an earlier run."""
        ...

    def say(self, text: str) -> None:
        """A step after the last episode begins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The outcome of a run.

    Attributes:
        suite: The suite.
        episodes: One row an episode, as structs.
        cells: The result rows of the report.
        usage: The tokens of the episodes by model and role, where a server counts them.
        spending: All requests to endpoints by model and role, with their tokens and cost.
        out: The run folder.
        text: The tables as plain text.
        page: The path of the report.
        problems: What went wrong after the last episode.
    """

    suite: Suite
    episodes: Sequence[Any]
    cells: Sequence[ResultRow]
    usage: Sequence[UsageTotal]
    spending: Accounts
    out: Path
    text: str
    page: Path
    problems: Sequence[str] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One mapping an episode, which pandas and polars read as a table."""
        return [msgspec.structs.asdict(row) for row in self.episodes]

    @property
    def failed(self) -> list[Any]:
        """The rows of the episodes that failed."""
        return [row for row in self.episodes if row.status == "failed"]

    def table(self) -> str:
        """The tables as plain text of at most 80 columns."""
        return self.text

    def report(self) -> Path:
        """The path of the report."""
        return self.page


def run_suite(  # noqa: PLR0913 - every argument after four has a default
    suite: Suite,
    choice: Choice,
    out: Path,
    *,
    workers: int | None,
    limits: Limits | None = None,
    replace: bool = False,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    keys: Mapping[str, str] | None = None,
    preflight: Preflight | None = None,
    budget: Budget | None = None,
) -> Results:
    """Play the episodes of a suite in a folder, or resume the run in it.

    Args:
        suite: The suite.
        choice: What to play of it.
        out: The run folder.
        workers: The number of processes; 1 plays in this process, None is as many as the work
            needs.
        limits: The limits of the traffic to endpoints: as many episodes are in flight as there
            may be connections. None for the default where an endpoint answers.
        replace: Start again if the folder holds a run with other settings.
        retry_failed: Play failed episodes again.
        watcher: Follows the run.
        keys: The keys of endpoints by environment variable, such as `os.environ`; never written
            to a file.
        preflight: How endpoints are checked before the first episode; None for no check.
        budget: The most that the run may spend on endpoints.

    Raises:
        SettingsError: If a setting is invalid, or another process works in the folder; nothing
            is played or written.
        RecordError: If a record in the folder cannot be read.
        BudgetError: If the budget is used up. Finished episodes are kept.
        ModelError: If an endpoint refuses all requests, or none answers. Finished episodes are
            kept.
    """
    options = _Options(
        workers=workers,
        limits=limits,
        replace=replace,
        retry_failed=retry_failed,
        watcher=watcher,
        keys=keys or {},
        preflight=preflight,
        budget=budget,
        free={k: v for k, v in (choice.fixed or {}).items() if k in suite.free_fields},
    )
    check_path(out, RUN)
    plan = plan_episodes(suite, choice)
    settings = run_settings(suite, choice, plan)
    if suite.steps is not None:
        return _do_steps(suite, suite.steps, plan[0].episode, out, settings, options)
    if suite.baseline is not None:
        episodes = [step.episode for step in plan]
        first = [plan_episode(suite, step) for step in suite.baseline.plan(episodes)]
        pairs: Pairs = ()
        folder = out.with_name(f"{out.name}-baseline")
        if first:
            both = replace_fields(options, others=(out,))
            results, pairs = _play(suite, first, folder, settings, both)
            if results.failed:
                return results
        options = replace_fields(options, others=(folder,))
        completed = suite.baseline.complete(episodes, pairs)
        plan = [plan_episode(suite, step) for step in completed]
    return _play(suite, plan, out, settings, options)[0]


def make_baselines(suite: Suite, choice: Choice, out: Path, **options: Any) -> tuple[Results, str]:
    """Play the first run of a suite alone, and keep its outcome.

    Args:
        suite: A suite with a baseline.
        choice: What to play of it.
        out: The run folder.
        options: As for `run_suite`.

    Returns:
        The results, and a line that says where the outcome is kept.

    Raises:
        SettingsError: As `run_suite`.
        RecordError: As `run_suite`.
    """
    assert suite.baseline is not None, "only called for such suites"
    check_path(out, RUN)
    baseline_suite = replace_fields(suite, tables=suite.baseline.tables, figures=(), claims=())
    plan = plan_episodes(baseline_suite, choice)
    settings = run_settings(baseline_suite, choice, plan)
    results, pairs = _play(baseline_suite, plan, out, settings, _Options(**options))
    return results, suite.baseline.keep(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """How to play a run; see `run_suite`."""

    workers: int | None
    limits: Limits | None = None
    replace: bool = False
    retry_failed: bool = False
    watcher: Watcher | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    preflight: Preflight | None = None
    budget: Budget | None = None
    free: Mapping[str, Any] = field(default_factory=dict)
    others: Sequence[Path] = ()
    """Run folders whose spending counts towards the budget: a run and its baseline have one."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise SettingsError(f"the number of workers must be at least 1, got {self.workers}")


def _do_steps(
    suite: Suite,
    steps: Steps,
    episode: Any,
    out: Path,
    settings: Mapping[str, Any],
    options: _Options,
) -> Results:
    """Do the steps that are missing in a folder, and write the report."""
    with open_folder(out, settings, steps.folder, replace=options.replace):
        todo = steps.plan(episode, out)
        if options.watcher is not None:
            options.watcher.start(len(todo))
        problems = steps.do(
            todo, workers=options.workers or os.cpu_count() or 1, watch=_advance(options)
        )
    return replace_fields(report_suite(suite, out), problems=problems)


def _play(
    suite: Suite,
    plan: Sequence[PlannedEpisode],
    out: Path,
    settings: Mapping[str, Any],
    options: _Options,
) -> tuple[Results, Pairs]:
    """Play what is missing, and write the report; also each episode with its row."""
    missing = [step.episode for step in _find_pending(plan, out, settings, options)]
    judges = suite.judges([step.episode for step in plan]) if suite.judges is not None else ()
    if options.preflight is not None and missing:  # before the client of a model is loaded
        options.preflight.check_keys([*find_live_models(missing), *judges], options.keys)
    if suite.check is not None:
        suite.check([step.episode for step in plan])
    api_key = choose_keys(missing, options.keys) if suite.takes_key else None
    maker = row_maker(suite)
    keys = {model.key_name: options.keys.get(model.key_name, "") for model in judges}
    job = make_job(suite.play, maker, api_key=api_key)
    workers, limits = choose_concurrency(
        [step.episode for step in plan], workers=options.workers, limits=options.limits
    )
    probes = _check_endpoints(plan, judges, out, settings, options)
    with open_folder(out, settings, RUN, replace=options.replace) as is_resumed:
        if is_resumed and suite.baseline is not None:
            finished = finished_rows(out, job, plan)
            suite.baseline.check(
                [(step.episode, finished[step.key]) for step in plan if step.key in finished]
            )
        if options.watcher is not None:
            options.watcher.start(len(plan))
        with track_spending(out, options.budget, others=options.others) as spending:
            spending.enter(probes)
            if options.watcher is not None:
                options.watcher.follow(spending)
            rows = run_batch(
                plan,
                job,
                out,
                workers=workers,
                limits=limits,
                spending=spending,
                retry_failed=options.retry_failed,
                on_row=_advance(options),
            )
            settings = read_settings(out)
            problems: Sequence[str] = ()
            refusal: ModelError | None = None
            if suite.finish is not None:
                data = report_data(suite, rows, out, settings, options.free)
                try:
                    with under(limits, spending.share()):
                        problems = tuple(suite.finish(data, keys, partial(_say, options)))
                except ModelError as error:  # the episodes are finished: they have a report
                    refusal = error
        report = write_report(suite, rows, out, settings, options=options.free)
        if refusal is not None:
            raise refusal
        results = _results(suite, report, out, problems)
    return results, [(step.episode, row) for step, row in zip(plan, rows, strict=True)]


def _check_endpoints(
    plan: Sequence[PlannedEpisode],
    judges: Sequence[ModelSpec],
    out: Path,
    settings: Mapping[str, Any],
    options: _Options,
) -> Sequence[Expense]:
    """Show prices and check endpoints before anything is written, if episodes are missing.

    Returns:
        The expenses of the checks.

    Raises:
        SettingsError: If a price does not fit, or the cost is limited and a price is unknown.
    """
    if not options.replace:
        check_folder(out, settings, RUN)
    missing = [step.episode for step in _find_pending(plan, out, settings, options)]
    episodes = [step.episode for step in plan]
    priced = [*find_live_models(episodes), *judges]
    if priced and options.budget is not None and not any(map(has_own_model, episodes)):
        check_names(priced, options.budget.prices)
    models = [*find_live_models(missing), *judges] if missing else judges
    return check_endpoints(
        models,
        options.keys,
        preflight=options.preflight if missing else None,
        budget=options.budget,
        say=partial(_say, options) if missing else lambda _: None,
        limits=options.limits,
        folders=(out, *options.others),
    )


def _find_pending(
    plan: Sequence[PlannedEpisode], out: Path, settings: Mapping[str, Any], options: _Options
) -> Sequence[PlannedEpisode]:
    """The episodes that may be played: also finished ones if failed ones are repeated."""
    is_any = options.replace or options.retry_failed
    return plan if is_any else find_missing(plan, out, settings)


def choose_keys(episodes: Sequence[object], keys: Mapping[str, str]) -> ApiKey:
    """The key of all models of the episodes; or several by their variables, if they differ.

    Args:
        episodes: The episodes that are to be played.
        keys: The keys by environment variable.

    Raises:
        SettingsError: If a key cannot be sent.
    """
    used = {model.key_name for model in find_live_models(episodes)}
    keys = {name: clean_key(key) if name in used else key for name, key in keys.items()}
    names = used - {MAIN_KEY}
    if not names:
        return keys.get(MAIN_KEY, "")
    return {name: keys.get(name, "") for name in (MAIN_KEY, *sorted(names)) if name}


def _advance(options: _Options) -> Callable[[Any], None]:
    return (lambda _: None) if options.watcher is None else options.watcher.advance


def _say(options: _Options, text: str) -> None:
    if options.watcher is not None:
        options.watcher.say(text)


def make_job(
    play: Callable[..., object], maker: RowMaker, *, api_key: ApiKey | None
) -> Job[PlannedEpisode, Any]:
    """The job of a batch of planned episodes.

    Args:
        play: Plays an episode into a recorder; importable.
        maker: Makes the rows.
        api_key: The key of an endpoint, where `play` takes one.
    """
    return Job(
        play=partial(play_planned, play=play, api_key=api_key),
        sum_up=partial(_summarize_file, maker=maker),
        give_up=_give_up,
        row=maker.row_type,
    )


def report_suite(suite: Suite, out: Path, options: Mapping[str, Any] | None = None) -> Results:
    """Make the report of a run folder again, from its records alone.

    Args:
        suite: The suite.
        out: The run folder.
        options: Values of the fields that do not identify a run.

    Raises:
        RecordError: If the folder holds no run of this suite, or a record cannot be read.
    """
    settings = read_settings(out)
    if settings.get("suite") != suite.name:
        raise RecordError(f"{out} holds a run of {settings.get('suite')!r}, not of {suite.name!r}")
    if suite.steps is not None:
        suite, rows = suite.steps.read(out)
    else:
        maker = row_maker(suite)
        paths = sorted((out / "episodes").glob("*.jsonl"))
        rows = [_summarize_file(path, maker=maker) for path in paths]
    with foreign_record(f"a run of {suite.name}"):
        report = write_report(suite, rows, out, settings, options=options)
    return _results(suite, report, out)


def _results(suite: Suite, report: Report, out: Path, problems: Sequence[str] = ()) -> Results:
    return Results(
        suite=suite,
        episodes=report.rows,
        cells=report.cells,
        usage=report.usage,
        spending=report.spending,
        out=out,
        text=report.text,
        page=report.path,
        problems=problems,
    )


def play_planned(
    plan: PlannedEpisode,
    recorder: Recorder,
    *,
    play: Callable[..., object],
    api_key: ApiKey | None,
) -> None:
    """Play one episode; an error that the suite's `play` raises ends it as failed.

    Raises:
        KernelError: If the timeline is broken.
    """
    recorder.settings = dict(plan.settings)
    try:
        if api_key is None:
            play(plan.episode, recorder)
        else:
            play(plan.episode, recorder, api_key=api_key)
        error = "SettingsError: play returned before the episode ended"
    except KernelError:
        raise
    except Exception as problem:  # noqa: BLE001 - recorded as a failed episode
        error = f"{type(problem).__name__}: {problem}"
    _finish(plan, recorder, "agent", error)


def _give_up(plan: PlannedEpisode, recorder: Recorder, why: str) -> None:
    """Write the record of an episode whose process died."""
    _finish(plan, recorder, "process", why)


def _finish(plan: PlannedEpisode, recorder: Recorder, boundary: Any, error: str) -> None:
    """End a record that has no end as failed."""
    if any(isinstance(event, EpisodeEnded | EpisodeFailed) for event in reversed(recorder.events)):
        return
    if not recorder.events:
        settings = dict(plan.settings)
        recorder.write(EpisodeStarted(at=0, version=__version__, settings=settings))
    at = recorder.events[-1].at
    recorder.write(EpisodeFailed(at=at, boundary=boundary, error=error))


def _summarize_file(record: Path, *, maker: RowMaker) -> Any:
    try:
        return maker.make(read_record(record))
    except RecordError as error:
        has_name = str(error).startswith(record.name)
        raise RecordError(str(error) if has_name else f"{record.name}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SettingsError(
            f"summarize failed on {record.name}: {type(error).__name__}: {error}"
        ) from error
