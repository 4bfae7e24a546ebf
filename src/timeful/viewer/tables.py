"""The table of a run: its rows as columns, its report, and its journal as curves."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from timeful.core.units import in_seconds
from timeful.errors import RecordError
from timeful.files import LONGEST_LINE, decode
from timeful.records.events import EpisodeEnded, EpisodeFailed
from timeful.reports.page import Entry, Grid, Row, Section, read_page
from timeful.reports.results import ResultRow, read_results
from timeful.viewer.reading import RawRecord, parse_lines, read_raw
from timeful.viewer.schema import Column, Curve, Rows

MOST_LEVELS = 20
_MOST_LEAD = 12
_LAST = ("sha256", "error", "key", "status")
_OUTCOMES = (
    *("score", "utility", "value", "balanced", "correct", "AC", "scored"),
    *("late_turns", "late", "lost", "turns", "tokens", "ended", "ended_s"),
)
"""Columns that are shown first, after those that identify an episode."""

JOURNAL = "metrics.jsonl"
ARMS = ("", "seed-*/*/", "fraction-*/seed-*/*/")
"""The folders of the trainings of a run: its own, or those of its seeds and arms."""

RESULTS = "results.json"

_TAIL = 64 << 10


def read_rows(root: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The rows of `rows.jsonl` by key, later ones first; and what could not be read."""
    rows: dict[str, dict[str, Any]] = {}
    notices: list[str] = []
    decoder = msgspec.json.Decoder(dict[str, Any])
    path = root / "rows.jsonl"
    if not path.is_file():
        return rows, notices
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break  # it is being written
                try:
                    value = decode(line, decoder)
                    row = value["row"]
                    rows[str(value["key"])] = row if isinstance(row, dict) else {}
                except (msgspec.DecodeError, KeyError):
                    notices.append(f"rows.jsonl, line {number} is no row")
    except OSError as error:
        notices.append(f"rows.jsonl cannot be read: {error.strerror}")
    return rows, notices[:20]


def read_row(path: Path) -> dict[str, Any]:
    """A row from the beginning and the end of a record, where a run's index has none.

    Raises:
        RecordError: If the record cannot be read.
    """
    return row_of(read_raw(path) if path.suffix == ".xz" else _read_ends(path))


def row_of(record: RawRecord) -> dict[str, Any]:
    """The row of a record: the settings of its episode, and how it ended."""
    episode = record.settings.get("episode")
    row = dict(episode) if isinstance(episode, dict) else dict(record.settings)
    if "suite" in record.settings:
        row.setdefault("suite", record.settings["suite"])
    end = record.end
    row["status"] = "open" if end is None else "ok"
    if isinstance(end, EpisodeEnded):
        row |= {"score": end.score, "turns": end.turns}
    if isinstance(end, EpisodeFailed):
        row |= {"status": "failed", "error": f"{end.boundary}: {end.error}"}
    if end is not None:
        row["ended"] = in_seconds(end.at)
    return row


def _read_ends(path: Path) -> RawRecord:
    """The first line of a record and its last ones."""
    try:
        with path.open("rb") as file:
            first = file.readline(LONGEST_LINE)
            file.seek(max(path.stat().st_size - _TAIL, 0))
            last = file.read(_TAIL).split(b"\n")
    except OSError as error:
        raise RecordError(f"cannot read {path.name}: {error.strerror}") from None
    # The first piece of the tail is a part of a line where the record is longer than the tail.
    return parse_lines([first, *(line for line in last[1:] if line)], path.name)


def make_rows(
    run: int,
    keys: Sequence[str],
    rows: Sequence[dict[str, Any]],
    *,
    sections: list[Section],
    curves: list[Curve],
    pending: int,
    notices: list[str],
) -> Rows:
    """Rows as columns of scalars; values that are lists or tables are left out."""
    rows = [with_triggers(with_group(row)) for row in rows]
    sections = [*sections, *count_triggers(rows)]
    names = dict.fromkeys(name for row in rows for name, value in row.items() if is_scalar(value))
    columns = [_column(name, [row.get(name) for row in rows]) for name in names]
    columns = [column for column in columns if any(value is not None for value in column.values)]
    columns.sort(key=lambda column: column.name in _LAST)
    used = {
        name
        for entry in _entries(sections)
        for name, _ in entry.where
        if not name.startswith("predicts ")
    }
    return Rows(
        run=run,
        keys=list(keys),
        columns=columns,
        lead=_lead(columns, used),
        sections=sections,
        curves=curves,
        pending=pending,
        notices=notices,
    )


