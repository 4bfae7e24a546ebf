"""Settings of traces, small runs, and records that say what a test wants."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner, Result

from timeful.cli.main import app
from timeful.records.events import (
    Entry,
    EpisodeEnded,
    EpisodeStarted,
    Happened,
    ThoughtChunk,
    ThoughtEnded,
    ThoughtStarted,
)
from timeful.records.recorder import Recorder


def timeful(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], env=env)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def saved(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "traces.toml"
    path.write_text(text)
    return path


def files(folder: Path) -> dict[str, bytes]:
    names = ("train.jsonl", "validation.jsonl", "test.jsonl", "rejected.jsonl", "README.md")
    return {name: (folder / name).read_bytes() for name in names}


def thought(
    number: int,
    shown: Sequence[tuple[str, str]] | None,
    answer: str,
    *,
    at: int = 0,
    thinking: str = "",
    state: str = "completed",
) -> list[Entry]:
    """A thought that said something, all at one instant."""
    chunk = ThoughtChunk(at=at, thought=number, channel="reasoning", tokens=1, text=thinking)
    return [
        ThoughtStarted(
            at=at,
            thought=number,
            model="m",
            purpose="work",
            turn=0,
            limit=None,
            max_tokens=None,
            seed=0,
            messages=None if shown is None else list(shown),
        ),
        *([chunk] if thinking else []),
        ThoughtEnded(
            at=at,
            thought=number,
            state=state,
            cause=None,
            tokens=5,
            finish="stop" if state == "completed" else None,
            text_sha256="",
            answer=answer,
        ),
    ]


def run_of(folder: Path, suite: str, records: dict[str, list[Entry]], **settings: Any) -> Path:
    """A run folder with these records."""
    folder.mkdir(parents=True)
    about = {"suite": suite, "version": "0", **settings}
    (folder / "settings.json").write_bytes(msgspec.json.encode(about))
    for name, events in records.items():
        recorder = Recorder(folder / "episodes" / f"{name}.jsonl")
        for event in events:
            recorder.write(event)
        recorder.close()
    return folder


def game(
    said: str,
    score: float,
    *,
    run: int = 0,
    case: str = "cave",
    budget_s: int = 10,
    reason: str = "ended",
    state: str = "completed",
) -> list[Entry]:
    """An episode of one thought in a game."""
    ns = budget_s * 10**9
    episode = {"case": case, "budget_ns": ns, "latency": "none", "run": run}
    over = {"reason": reason, "counted": ns // 2, "final_score": score, "start_score": 0}
    return [
        EpisodeStarted(at=0, version="0", settings={"episode": episode, "calls": "text"}),
        *thought(1, [("user", f"Play {case} in {budget_s} s.")], said, state=state),
        Happened(at=9, number=1, what="over", data=over, reward=score, score=score),
        EpisodeEnded(at=9, reason="world over", turns=1, score=score),
    ]
