"""Records that tests invent."""

import json
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from timeful.records.events import (
    Acted,
    AnyEntry,
    EpisodeEnded,
    EpisodeStarted,
    Noted,
    Observed,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
    Turned,
)
from timeful.records.recorder import Recorder

HOSTILE = (
    "<script>alert(1)</script> \x1b[31mred\x1b[0m \u202eevil\u202c \x00 & ' \" </style> ]]> ${1}"
)
"""HTML, ANSI, bidi controls and NUL in one text."""


def started(**settings: Any) -> EpisodeStarted:
    return EpisodeStarted(at=0, version="0", settings={"episode": settings})


def thought(
    number: int, at: int, end: int, text: str = "left", purpose: str = "react"
) -> list[Any]:
    return [
        ThoughtStarted(
            at=at,
            thought=number,
            model="m",
            purpose=purpose,
            turn=0,
            limit=None,
            max_tokens=None,
            seed=1,
            messages=[("user", HOSTILE)],
        ),
        ThoughtChunk(at=(at + end) // 2, thought=number, channel="answer", tokens=1, text=text),
        ThoughtEnded(
            at=end,
            thought=number,
            state="completed",
            cause=None,
            tokens=1,
            finish="stop",
            text_sha256="",
            answer=text,
        ),
    ]


def acted(at: int, action: str = "L", **fields: Any) -> Acted:
    values = {"turn": 0, "legal": True, "error": None, **fields}
    return Acted(at=at, action=action, **values)


def turned(at: int, turn: int, *, late: bool = False, score: float = 0.0) -> Turned:
    return Turned(at=at, turn=turn, action="L", late=late, reward=0.0, score=score)


def game() -> list[AnyEntry]:
    """Three turns: in time after a superseded action, then a default, then a refusal."""
    begin, chunk, end = thought(1, 0, 60)
    return [
        started(game="snake", agent="agile", stand_in=True, seed=3),
        begin,
        chunk,
        acted(50, "R"),
        end,
        acted(60),
        turned(100, 1, score=1.0),
        Observed(at=110, happened_at=100, turn=1, state={"x": 1}),
        Noted(at=120, topic="remark", text=HOSTILE),
        turned(200, 2, late=True, score=1.0),
        Observed(at=200, happened_at=200, turn=2, state={"x": 2}),
        acted(250, HOSTILE, legal=False, error="no such action"),
        acted(300),
        turned(300, 3, score=2.0),
        EpisodeEnded(at=300, reason="world over", turns=3, score=2.0),
    ]


def write_record(path: Path, events: list[Any]) -> Path:
    recorder = Recorder(path)
    for event in events:
        recorder.write(event)
    recorder.close()
    return path


def write_run(folder: Path, count: int = 2, **fields: Any) -> Path:
    """A run of several episodes with an index and results."""
    lines = []
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = write_record(folder / "episodes" / f"e{number}.jsonl", game())
        row = {"game": "snake", "seed": number, "status": "ok", "score": 2.0, **fields}
        lines.append(json.dumps({"key": path.stem, "size": path.stat().st_size, "row": row}))
    (folder / "rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (folder / "settings.json").write_text('{"suite": "realtime", "game": "snake"}')
    cell = {
        **{"suite": "realtime", "experiment": "load", "setting": "snake", "method": "agile"},
        **{"metric": "score", "value": 2.0, "low": 1.0, "high": 3.0, "n": count},
        **{"published": 1.5, "where": {"game": "snake", "condition": "easy"}},
    }
    (folder / "results.json").write_text(json.dumps([cell]))
    return folder


def read_column(column: Any) -> list[Any]:
    """The values of a column of an export, as the page reads them."""
    match column:
        case ["values", values]:
            return list(values)
        case ["scaled", numbers, unit]:
            return [None if number is None else number * unit for number in numbers]
        case ["same", value, count]:
            return [value] * count
        case ["fields", fields, count]:
            columns = {name: read_column(values) for name, values in fields.items()}
            return [{name: columns[name][place] for name in columns} for place in range(count)]
        case ["groups", columns, places]:
            values = [value for column in columns for value in read_column(column)]
            by_place = dict(zip(accumulate(places), values, strict=True))
            return [by_place[place] for place in range(len(values))]
        case ["lists", lengths, items]:
            rest = iter(read_column(items))
            return [list(islice(rest, length)) for length in read_column(lengths)]
    raise AssertionError(column)