def with_group(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the group that results of tasks name: a game, or a set of problems."""
    if isinstance(row.get("case"), str) and "family" in row and "group" not in row:
        return {**row, "group": row["case"].partition("/")[0]}
    return row


def with_triggers(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a dialogue with a flag for each action that was predicted in it."""
    return {**row, **{f"predicts {name}": True for name in _triggers(row)}}


def _triggers(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The counts of each action of a dialogue, by what became of its predictions."""
    actions = row.get("actions")
    if not isinstance(actions, dict):
        return {}
    return {name: counts for name, counts in actions.items() if isinstance(counts, dict)}


_GROUP = ("part", "agent", "who", "timing", "token_ns")
"""What dialogues share whose triggers are counted together."""


def _entries(sections: Iterable[Section]) -> Iterator[Entry]:
    blocks = (block for section in sections for block in section.blocks)
    for row in (row for block in blocks if isinstance(block, Grid) for row in block.rows):
        for content in row:
            if not isinstance(content, str):
                yield from content if isinstance(content, tuple) else (content,)


def count_triggers(rows: Sequence[dict[str, Any]]) -> Iterator[Section]:
    """How often each action was predicted, due and met: a table for each agent of a part.

    A number selects the dialogues in which the agent predicted the action.
    """
    groups: dict[tuple[tuple[str, Any], ...], list[dict[str, Any]]] = {}
    for row in rows:
        if _triggers(row):
            where = tuple((name, row[name]) for name in _GROUP if name in row)
            groups.setdefault(where, []).append(row)
    if groups:
        grids = (_count_actions(where, group) for where, group in groups.items())
        yield Section("Triggers by action", tuple(grids))


def _count_actions(where: tuple[tuple[str, Any], ...], rows: Sequence[dict[str, Any]]) -> Grid:
    counts = [_triggers(row) for row in rows]
    kinds = dict.fromkeys(
        kind for actions in counts for inner in actions.values() for kind in inner
    )
    kinds.pop("lead", None)  # a sum of distances, no count
    lines: list[Row] = []
    for name in sorted({name for actions in counts for name in actions}):
        sums = [
            sum(_number(actions.get(name, {}).get(kind)) or 0.0 for actions in counts)
            for kind in kinds
        ]
        selection = (*where, (f"predicts {name}", True))
        lines.append((name, *(Entry(f"{value:g}", where=selection) for value in sums)))
    return Grid(
        caption=", ".join(_name_group(name, value) for name, value in where),
        head=("action", *(kind.replace("_", " ") for kind in kinds)),
        rows=tuple(lines),
    )


def _name_group(name: str, value: Any) -> str:
    if name == "token_ns" and isinstance(value, int) and value > 0:
        return f"{1e9 / value:g} tokens/s"
    return str(value)


def is_scalar(value: Any) -> bool:
    """Whether a value fits into a column."""
    return value is None or isinstance(value, str | int | float | bool)


def _column(name: str, values: list[Any]) -> Column:
    values = [value if is_scalar(value) else None for value in values]
    kinds = {type(value) for value in values if value is not None}
    kind: Literal["number", "text", "flag"]
    if kinds == {bool}:
        kind = "flag"
    elif kinds and kinds <= {int, float}:
        kind = "number"
    else:
        kind = "text"
        values = [None if value is None else str(value) for value in values]
    distinct = list(dict.fromkeys(values))
    levels: list[Any] = distinct if len(distinct) <= MOST_LEVELS else []
    levels.sort(key=lambda value: (value is None, value or ("" if kind == "text" else 0)))
    return Column(name=name, kind=kind, values=values, levels=levels)


def _lead(columns: Sequence[Column], used: Iterable[str]) -> list[str]:
    """What tells episodes apart, then their outcomes."""
    by_name = {column.name: column for column in columns}
    varied = {c.name for c in columns if len(c.levels) != 1}
    seeds = ("game_seed", "seed", "sample", "run", "episode", "dialogue")
    names = [c.name for c in columns if c.name in varied and c.name in used]
    names += [name for name in (*seeds, *_OUTCOMES) if name in by_name]
    if by_name.get("status") and by_name["status"].levels != ["ok"]:
        names.append("status")
    names += [c.name for c in columns if c.name in varied and c.name not in _LAST]
    return list(dict.fromkeys(names))[:_MOST_LEAD]


def read_sections(root: Path) -> tuple[list[Section], list[str]]:
    """The report of a run, then all its numbers, folded; and what could not be read."""
    notices: list[str] = []
    page, results = None, list[ResultRow]()
    try:
        page = read_page(root)
        results = read_results(root / RESULTS) if (root / RESULTS).is_file() else []
    except RecordError as error:
        notices.append(str(error))
    sections = [] if page is None else list(page.sections)
    experiments: dict[str, dict[str, list[ResultRow]]] = {}
    for row in results:
        experiments.setdefault(row.experiment, {}).setdefault(row.metric, []).append(row)
    for name, metrics in experiments.items():
        is_run = any(row.value is not None for rows in metrics.values() for row in rows)
        title = f"All numbers: {name}" + ("" if is_run else ", not run here")
        grids = tuple(_list_numbers(metric, rows) for metric, rows in metrics.items())
        sections.append(Section(title, grids, is_folded=page is not None or not is_run))
    return sections, notices


def _list_numbers(metric: str, results: Sequence[ResultRow]) -> Grid:
    """All values of a metric: methods by settings, or settings by methods where they are more."""
    ours = {row.method for row in results if row.value is not None}
    methods = sorted(
        dict.fromkeys(row.method for row in results), key=lambda name: name not in ours
    )
    settings = list(dict.fromkeys(row.setting for row in results))
    cells = {(row.method, row.setting): _show_number(row) for row in results}
    if len(settings) > max(5, len(ours)):
        cells = {(setting, method): entries for (method, setting), entries in cells.items()}
        head, lines = ("setting", *methods), settings
    else:
        head, lines = ("method", *settings), methods
    rows = tuple((name, *(cells.get((name, column), "") for column in head[1:])) for name in lines)
    return Grid(caption=metric, head=head, rows=rows)


def _show_number(row: ResultRow) -> tuple[Entry, ...]:
    """Our value with its interval, and the published one, which is marked outside of it."""
    low, high, published = row.low, row.high, row.published
    entries: list[Entry] = []
    if row.value is not None:
        interval = "" if low is None or high is None else f"[{_short(low)} {_short(high)}]"
        small = " ".join(filter(None, (interval, f"{row.failed} failed" * (row.failed > 0))))
        entries.append(Entry(_short(row.value), small, "strong", where=tuple(row.where.items())))
    if published is not None:
        is_inside = row.value is None or (low or published) <= published <= (high or published)
        entries.append(Entry(f"({_short(published)})", tone="quiet" if is_inside else "alarm"))
    return tuple(entries)


def _short(value: float) -> str:
    """About three digits that count."""
    digits = 0 if value == int(value) else 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}"


def find_journals(root: Path) -> list[Path]:
    """The journals of a training, or of the trainings of its seeds and arms."""
    return [path for place in ARMS for path in sorted(root.glob(f"{place}{JOURNAL}"))]


def read_curves(root: Path) -> list[Curve]:
    """The journals of a training: each number over its updates, after the name of an arm."""
    return [curve for path in find_journals(root) for curve in _read_journal(path, root)]


def _read_journal(path: Path, root: Path) -> Iterator[Curve]:
    rows: list[dict[str, Any]] = []
    decoder = msgspec.json.Decoder(dict[str, Any])
    with suppress(OSError), path.open("rb") as file:
        for line in file:
            with suppress(msgspec.DecodeError):
                rows.append(_flat(decode(line, decoder)))
    names = dict.fromkeys(name for row in rows for name, value in row.items() if _is_number(value))
    step = next((name for name in ("step", "update", "global_step") if name in names), None)
    x = [_number(row.get(step or "")) or float(index) for index, row in enumerate(rows)]
    arm = "" if path.parent == root else f"{path.parent.relative_to(root).as_posix()}: "
    for name in names:
        if name != step:
            yield Curve(name=arm + name, x=x, y=[_number(row.get(name)) for row in rows])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A line of a journal with the numbers of its inner tables, such as those of each budget."""
    inner = {
        f"{name}.{k}": v for name, t in row.items() if isinstance(t, dict) for k, v in t.items()
    }
    return {**{name: value for name, value in row.items() if not isinstance(value, dict)}, **inner}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    return float(value) if _is_number(value) else None
