"""The real-time suite on models of providers, from the request to the report."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.fake import FakeServer, Say, Think, Usage
from tests.servers.providers import DIALECTS
from tests.suites.realtime.test_run import FEW, run
from timeful.models.kinds import PROVIDERS
from timeful.models.model_spec import ModelSpec

for package in ("pydantic_ai", "anthropic", "google.genai"):
    pytest.importorskip(package, reason="needs timeful[anthropic,google]")


def moves(body: dict[str, Any]) -> Iterator[Any]:
    chance = random.Random(hashlib.sha256(str(body).encode()).digest())
    yield Usage(200 + chance.randrange(9), prompt=50, reasoning=180, cached=20)
    yield Think("hm ")
    yield Say("\\boxed{U}")


@pytest.mark.slow
@pytest.mark.parametrize("api", PROVIDERS)
def test_a_run_is_recorded_and_replayed_to_the_same_events(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    tape, few = tmp_path / "tape.jsonl", {**FEW, "agent": ("reactive",)}
    with FakeServer(moves, dialect=DIALECTS[api]) as server:
        base_url = server.base_url if api == "responses" else server.address
        model = ModelSpec(spec=f"{api}:fake", base_url=base_url, record=str(tape))
        first = run(tmp_path / "live", few, planner=model, reactor=model)
        count = len(server.requests)
    assert not first.failed
    (total,) = first.usage
    assert sum(total.counted.values()) == count
    assert set(total.counted) <= {"settled", "running"}
    choice = ModelSpec(spec=f"replay:{tape}")
    replayed = run(tmp_path / "again", few, planner=choice, reactor=choice)
    assert [row.score for row in replayed.episodes] == [row.score for row in first.episodes]
    assert bodies(tmp_path / "again") == bodies(tmp_path / "live")


def bodies(folder: Path) -> list[list[str]]:
    """The events of each record without the settings, which name the model, and the real time."""
    records = [path.read_text().splitlines() for path in sorted(folder.glob("episodes/*.jsonl"))]
    return [[event for event in record[1:] if '"event":"wall"' not in event] for record in records]
