"""A page that needs no server: one HTML file, or a folder that opens from a disk."""

import gzip
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from timeful.errors import RecordError, SettingsError
from timeful.records.events import Entry
from timeful.records.store import write_atomically
from timeful.reports.results import show_value
from timeful.version import __version__
from timeful.viewer.catalogue import PARTS, Runs
from timeful.viewer.columns import to_column
from timeful.viewer.pack import decode_part, encode_part, pack_episode, pack_part
from timeful.viewer.page import load_code, render_page
from timeful.viewer.reading import RawRecord, from_events
from timeful.viewer.schema import Catalogue, Frames, Lanes, Rows, RunEntry, Texts
from timeful.viewer.tables import make_rows, row_of

LARGEST_FILE = 50 << 20
LEVEL = 9
_BUNDLE = 64
_BUNDLE_BYTES = 3 << 20
WITHOUT = ("prompts", "texts", "states")
"""The parts that an export can leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What goes into an export.

    Attributes:
        where: The values of columns of the episodes to keep, as texts; all by default.
        without: The parts to leave out: "prompts", "texts" (with prompts) and "states".
    """

    where: tuple[tuple[str, str], ...] = ()
    without: Collection[str] = ()


def export_page(runs: Runs, choice: Choice = Choice(), *, title: str = "timeful") -> str:
    """One HTML file with everything in it; the same records give the same bytes."""
    data = _bundle(_values(runs, choice))
    return render_page(load_code(), store="inline", title=title, data=data)


def episode_page(events: Iterable[Entry], *, name: str = "episode") -> str:
    """One HTML file with a single episode, from its events."""
    record = from_events(events, name)
    pack = pack_episode(record)
    row = row_of(record)
    entry = RunEntry(
        number=0,
        name=name,
        path=name,
        kind="records",
        suite=str(row.get("suite", "")),
        state="done",
        episodes=1,
        failed=int(row["status"] == "failed"),
        stand_in=pack.lanes.stand_in,
    )
    rows = make_rows(0, [name], [row], sections=[], curves=[], pending=0, notices=[])
    values = [
        ("catalogue", msgspec.json.encode(Catalogue(version=__version__, runs=[entry]))),
        ("rows-0", msgspec.json.encode(rows)),
        *((f"part-0-0-{part}", pack.part(part)) for part in PARTS),
    ]
    return render_page(load_code(), store="inline", title=pack.lanes.title, data=_bundle(values))


def export_file(runs: Runs, path: Path, choice: Choice, *, is_single: bool = False) -> int:
    """Write one HTML file.

    Args:
        runs: The runs.
        path: The file.
        choice: What goes into it.
        is_single: Whether the file may have more than 50 MB.

    Returns:
        The number of bytes.

    Raises:
        SettingsError: If the file is too large.
    """
    size, data = 0, []
    for names, value in _bundle(_values(runs, choice)):
        data.append((names, value))
        size += len(data[-1][1])
        if size > LARGEST_FILE and not is_single:
            raise SettingsError(
                f"{path} would have more than {LARGEST_FILE >> 20} MB; export a folder "
                f"(--export {path.with_suffix('')}/), fewer episodes (--episodes), or add --single"
            )
    page = render_page(load_code(), store="inline", title=_title(runs), data=data).encode()
    write_atomically(path, page)
    return len(page)


