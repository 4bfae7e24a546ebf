"""Records with answers alone are completed only where every decision is the same."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from timeful.cli.main import app
from timeful.experiments.remake import _REASONS, first_difference, remake
from timeful.records.events import EpisodeStarted, ThoughtChunk, ThoughtEnded
from timeful.records.recorder import read_record

RUNS = {
    "realtime": "run realtime load --game freeway --agent reactive --difficulty easy --seeds 1"
    " --samples 1",
    "inbox": "run engagement/inbox --seeds 1 --episodes 1 --interface loop --policy stand-in"
    " --decomposition single",
    "loop": "run realtime load --game freeway --agent reactive --difficulty easy --seeds 1"
    " --samples 1 --interface loop",
    "polling": "run engagement/inbox --seeds 1 --episodes 1 --interface polling --policy stand-in"
    " --decomposition milestones",
    "proactor": "run proactor --dialogues 1 --runs 1 --no-curve --questions --timing pace"
    " --speaking-wpm 120 --temperature 0.7 --interface polling:3 --agent asg --token-ms 5"
    " --threshold 0.4",
    "dishes": "run engagement/kitchen --seeds 1 --set case=0 --interface event-driven"
    " --setting multi-dish",
    "kitchen": "run engagement/kitchen --seeds 1 --set case=0 --interface polling"
    " --setting one-dish --no-variants",
    "reasoning": "run timely/reasoning --size 1 --budget 2s",
    "fiction": "run timely/fiction --game skerry --model hasty --budget 30s --latency none",
}


@pytest.fixture(params=RUNS, scope="module")
def record(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / request.param
    command = [*RUNS[request.param].split(), "--workers", "1", "--out", str(out)]
    assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    return next((out / "episodes").glob("*.jsonl"))


def read(path: Path) -> tuple[list[Any], dict[str, Any]]:
    events = list(read_record(path))
    assert isinstance(events[0], EpisodeStarted)
    return events, events[0].settings


def test_an_episode_of_stand_ins_gets_its_words(record: Path) -> None:
    events, settings = read(record)
    full = remake(events, settings, record.parents[1])
    assert isinstance(full, list)
    assert any(isinstance(event, ThoughtChunk) for event in full)
    assert first_difference(events, full) is None


def test_a_record_that_differs_stays_as_it_is(record: Path) -> None:
    events, settings = read(record)
    place = next(i for i, e in enumerate(events) if isinstance(e, ThoughtEnded))
    events[place] = msgspec.structs.replace(events[place], answer="something else")
    assert isinstance(remake(events, settings, record.parents[1]), str)


def test_a_language_model_is_never_asked(record: Path) -> None:
    events, settings = read(record)
    settings["episode"] = {**settings["episode"], "stand_in": False}
    assert isinstance(remake(events, settings, record.parents[1]), str)


@pytest.mark.parametrize("suite", ["engagement/toys", "timely/coding"])
def test_a_suite_that_is_not_played_again_says_why(suite: str, tmp_path: Path) -> None:
    settings = {"suite": suite, "episode": {"stand_in": True}}
    reason = remake([], settings, tmp_path)
    assert reason == _REASONS[suite]
    assert isinstance(reason, str)


def test_a_record_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    assert isinstance(remake([], {}, tmp_path), str)
    settings = {"suite": "mine.py:suite", "episode": {"stand_in": True}}
    assert isinstance(remake([], settings, tmp_path), str)


def test_a_page_with_fill_has_the_words(record: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    command = ["view", str(record.parents[1]), "--fill", "--export", str(out)]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0
