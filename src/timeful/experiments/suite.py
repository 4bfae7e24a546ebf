"""A suite: one value that says what an experiment plays, measures and shows.

    suite = Suite(
        name="pager",
        episode=PagerEpisode,            # a frozen dataclass: one field for each setting
        play=play,                       # (episode, recorder) -> None: plays it into its record
        summarize=summarize,             # the record's events -> the numbers of its row
        sweep={"interface": ("event-driven", "loop"), "rate": (1, 4), "seed": range(20)},
        metrics=[Metric("In time", "in_time", per="alerts")],
        tables=[Table("Alerts", rows="interface", columns="rate")],
        figures=[Lines(x="rate", y="In time", hue="interface")],
    )

Everything after the rows is generic: cells with intervals, tables, figures, claims, the report,
`results.json`, resuming, and the command line.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from timeful.errors import SettingsError, check_known
from timeful.models.demand import Demand
from timeful.models.ledger import Accounts
from timeful.models.model_spec import ModelSpec
from timeful.records.folder import FolderKind
from timeful.records.usage_total import NamedUsage, UsageTotal
from timeful.reports.claims import Check, Order
from timeful.reports.cube import CellName, Groups, Levels, Naming, make_cells, with_margins
from timeful.reports.estimate import EpisodeBootstrap, Estimator
from timeful.reports.figure import Heat, Lines
from timeful.reports.metric import Column, Metric
from timeful.reports.page import Section
from timeful.reports.published import Reference
from timeful.reports.results import ResultRow, Where
from timeful.reports.table import Context, Labels, Table

Values = Mapping[str, Sequence[Any]]
"""The values of each field that varies."""

SEED_FIELDS = ("seed", "sample", "run", "episode", "repetition")
"""Swept fields of these names are repetitions: they do not set cells apart."""


Pairs = Sequence[tuple[Any, Any]]
"""Episodes, each with its row."""


class MissingBaselineError(SettingsError):
    """An episode has a setting that is a multiple of an outcome that is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A first run that settings of a suite's episodes, such as budgets, are multiples of.

    `timeful run` plays it next to the run's folder; `timeful baseline` plays it alone and keeps
    its outcome in a file.

    Attributes:
        plan: The episodes of the first run for those of a run.
        complete: Completes the episodes of a run with the first run's; raises a
            MissingBaselineError where an outcome is missing.
        check: Raises a SettingsError if a finished episode of a run has another baseline.
        keep: Keeps the outcome of `timeful baseline` in a file, and says so in a line.
        fixed: The values of fields in `timeful baseline`, which has no options for them.
        values: The default values of swept fields in `timeful baseline`.
        tables: The tables that `timeful baseline` prints.
    """

    plan: Callable[[Sequence[Any]], Sequence[Any]]
    complete: Callable[[Sequence[Any], Pairs], Sequence[Any]]
    check: Callable[[Pairs], None]
    keep: Callable[[Pairs], str]
    fixed: Mapping[str, Any]
    values: Values
    tables: Sequence[Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps that a run of a suite has in place of episodes, such as those of a training.

    The suite's episode class then has the settings of a whole run.

    Attributes:
        folder: What a run folder holds.
        row: The type of the rows.
        plan: The steps of a run in a folder. Each has a `status`, "failed" until it is done.
        do: Does the steps that are missing: `(steps, *, workers, watch)` to problems.
        read: Reads a run folder: the suite, with what depends on the run, and its rows in order.
        hints: The commands that use the outcome of a run folder, each with a label.
    """

    folder: FolderKind
    row: type[Any]
    plan: Callable[[Any, Path], Sequence[Any]]
    do: Callable[..., Sequence[str]]
    read: Callable[[Path], tuple["Suite", Sequence[Any]]]
    hints: Callable[[Path], Iterable[tuple[str, Sequence[str]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """The input of a suite's own sections.

    Attributes:
        rows: One row an episode, in a fixed order.
        cells: The result rows.
        settings: The settings of the run folder.
        out: The run folder.
        context: The parts that tables and figures need.
        options: The values of the fields that do not identify a run, such as those of its report.
        usage: The tokens of the episodes by model and role, where a server counts them.
        spending: All requests to endpoints by model and role.
    """

    rows: Sequence[Any]
    cells: Sequence[ResultRow]
    settings: Mapping[str, Any]
    out: Path
    context: Context
    options: Mapping[str, Any] = field(default_factory=dict)
    usage: Sequence[UsageTotal] = ()
    spending: Accounts = field(default_factory=Accounts)


def load_notes(path: Path) -> tuple[str, ...]:
    """Read notes: the paragraphs of a text file."""
    text = path.read_text(encoding="utf-8")
    return tuple(
        " ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """An experiment as a value.

    Attributes:
        name: Such as "engagement/inbox".
        episode: A frozen dataclass with one field for each setting of an episode. The docstring
            under each field is the help of its command-line option. It may have a property `key`,
            unique in a run and fit for a file name, and a method `settings()`, all that identifies
            the episode in its record; both are derived from its fields otherwise.
        play: Plays an episode into a recorder. Importable, so that workers can run it.
        summarize: Makes an episode's row from the events of its record: a struct, named by the
            return annotation, or a mapping of numbers that are added to the fields of the episode.
            None: the score alone.
        title: The heading of the report.
        subtitle: The source of the experiment.
        sweep: The fields that vary, and their values.
        presets: Other values of swept fields, by name.
        parts: Named sub-experiments: other values of swept fields. A run plays the chosen ones, or
            `default_parts`; an episode that belongs to several is played once.
        plan: Turns the episodes of a sweep into those of a run, given the names of the fields that
            were chosen for this run.
        custom_by: The field whose chosen values take the place of the default parts.
        resolve: Completes an episode after the sweep, or drops it by returning None.
        baseline: The first run that settings of the episodes are multiples of.
        steps: What a run does in place of playing episodes.
        check: Raises a SettingsError for episodes that cannot be played, before any is.
        keys: The columns of rows that identify a cell; the swept fields without seeds by default.
        groups: The cells of a row, where `keys` do not say it.
        cells: Computes all cells from rows, where metrics over `groups` do not say it.
        derive: Computes all cells from those and from the run folder, such as a ranking within a
            group.
        margins: The columns over whose values there are cells too.
        naming: The names of a cell in `results.json`.
        columns: The columns of `episodes.csv`; all fields of the rows by default.
        order: The columns that rows are sorted by in files; all fields of the episode by default.
        labels: The names of values in tables, by column.
        levels: The order of values in tables, by column; the order of the sweep by default.
        metrics: The metrics of each cell.
        estimator: Computes them with intervals.
        reference: Published numbers and bands.
        tables: The tables, in order.
        figures: The figures, in order.
        claims: The statements that the report checks.
        notes: What a reader must know before comparing numbers, as paragraphs.
        remarks: Sentences that depend on the results; they are printed too.
        notice: The first sentence of a report whose episodes are all stand-ins.
        extra: Further sections that do not fit tables and figures.
        announce: Lines to print before a run, from its episodes and the number of processes.
        finish: What remains to be done after the last episode, before the report, such as asking
            judges: from the report's data, keys, and a function that shows a line, to problems.
        usage: The token usage of requests outside of episodes, such as those of judges, from the
            run folder.
        judges: The models behind endpoints that `finish` asks, from the episodes; its keys are
            theirs, by environment variable.
        demand: What `finish` will ask its judges, as an estimate: from the planned episodes that
            are missing, those that are finished, the run folder, and a function that plays some
            episodes to their events; to the models with their demands.
        takes_key: Whether `play` also takes `api_key`, the key of an endpoint.
    """

    name: str
    episode: type[Any]
    play: Callable[..., object]
    summarize: Callable[..., Any] | None = None
    title: str = ""
    subtitle: str = ""
    sweep: Values = field(default_factory=dict)
    presets: Mapping[str, Values] = field(default_factory=dict)
    parts: Mapping[str, Values] = field(default_factory=dict)
    default_parts: tuple[str, ...] = ()
    plan: Callable[[Sequence[Any], Collection[str]], Iterable[Any]] | None = None
    custom_by: str = ""
    resolve: Callable[[Any], Any] | None = None
    baseline: Baseline | None = None
    steps: Steps | None = None
    check: Callable[[Sequence[Any]], None] | None = None
    keys: tuple[str, ...] = ()
    groups: Groups | None = None
    cells: Callable[[Sequence[Any]], list[ResultRow]] | None = None
    derive: Callable[[ReportData], list[ResultRow]] | None = None
    margins: tuple[str, ...] = ()
    naming: Naming | None = None
    columns: Mapping[str, Column] | None = None
    order: tuple[str, ...] = ()
    labels: Labels = field(default_factory=dict)
    levels: Levels = field(default_factory=dict)
    metrics: Sequence[Metric] = (Metric("Score", "score"),)
    estimator: Estimator = field(default_factory=EpisodeBootstrap)
    reference: Reference = field(default_factory=Reference)
    tables: Sequence[Table] = ()
    figures: Sequence[Lines | Heat] = ()
    claims: Sequence[Order | Check] = ()
    notes: tuple[str, ...] = ()
    notice: str = "Stand-in: no language model was run."
    remarks: Callable[[ReportData], Iterable[str]] | None = None
    extra: Callable[[ReportData], Iterable[Section]] | None = None
    announce: Callable[[Sequence[Any], int], Iterable[str]] | None = None
    finish: (
        Callable[[ReportData, Mapping[str, str], Callable[[str], None]], Sequence[str]] | None
    ) = None
    usage: Callable[[Path], Iterable[NamedUsage]] | None = None
    judges: Callable[[Sequence[Any]], Sequence[ModelSpec]] | None = None
    demand: Callable[..., Iterable[tuple[ModelSpec, Demand]]] | None = None
    takes_key: bool = False

    def __post_init__(self) -> None:
        if not (is_dataclass(self.episode) and isinstance(self.episode, type)):
            raise SettingsError(f"suite {self.name!r}: episode must be a dataclass")
        names = self.field_names
        swept = [self.sweep, *self.presets.values(), *self.parts.values()]
        for name in {name for values in swept for name in values}:
            check_known(f"field of the episodes of {self.name}", name, names)
        varied = {name for values in swept for name in values}
        missing = [
            f.name
            for f in fields(self.episode)
            if f.default is MISSING and f.default_factory is MISSING and f.name not in varied
        ]
        if missing:
            raise SettingsError(
                f"suite {self.name!r}: give {', '.join(missing)} a default or values in the sweep"
            )
        metrics = {metric.name for metric in self.metrics}
        metric_names = [name for table in self.tables for name in table.metrics]
        metric_names += [f.y if isinstance(f, Lines) else f.metric for f in self.figures]
        if self.cells is None:
            for name in metric_names:
                check_known(f"metric of {self.name}", name, metrics)

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields of an episode."""
        return tuple(f.name for f in fields(self.episode))

    @property
    def free_fields(self) -> tuple[str, ...]:
        """The fields that do not identify a run: they may differ when it is resumed."""
        return tuple(f.name for f in fields(self.episode) if not f.metadata.get("identifies", True))

    @property
    def cell_keys(self) -> tuple[str, ...]:
        """The columns that identify a cell."""
        return self.keys or tuple(name for name in self.sweep if not name.endswith(SEED_FIELDS))

    @property
    def context(self) -> Context:
        """The parts that tables and figures need."""
        return Context(
            metrics={metric.name: metric for metric in self.metrics},
            labels=self.labels,
            levels={**self.sweep, **self.levels},
            reference=self.reference,
            margins=self.margins,
        )

    def make_cells(self, rows: Sequence[Any]) -> list[ResultRow]:
        """Compute the cells of rows."""
        if self.cells is not None:
            return self.cells(rows)
        return make_cells(
            rows,
            suite=self.name.partition("/")[0],
            metrics=self.metrics,
            groups=self._groups,
            levels=self.context.levels,
            estimator=self.estimator,
            naming=self.naming or self._name,
            reference=self.reference,
        )

    def _groups(self, row: Any) -> Iterable[Where]:
        if self.groups is None:
            cells: Iterable[Where] = [{name: getattr(row, name) for name in self.cell_keys}]
        else:
            cells = self.groups(row)
        return with_margins(cells, self.margins)

    def _name(self, where: Where) -> CellName:
        *titles, last = [self.context.title({name: value}) for name, value in where.items()] or [""]
        return CellName(experiment=self.name, setting=", ".join(titles), method=last)
