"""`timeful rewards NAME RECORDS`: what training would make of a run, from its records alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.rewards.material import RIGHT, WRONG, failed, one, says, talk, task
from timeful.cli.main import app
from timeful.errors import RecordError, RewardError, SettingsError
from timeful.records.events import Entry
from timeful.records.recorder import Recorder
from timeful.rewards.registry import Reward


def timeful(*arguments: object) -> str:
    run = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if run.exception is not None:
        raise run.exception
    return run.output


def write(path: Path, events: list[Entry]) -> None:
    recorder = Recorder(path)
    for event in events:
        recorder.write(event)
    recorder.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of three episodes: 0.8 by the timely reward, 0.1, and one that failed."""
    folder = tmp_path / "run" / "episodes"
    write(folder / "a.jsonl", task(RIGHT, counted=10, budget=30))
    write(folder / "b.jsonl", task(WRONG, budget=30))
    write(folder / "c.jsonl", failed(task(RIGHT, budget=30)))
    return tmp_path / "run"


def test_a_run_is_scored_and_what_failed_is_in_no_mean(run: Path) -> None:
    found: dict[str, Any] = json.loads(timeful("rewards", "timely", run, "--json"))
    assert found.pop("mean") == pytest.approx(0.45)
    rewards = {one["record"]: one["reward"] for one in found.pop("records")}
    assert rewards == {"a": pytest.approx(0.8), "b": 0.1, "c": None}
    assert found.pop("by_budget") == {"30ns": pytest.approx(0.45)}
    assert found == {
        "reward": "timely",
        "parameters": dict(Reward(name="timely").all_parameters),
        "n_rewarded": 2,
        "n_without": 1,
    }
    said = timeful("rewards", "timely", run / "episodes", run / "episodes" / "a.jsonl")
    assert said.splitlines() == [
        "  0.8000  a",
        "  0.1000  b",
        "       -  c",
        "  0.4500  mean of 2; 1 without a reward",
    ]


def test_a_training_has_a_folder_for_each_update(tmp_path: Path) -> None:
    episodes = tmp_path / "out" / "episodes"
    write(episodes / "00000" / "a.jsonl", task(WRONG))
    write(episodes / "00001" / "b.jsonl", task(RIGHT))
    for folder, mean in ((tmp_path / "out", 0.5), (episodes, 0.5), (episodes / "00001", 1.0)):
        assert json.loads(timeful("rewards", "correctness", folder, "--json"))["mean"] == mean


def test_a_mean_of_agents_or_budgets_that_differ_says_so(tmp_path: Path) -> None:
    for name, latency in (("a", "none"), ("b", "none"), ("c", "slow")):
        write(tmp_path / f"{name}.jsonl", task(RIGHT, who="rules", run=name, latency=latency))
    alike = timeful("rewards", "timely", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert "mixed" not in alike, "runs of the same are what a mean is for"
    assert "2 agents or paces are mixed" in timeful("rewards", "timely", tmp_path)


def test_each_budget_has_a_mean_of_its_own(tmp_path: Path) -> None:
    for name, budget, facts in (
        ("a", 20, RIGHT),
        ("b", 20, WRONG),
        ("c", 9, RIGHT),  # which takes 10, and so is late
        ("d", 100, RIGHT),
    ):
        events = task(facts, budget=budget, who="rules")
        write(tmp_path / f"{name}.jsonl", events)
    said = timeful("rewards", "ep_aware", tmp_path)
    assert said.splitlines()[4:] == [
        "  0.5000  mean of 4; 0 without a reward",
        "  0.0000  mean of 1, budget 9ns",
        "  0.5000  mean of 2, budget 20ns",
        "  1.0000  mean of 1, budget 100ns",
    ]
    found = json.loads(timeful("rewards", "ep_aware", tmp_path, "--json"))
    assert found["by_budget"] == {"9ns": 0.0, "20ns": 0.5, "100ns": 1.0}


def test_a_reward_of_ones_own_is_asked(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def of(events, *, by=1.0, keep=True):\n    return by if keep else 1 / 0\n")
    found = json.loads(timeful("rewards", f"{path}:of", run, "--set", "by=0.3", "--json"))
    assert (found["mean"], found["n_rewarded"], found["n_without"]) == (0.3, 2, 1)
    assert found["parameters"] == {"by": 0.3, "keep": True}
    with pytest.raises(RewardError, match=r"^a\.jsonl: .*mine\.py:of, line 2: ZeroDivisionError"):
        timeful("rewards", f"{path}:of", run, "--set", "keep=false")


def test_parameters_progress_and_turn_are_taken(run: Path, tmp_path: Path) -> None:
    # 0.1 + 0.5 + 1 x 0.5
    found = json.loads(
        timeful("rewards", "timely", run / "episodes" / "a.jsonl", "--set", "lambda=1", "--json")
    )
    assert found["mean"] == pytest.approx(1.1)
    assert found["parameters"]["lambda"] == 1.0
    ready = one("open", "ready_to_trigger", "Ada")
    write(tmp_path / "talk.jsonl", talk((says(1, ready), (ready,)), (None, (ready,))))
    for arguments, mean in (((), 0.5), (("--turn", 1), 1.0), (("--turn", 2), 0.0)):
        said = timeful("rewards", "rac_score", tmp_path / "talk.jsonl", *arguments, "--json")
        assert json.loads(said)["mean"] == mean
    # The last third: 0.6 RAC - 0.4 FTR; open is never ready in this conversation: FTR is 1.
    staged = ("--turn", 1, "--progress", 0.9, "--json")
    said = timeful("rewards", "adaptive_metric_score", tmp_path / "talk.jsonl", *staged)
    assert json.loads(said)["mean"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("timly",), "Did you mean 'timely'"),
        (("timely", "--set", "lambda"), "PARAMETER=VALUE"),
        (("timely", "--set", "=1"), "PARAMETER=VALUE"),
        (("timely", "--set", "lambda=x"), "must be a number from 0 to 1, got 'x'"),
        (("timely", "--set", "lambda=2"), "from 0 to 1"),
        (("ruler",), "needs a judge, which scores whole groups"),
        (("adaptive_metric_score",), "progress of training"),
        (("timely", "--progress", "0.5"), "has no effect"),
        (("timely", "--turn", "1"), "no turn 1"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    run: Path, arguments: tuple[str, ...], reason: str
) -> None:
    name, *options = arguments
    with pytest.raises(SettingsError, match=reason):
        timeful("rewards", name, run, *options)


def test_a_record_of_something_else_is_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"^a\.jsonl: "):
        timeful("rewards", "rac_score", run)
    (tmp_path / "torn.jsonl").write_text("{")
    with pytest.raises(RecordError, match=r"^torn\.jsonl, line 1: "):
        timeful("rewards", "rac_score", tmp_path / "torn.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match="no record in"):
        timeful("rewards", "timely", tmp_path / "empty")
