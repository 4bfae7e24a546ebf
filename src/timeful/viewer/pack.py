"""An episode as lanes, texts and frames: pure functions of its record."""

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from operator import le
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, cast

import msgspec

from timeful.errors import RecordError
from timeful.records.events import (
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    Happened,
    Observed,
    Sampled,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtStarted,
    Turned,
    Within,
)
from timeful.viewer.columns import Strings, delta
from timeful.viewer.frames import pack_frames
from timeful.viewer.lanes import pack_groups, split_modules
from timeful.viewer.reading import RawRecord, from_events, no_collection, read_raw
from timeful.viewer.schema import (
    LONGEST_LABEL,
    Chunks,
    EventTable,
    Frames,
    Lanes,
    Scores,
    Texts,
    ThoughtText,
)

LAST = 2**53 - 1
"""The last instant that a page can show: 104 days."""

_APART = "from timeful.viewer.pack import pack_here; pack_here()"
_LONGEST_FIELD = 64 << 10
_LONGEST_LINE = 1 << 19
_PIECE = 10_000
_MOST_ABOUT = 200
_Scored = Turned | Happened | EpisodeEnded
_EXACT = {str, bool, float, type(None)}
_REPETITIONS = ("seed", "game_seed", "sample", "run", "episode", "repetition")
_HIDDEN = ("key", "suite", "model", "mode", "clock", "timing", "part", "place")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The three parts of an episode."""

    lanes: Lanes
    texts: Texts
    frames: Frames

    def part(self, name: str) -> bytes:
        """One part as JSON: "lanes", "texts" or "frames"."""
        return encode_part(getattr(self, name))


@no_collection
def pack_part(record: RawRecord, name: str) -> bytes:
    """One part of an episode as JSON: "lanes", "texts" or "frames"."""
    record = _bound(record)
    makers = {"lanes": pack_lanes, "texts": pack_texts, "frames": pack_frames}
    return encode_part(makers[name](record))


def pack_apart(path: Path, name: str) -> bytes:
    """A part of a record that can be read, in a process of its own, whose memory ends with it.

    Raises:
        RecordError: If the process failed.
    """
    command = [sys.executable, "-P", "-c", _APART, str(path), name]
    with TemporaryFile() as file:  # a pipe would hold the part twice
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise RecordError(f"cannot pack {path.name}: {last or f'exit code {done.returncode}'}")
        file.seek(0)
        return file.read()


def pack_here() -> None:
    """Write the part that the arguments of this process name to standard output."""
    path, name = sys.argv[1:]
    sys.stdout.buffer.write(pack_part(read_raw(Path(path)), name))


def encode_part(columns: msgspec.Struct) -> bytes:
    """A part as JSON; a long one as a line without its long lists, and lines with their pieces.

    A piece is a list: the names and positions that lead to a list of the first line, and then the
    next items of that list. A page reads one line after the other and can draw in between.
    """
    value = msgspec.json.encode(columns)
    if len(value) <= _LONGEST_LINE:
        return value
    head = msgspec.to_builtins(columns)
    pieces: list[list[Any]] = []
    _take_pieces(head, (), pieces)
    lines = [head | {"pieces": len(pieces)}, *pieces]
    return b"\n".join(map(msgspec.json.encode, lines))


def _take_pieces(value: Any, path: tuple[str | int, ...], pieces: list[list[Any]]) -> None:
    """Move the items of long lists to pieces."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in members:
        if isinstance(inner, list) and len(inner) > _PIECE:
            step = _PIECE // 10 if isinstance(inner[0], dict | list) else _PIECE
            starts = range(0, len(inner), step)
            pieces += [[*path, key, inner[start : start + step]] for start in starts]
            inner.clear()
        elif isinstance(inner, dict | list):
            _take_pieces(inner, (*path, key), pieces)


def decode_part(value: bytes) -> dict[str, Any]:
    """A part from its bytes, as plain data."""
    lines = map(msgspec.json.decode, value.split(b"\n"))
    head: dict[str, Any] = next(lines)
    for *path, items in lines:
        target: Any = head
        for key in path:
            target = target[key]
        target.extend(items)
    return head


@no_collection
def pack_episode(record: RawRecord | Iterable[Entry]) -> Pack:
    """Pack an episode, of any list of events.

    Args:
        record: The record as `read_raw` reads it, or its events.
    """
    if not isinstance(record, RawRecord):
        record = from_events(record)
    record = _bound(record)
    return Pack(lanes=pack_lanes(record), texts=pack_texts(record), frames=pack_frames(record))


def pack_lanes(record: RawRecord) -> Lanes:
    """Pack what is drawn over time."""
    strings = Strings()
    groups = split_modules(record)
    parts = pack_groups(groups, record, strings)
    return Lanes(
        **_head(record),
        **parts,
        scores=_scores(record),
        counts=dict(sorted(_count(parts["verdicts"].kind).items())),
        strings=strings.values,
    )


