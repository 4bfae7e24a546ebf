"""`timeful metrics proactor RECORDS`: everything again from records alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.agents.proactive.material import PAY, Played
from tests.environments.dialogue.material import talk
from timeful.cli.main import app
from timeful.core.source import Chunk
from timeful.core.units import seconds
from timeful.environments.dialogue.timing import Stamped
from timeful.errors import RecordError
from timeful.metrics.proactor.episodes import score_conversations
from timeful.models.pace import Pace
from timeful.models.scripted import ScriptedModel
from timeful.records.recorder import Recorder


def timeful(*arguments: object) -> str:
    run = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if run.exception is not None:
        raise run.exception
    return run.output


@pytest.fixture
def played(tmp_path: Path) -> list[Played]:
    """Two conversations, of which the model of the second is too slow for the first turn."""
    found = []
    for name, span in (("a", 2), ("b", 7)):
        recorder = Recorder(tmp_path / "run" / "episodes" / f"{name}.jsonl")
        model = ScriptedModel(
            lambda _, span=span: [Chunk(PAY, span)],  # type: ignore[misc]
            pace=Pace(per_token=seconds(1)),
        )
        found.append(Played(model, talk(0.0, 5.0, 14.0), Stamped(), recorder=recorder))
        recorder.close()
    return found


def test_a_run_is_scored_again_from_its_records(tmp_path: Path, played: list[Played]) -> None:
    found: dict[str, Any] = json.loads(timeful("metrics", "proactor", tmp_path / "run", "--json"))
    again = score_conversations([one.conversed for one in played])
    assert found["ac"] == again.means.means["ac"] is not None
    assert {name: found[name] for name in ("n_turns", "n_skipped", "n_lost", "n_lost_late")} == {
        "n_turns": 6,
        "n_skipped": 1,
        "n_lost": 1,
        "n_lost_late": 1,
    }
    assert (found["n_late"], found["n_empty"], found["n_dialogues"]) == (1, 0, 2)
    files = sorted((tmp_path / "run" / "episodes").glob("*"))
    assert json.loads(timeful("metrics", "proactor", *files, "--json")) == found
    assert json.loads(timeful("metrics", "proactor", files[0].parent, "--json")) == found


def test_its_turns_can_be_scored_by_the_command_for_turns(
    tmp_path: Path, played: list[Played]
) -> None:
    turns = tmp_path / "turns.jsonl"
    said = json.loads(timeful("metrics", "proactor", tmp_path / "run", "--turns", turns, "--json"))
    other = json.loads(timeful("metrics", "proactor-turns", turns, "--json"))
    assert other == {name: said[name] for name in other}


def test_a_record_that_is_named_twice_is_one_conversation(
    tmp_path: Path, played: list[Played]
) -> None:
    run = tmp_path / "run"
    found = timeful("metrics", "proactor", run)
    assert timeful("metrics", "proactor", run, run / "episodes", run / "episodes/a.jsonl") == found


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no record in"):
        timeful("metrics", "proactor", tmp_path)
    (tmp_path / "half.jsonl").touch()
    with pytest.raises(RecordError, match=r"^half.jsonl: .*complete"):
        timeful("metrics", "proactor", tmp_path)
    with pytest.raises(RecordError, match="does not exist"):
        timeful("metrics", "proactor", tmp_path / "no.jsonl")
