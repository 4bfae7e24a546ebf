"""The table of a run: its rows as columns, its results as matrices, its journal as curves."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from timeful.core.units import in_seconds
from timeful.errors import RecordError
from timeful.files import LONGEST_LINE, decode
from timeful.records.events import EpisodeEnded, EpisodeFailed
from timeful.reports.results import ResultRow, read_results
from timeful.viewer.reading import RawRecord, parse_lines, read_raw
from timeful.viewer.schema import Column, Curve, Matrix, MatrixCell, Rows

MOST_LEVELS = 20
_MOST_LEAD = 12
_LAST = ("sha256", "error", "key", "status")
_OUTCOMES = (
    *("score", "utility", "value", "balanced", "correct", "AC", "scored"),
    *("late_turns", "late", "lost", "turns", "tokens", "ended", "ended_s"),
)
"""Columns that are shown first, after those that identify an episode."""

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
    matrices: list[Matrix],
    curves: list[Curve],
    pending: int,
    notices: list[str],
) -> Rows:
    """Rows as columns of scalars; values that are lists or tables are left out."""
    rows = [with_triggers(with_group(row)) for row in rows]
    matrices = [*matrices, *count_triggers(rows)]
    names = dict.fromkeys(name for row in rows for name, value in row.items() if is_scalar(value))
    columns = [_column(name, [row.get(name) for row in rows]) for name in names]
    columns = [column for column in columns if any(value is not None for value in column.values)]
    columns.sort(key=lambda column: column.name in _LAST)
    used = {
        name
        for matrix in matrices
        for cell in matrix.cells
        for name in cell.where
        if not name.startswith("predicts ")
    }
    present = {column.name for column in columns}
    for matrix in matrices:
        for cell in matrix.cells:
            cell.where = {k: v for k, v in cell.where.items() if k in present}
    return Rows(
        run=run,
        keys=list(keys),
        columns=columns,
        lead=_lead(columns, used),
        matrices=matrices,
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


def count_triggers(rows: Sequence[dict[str, Any]]) -> list[Matrix]:
    """How often each action was predicted, due and met: a matrix for each agent of a part.

    A number selects the dialogues in which the agent predicted the action.
    """
    groups: dict[tuple[tuple[str, Any], ...], list[dict[str, Any]]] = {}
    for row in rows:
        if _triggers(row):
            where = tuple((name, row[name]) for name in _GROUP if name in row)
            groups.setdefault(where, []).append(row)
    return [_count_actions(dict(where), group) for where, group in groups.items()]


def _count_actions(where: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Matrix:
    counts = [_triggers(row) for row in rows]
    names = sorted({name for actions in counts for name in actions})
    kinds = dict.fromkeys(
        kind for actions in counts for inner in actions.values() for kind in inner
    )
    kinds.pop("lead", None)  # a sum of distances, no count
    cells = [
        MatrixCell(
            row=place,
            column=column,
            value=sum(_number(actions.get(name, {}).get(kind)) or 0.0 for actions in counts),
            low=None,
            high=None,
            n=sum(name in actions for actions in counts),
            failed=0,
            published=None,
            source=None,
            stand_in=None,
            where={**where, f"predicts {name}": True},
        )
        for place, name in enumerate(names)
        for column, kind in enumerate(kinds)
    ]
    return Matrix(
        experiment="triggers by action",
        metric=", ".join(_name_group(name, value) for name, value in where.items()),
        rows=names,
        columns=[kind.replace("_", " ") for kind in kinds],
        cells=cells,
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


def read_matrices(root: Path) -> tuple[list[Matrix], list[str]]:
    """The results of a run, one matrix for each experiment and metric."""
    path = root / "results.json"
    if not path.is_file():
        return [], []
    try:
        results = read_results(path)
    except RecordError as error:
        return [], [str(error)]
    groups: dict[tuple[str, str], list[ResultRow]] = {}
    for row in results:
        groups.setdefault((row.experiment, row.metric), []).append(row)
    return [_matrix(*name, rows) for name, rows in groups.items()], []


def _matrix(experiment: str, metric: str, results: Sequence[ResultRow]) -> Matrix:
    ours = {row.method for row in results if row.value is not None}
    methods = list(dict.fromkeys(row.method for row in results))
    methods.sort(key=lambda method: method not in ours)
    settings = list(dict.fromkeys(row.setting for row in results))
    cells = [
        MatrixCell(
            row=methods.index(row.method),
            column=settings.index(row.setting),
            value=row.value,
            low=row.low,
            high=row.high,
            n=row.n,
            failed=row.failed,
            published=row.published,
            source=row.source,
            stand_in=row.stand_in,
            where=dict(row.where),
        )
        for row in results
    ]
    return Matrix(experiment=experiment, metric=metric, rows=methods, columns=settings, cells=cells)


def read_curves(root: Path) -> list[Curve]:
    """The journal of a training: each number over its updates."""
    path = root / "metrics.jsonl"
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = []
    decoder = msgspec.json.Decoder(dict[str, Any])
    try:
        with path.open("rb") as file:
            for line in file:
                try:
                    rows.append(_flat(decode(line, decoder)))
                except msgspec.DecodeError:
                    continue
    except OSError:
        return []
    names = dict.fromkeys(name for row in rows for name, value in row.items() if _is_number(value))
    step = next((name for name in ("step", "update", "global_step") if name in names), None)
    x = [_number(row.get(step or "")) or float(index) for index, row in enumerate(rows)]
    return [
        Curve(name=name, x=x, y=[_number(row.get(name)) for row in rows])
        for name in names
        if name != step
    ]


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
