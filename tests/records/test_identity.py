"""A replay of an episode has the hash of the episode."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.servers.fake import FakeServer, Say
from timeful.cli.main import app
from timeful.models.kinds import KINDS
from timeful.records.identity import SOURCES, identity

RUNS = {
    "realtime": "--game freeway --difficulty easy --agent reactive --seeds 1 --samples 1",
    "engagement/inbox": "--decomposition single --interface loop --seeds 1 --episodes 1",
    "timely/reasoning": "--case sums --size 1 --budget 20s",
    "proactor": "--dialogues 1 --runs 1 --agent non-reasoning",
}


def answer(body: dict[str, Any]) -> Iterator[Say]:
    yield Say("\\boxed{U}")


def hashes(suite: str, out: Path, *arguments: str) -> list[str]:
    arguments = (*RUNS[suite].split(), *arguments, "--out", str(out), "--workers", "1")
    result = CliRunner().invoke(app, ["run", suite, *arguments], env={"OPENAI_API_KEY": "none"})
    assert result.exit_code == 0, result.output
    with (out / "episodes.csv").open() as file:
        return [row["sha256"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("suite", RUNS)
def test_a_replay_has_the_hashes_of_the_run_that_it_replays(suite: str, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with FakeServer(answer) as server:
        endpoint = ("--model", "openai:m", "--base-url", server.base_url, "--temperature", "0.3")
        live = hashes(suite, tmp_path / "live", *endpoint, "--record", str(tape))
    assert hashes(suite, tmp_path / "again", "--model", f"replay:{tape}") == live


def test_settings_of_a_stand_in_are_covered_as_they_are() -> None:
    settings = {"key": "a", "temperature": 0.3, "model": {"spec": "rules"}, "text": "no: thing"}
    assert identity(settings) == settings


def test_two_settings_of_one_endpoint_differ() -> None:
    first, second = ({"model": {"spec": "openai:m"}, "budget": budget} for budget in (1, 2))
    assert identity(first) != identity(second)


def test_every_kind_of_endpoint_is_a_source_of_words() -> None:
    assert {*SOURCES} == {name for name, kind in KINDS.items() if kind.is_live} | {"replay"}