def _bound(record: RawRecord) -> RawRecord:
    """Move instants that no page can show to the last one that it can."""
    if not record.entries or 0 <= record.entries[0].at <= record.last <= LAST:
        return record
    record.entries = [
        event
        if 0 <= event.at <= LAST
        else msgspec.structs.replace(event, at=min(max(event.at, 0), LAST))
        for event in record.entries
    ]
    record.notices.append("instants before 0 or after 104 days are shown at these ends")
    return record


def _count(kinds: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def _head(record: RawRecord) -> dict[str, Any]:
    """What the first line of a page tells."""
    settings, end = record.settings, record.end
    episode = settings.get("episode")
    episode = episode if isinstance(episode, dict) else settings
    scores = (event.score for event in reversed(record.entries) if isinstance(event, _Scored))
    clock = str(episode.get("clock", settings.get("clock", "virtual")))
    stand_in = episode.get("stand_in")
    failed = isinstance(end, EpisodeFailed)
    return {
        "title": _title(episode) or record.name,
        "about": about(settings),
        "status": "open" if end is None else "failed" if failed else "ok",
        "error": f"{end.boundary}: {end.error}" if isinstance(end, EpisodeFailed) else None,
        "score": next(scores, None),
        "stand_in": stand_in if isinstance(stand_in, bool) else None,
        "clock": clock if clock in ("token", "wall") else "virtual",
        "end": record.last,
        "lines": record.count,
        "has_texts": has_texts(record),
        "notices": record.notices,
    }


def has_texts(record: RawRecord) -> bool:
    """Whether a record has prompts or chunks."""
    kinds = {ThoughtChunk, ThoughtStarted, Within}
    entries = (e.what if isinstance(e, Within) else e for e in record.entries if type(e) in kinds)
    return any(
        isinstance(e, ThoughtChunk) or (isinstance(e, ThoughtStarted) and e.messages is not None)
        for e in entries
    )


def _title(episode: dict[str, Any]) -> str:
    """The names in the settings of an episode, and its seeds."""
    names = [
        str(value)
        for name, value in episode.items()
        if isinstance(value, str) and value and name not in _HIDDEN
    ]
    seeds = [
        f"{name.replace('game_', '')} {value}"
        for name, value in episode.items()
        if name in _REPETITIONS and isinstance(value, int)
    ]
    return " · ".join([*dict.fromkeys(names), *seeds])[: 2 * LONGEST_LABEL]


def about(settings: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Settings as pairs of a name and a short text; inner ones are named `world.horizon`."""
    pairs: list[tuple[str, str]] = []
    stack = [(prefix, settings)]
    while stack and len(pairs) < _MOST_ABOUT:
        name, value = stack.pop()
        if isinstance(value, dict):
            inner = [(f"{name}.{key}" if name else str(key), v) for key, v in value.items()]
            stack += reversed(inner)
        elif value is not None:
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            pairs.append((name.removeprefix("episode."), text[:LONGEST_LABEL]))
    return pairs


def _scores(record: RawRecord) -> Scores:
    scores = Scores()
    instants: list[int] = []
    kinds = {Turned, Happened, EpisodeEnded}
    events = [event for event in record.entries if type(event) in kinds]
    for event in cast(list[_Scored], events):
        if not scores.score or scores.score[-1] != event.score:
            instants.append(event.at)
            scores.score.append(event.score)
    scores.at = delta(instants)
    return scores


def pack_texts(record: RawRecord) -> Texts:
    """Pack the words of the thoughts, in the order of the lanes, and the fields of the events."""
    strings, channels = Strings(), Strings()
    begun: list[tuple[int, int, ThoughtText]] = []
    current: dict[tuple[str, int], tuple[ThoughtText, list[str], list[int]]] = {}
    events: list[tuple[int, dict[str, Any]]] = []
    for line, event in zip(record.lines, record.entries, strict=True):
        module, inner = ("", event)
        if isinstance(event, Within):
            module, inner = event.module, event.what
        if isinstance(inner, ThoughtChunk):
            if (module, inner.thought) in current:
                _add_chunk(inner, *current[module, inner.thought], channels)
            continue
        if isinstance(inner, ThoughtStarted):
            text = _begin(inner, strings)
            begun.append((event.at, line, text))
            current[module, inner.thought] = (text, [], [])
        elif isinstance(inner, ThoughtEnded | ThoughtPaused) and (
            (module, inner.thought) in current
        ):
            _add_end(inner, current[module, inner.thought][0])
        events.append((line, _fields(event)))
    for text, pieces, instants in current.values():
        if pieces:
            text.text, text.chunks.at = "".join(pieces), delta(instants)
    events += [(line, _shorten(unknown.fields)) for line, unknown in record.unknown]
    begun.sort(key=lambda item: item[:2])
    thoughts = [text for _, _, text in begun]
    return Texts(
        thoughts=thoughts, events=_tables(events), strings=strings.values, channels=channels.values
    )


def _begin(event: ThoughtStarted, strings: Strings) -> ThoughtText:
    messages = event.messages
    return ThoughtText(
        limit=event.limit,
        max_tokens=event.max_tokens,
        messages=None if messages is None else [(r, strings.whole(text)) for r, text in messages],
        chunks=Chunks(),
        text="",
        answer="",
        undelivered=[],
    )


def _add_chunk(
    event: ThoughtChunk, text: ThoughtText, pieces: list[str], instants: list[int], names: Strings
) -> None:
    pieces.append(event.text)
    instants.append(event.at)
    text.chunks.tokens.append(event.tokens)
    text.chunks.length.append(utf16_length(event.text))
    text.chunks.channel.append(names.whole(event.channel))


def utf16_length(text: str) -> int:
    """The length of a text in a page's language."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _add_end(event: ThoughtEnded | ThoughtPaused, text: ThoughtText) -> None:
    if isinstance(event, ThoughtPaused):
        if event.undelivered:
            text.undelivered.append((event.at, event.undelivered))
        return
    text.answer = event.answer
    if not isinstance(event.usage, msgspec.UnsetType):
        text.usage = msgspec.to_builtins(event.usage)


def _fields(event: Entry) -> dict[str, Any]:
    """The fields of an event, without what is elsewhere in the pack and without hashes."""
    fields = msgspec.to_builtins(event)
    inner = fields["what"] if isinstance(event, Within) else fields
    match event.what if isinstance(event, Within) else event:
        case ThoughtStarted():
            inner.pop("messages")
        case ThoughtPaused():
            inner.pop("undelivered")
        case ThoughtEnded():
            for name in ("answer", "text_sha256", "tokens"):
                inner.pop(name)
        case Observed():
            inner.pop("state")
        case Sampled():
            for name in ("prompt_ids", "ids", "logprobs"):
                inner[name] = f"{len(inner[name])} values"
    return _shorten(fields)


def _shorten(fields: dict[str, Any]) -> dict[str, Any]:
    is_long = len(msgspec.json.encode(fields)) > _LONGEST_FIELD
    shorter: dict[str, Any] = _cut(fields) if is_long else fields
    return shorter


def _tables(events: Iterable[tuple[int, dict[str, Any]]]) -> list[EventTable]:
    """Events as columns, those with the same fields together."""
    groups: dict[tuple[str, ...], list[tuple[int, dict[str, Any]]]] = {}
    for line, fields in events:
        key = (str(fields.get("event")), *fields)
        groups.setdefault(key, []).append((line, fields))
    tables = []
    for (_, *names), rows in groups.items():
        columns = {name: _column([fields[name] for _, fields in rows]) for name in names}
        tables.append(
            EventTable(
                lines=delta([line for line, _ in rows]),
                kinds={name: kind for name, (kind, _) in columns.items()},
                columns={name: values for name, (_, values) in columns.items()},
            )
        )
    return tables


def read_events(texts: Texts) -> list[tuple[int, str]]:
    """The events of texts as the page reads them: a line, and the event as JSON text."""
    pairs: list[tuple[int, str]] = []
    for table in texts.events:
        columns = [
            _texts_of(table.kinds[name], values, len(table.lines))
            for name, values in table.columns.items()
        ]
        names = [msgspec.json.encode(name).decode() for name in table.columns]
        for line, row in zip(accumulate(table.lines), zip(*columns, strict=True), strict=True):
            body = ",".join(f"{name}:{text}" for name, text in zip(names, row, strict=True))
            pairs.append((line, f"{{{body}}}"))
    return sorted(pairs)


def _texts_of(kind: str, values: list[Any], count: int) -> list[str]:
    if kind == "json":
        return values
    plain = list(accumulate(values)) if kind == "delta" else values
    texts = [msgspec.json.encode(value).decode() for value in plain]
    return texts * count if kind == "same" else texts


def _column(values: list[Any]) -> tuple[Any, list[Any]]:
    """A column and its kind."""
    types = set(map(type, values))
    is_exact = -LAST <= min(values) <= max(values) <= LAST if types == {int} else types <= _EXACT
    if not is_exact and not all(map(_is_exact, values)):
        return "json", [msgspec.json.encode(value).decode() for value in values]
    if len(types) == 1 and values.count(values[0]) == len(values):
        return "same", values[:1]
    is_rising = types == {int} and all(map(le, values, values[1:]))
    return ("delta", delta(values)) if is_rising else ("value", values)


def _is_exact(value: Any) -> bool:
    """Whether a page reads the numbers of a JSON value as they are."""
    if isinstance(value, dict):
        return all(map(_is_exact, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_exact, value))
    return not isinstance(value, int) or -LAST <= value <= LAST


def _cut(value: Any) -> Any:
    """A JSON value with texts of at most 64 kB."""
    if isinstance(value, str) and len(value) > _LONGEST_FIELD:
        return f"{value[:_LONGEST_FIELD]}… ({len(value)} characters, cut)"
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, list) else value