def export_folder(runs: Runs, folder: Path, choice: Choice) -> int:
    """Write a folder: `index.html`, `page.js`, `page.css` and `data/*.js`.

    Returns:
        The number of bytes.

    Raises:
        SettingsError: If the folder holds something else.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "page.js").exists():
        raise SettingsError(f"{folder} is not empty and holds no page; give another --export")
    code, size = load_code(), 0
    (folder / "data").mkdir(parents=True, exist_ok=True)
    data = []
    for names, value in _bundle(_values(runs, choice)):
        name = names.partition(" ")[0]
        script = f'timefulData("{name}", "{value}");\n'.encode()
        write_atomically(folder / "data" / f"{name}.js", script)
        data.append((names, ""))
        size += len(script)
    page = render_page(code, store="folder", title=_title(runs), data=data)
    for name, text in (("page.js", code.script), ("page.css", code.style), ("index.html", page)):
        write_atomically(folder / name, text.encode())
        size += len(text.encode())
    return size


def _title(runs: Runs) -> str:
    names = [run.name for run in runs.runs]
    return f"timeful: {names[0]}" if len(names) == 1 else "timeful"


def _bundle(values: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, str]]:
    """Names and compressed values; the same part of episodes next to each other is compressed once.

    Such parts repeat each other: as one column of values they need a third of the bytes. A value
    that is long, or that has several lines, is alone.
    """
    bundles: dict[str, list[tuple[str, bytes]]] = {}
    for name, value in values:
        kind = name.rpartition("-")[2] if name.startswith("part-") else ""
        if not kind or len(value) > _BUNDLE_BYTES // 8 or b"\n" in value:
            yield _pack([(name, value)])
            continue
        bundle = bundles.setdefault(kind, [])
        bundle.append((name, value))
        if len(bundle) == _BUNDLE or sum(len(value) for _, value in bundle) > _BUNDLE_BYTES:
            yield _pack(bundles.pop(kind))
    yield from map(_pack, bundles.values())


def _pack(values: Sequence[tuple[str, bytes]]) -> tuple[str, str]:
    data = values[0][1]
    if len(values) > 1:
        objects = [msgspec.json.decode(value) for _, value in values]
        for value in objects:
            _drop_seeds(value.get("events", ()))
        data = msgspec.json.encode(to_column(objects))
    packed = b64encode(gzip.compress(data, LEVEL, mtime=0)).decode()
    return " ".join(name for name, _ in values), packed


def _drop_seeds(tables: Iterable[dict[str, Any]]) -> None:
    """Leave the seeds of thoughts out of the tables of events: random digits, a sixth of a page."""
    for table in tables:
        for columns in (table["kinds"], table["columns"]):
            columns.pop("seed", None)


def _values(runs: Runs, choice: Choice) -> Iterator[tuple[str, bytes]]:
    """All values of an export, by name."""
    catalogue = runs.catalogue(has_times=False)
    catalogue.left_out = sorted(choice.without)
    for entry in catalogue.runs:
        entry.path = entry.name
    tables = {entry.number: runs.rows(entry.number, budget=1 << 30) for entry in catalogue.runs}
    selection = {number: _kept(rows, choice) for number, rows in tables.items()}
    for entry in catalogue.runs:
        entry.episodes = len(selection[entry.number])
    yield "catalogue", msgspec.json.encode(catalogue)
    for number, rows in tables.items():
        yield f"rows-{number}", msgspec.json.encode(_select(rows, selection[number]))
        for index, episode in enumerate(selection[number]):
            record = _read_record(runs, number, episode)
            for part in PARTS:
                value = _leave_out(pack_part(record, part), part, choice.without)
                yield f"part-{number}-{index}-{part}", value


def _read_record(runs: Runs, number: int, episode: int) -> RawRecord:
    """A record; of one that cannot be read, an empty one that says so."""
    try:
        return runs.record(number, episode)
    except RecordError as error:
        return RawRecord(name=f"episode {episode}", notices=[str(error)])


def _kept(rows: Rows, choice: Choice) -> list[int]:
    """The numbers of the episodes that are chosen.

    Raises:
        SettingsError: If a column is unknown, or nothing is left.
    """
    columns: dict[str, Sequence[Any]] = {c.name: c.values for c in rows.columns}
    columns["key"] = rows.keys
    selection = list(range(len(rows.keys)))
    for name, text in choice.where:
        if name not in columns and text == "null":
            continue  # a column without a value is left out
        if name not in columns:
            raise SettingsError(
                f"the episodes have no column {name!r}; they have {', '.join(columns)}"
            )
        selection = [index for index in selection if show_value(columns[name][index]) == text]
    if choice.where and not selection:
        raise SettingsError("no episode has these values; see --episodes")
    return selection


def find_place(runs: Runs, choice: Choice) -> str:
    """The place in the page of the episodes that are chosen: their table, or the only one.

    Raises:
        SettingsError: If there are several runs, a column is unknown, or nothing is left.
    """
    if len(runs.runs) != 1:
        raise SettingsError(f"--episodes needs one run, and there are {len(runs.runs)}")
    rows = runs.rows(0)
    selection = _kept(rows, choice)
    if len(selection) == 1:
        return f"#/~0/e/{quote(rows.keys[selection[0]], safe='')}"
    names = {name for name, _ in choice.where}
    where = {c.name: c.values[selection[0]] for c in rows.columns if c.name in names}
    return f"#/~0/episodes?where={quote(msgspec.json.encode(where))}"


def _select(rows: Rows, selection: list[int]) -> Rows:
    rows.keys = [rows.keys[index] for index in selection]
    for column in rows.columns:
        column.values = [column.values[index] for index in selection]
    return rows


def _leave_out(value: bytes, part: str, without: Collection[str]) -> bytes:
    """A part without prompts, texts or states."""
    if not without:
        return value
    if part == "frames" and "states" in without:
        return msgspec.json.encode(Frames(reason="The states were left out of this export."))
    if part == "texts" and {"texts", "prompts"} & {*without}:
        texts = msgspec.convert(decode_part(value), Texts)
        for thought in texts.thoughts:
            thought.messages = None
            if "texts" in without:
                thought.text = thought.answer = ""
                thought.undelivered = []
                thought.chunks.length = [0] * len(thought.chunks.length)
        texts.strings = []
        if "texts" in without:
            texts.events = []
        return encode_part(texts)
    if part == "lanes" and "texts" in without:
        lanes = msgspec.convert(decode_part(value), Lanes)
        lanes.has_texts = False
        _blank_labels(lanes)
        return encode_part(lanes)
    return value


def _blank_labels(lanes: Lanes) -> None:
    """Leave out the labels of actions, events and notes, which may quote a model or a person."""
    for index, kind in enumerate(lanes.marks.kind):
        if kind in ("action", "note", "event", "failure"):
            lanes.marks.label[index] = -1
    used = {
        *lanes.marks.label,
        *(*lanes.spans.label, *lanes.verdicts.slot),
        *(*lanes.thoughts.cause, *lanes.thoughts.model, *lanes.thoughts.purpose),
    }
    lanes.verdicts.reason = [-1] * len(lanes.verdicts.reason)
    lanes.error = None if lanes.error is None else lanes.error.partition(":")[0]
    lanes.strings = [text if index in used else "" for index, text in enumerate(lanes.strings)]
