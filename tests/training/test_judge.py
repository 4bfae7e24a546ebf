"""The requests of a training to its judge: estimated, checked, limited and counted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

from click.testing import CliRunner, Result

from tests.servers.fake import Body, FakeServer, Say, Status, Step, Usage
from tests.training.material import checkpoint, file_of
from timeful.cli.train import train
from timeful.errors import BudgetError, ModelRefusedError, SettingsError
from timeful.judges.ruler_prompts import read_attempts
from timeful.models.ledger import read_accounts
from timeful.training.config import Config
from timeful.training.config_io import read_config
from timeful.training.folder import find_logs
from timeful.training.judge import estimate_judge
from timeful.training.report import write_report
from timeful.training.rollout_tasks import make_rollout_tasks

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def start(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "tiny").symlink_to(tiny)
    return tmp_path


def file(start: Path, url: str) -> Path:
    """A training of three updates with two groups of four episodes each."""
    judge = f'[judge]\nmodel = "fake"\nbase_url = "{url}"\n'
    path = file_of(start, more=judge)
    path.write_text(path.read_text().replace("ep_aware", "ruler"))
    return path


def invoke(start: Path, url: str, *options: str) -> Result:
    return CliRunner().invoke(train, [str(file(start, url)), *options], prog_name="timeful train")


def scores(body: Body) -> Sequence[Step]:
    given = [
        {"trajectory_id": number, "explanation": "", "score": int(number) % 3 / 3}
        for number, _ in read_attempts(body["messages"][-1]["content"])
    ]
    return [Say(json.dumps({"scores": given})), Usage(10, prompt=90)]


def test_the_estimate_has_a_group_for_each_case_of_an_update(start: Path) -> None:
    def read(*changes: str) -> Any:
        config = read_config(file(start, "http://127.0.0.1:9/v1"), changes)
        assert isinstance(config, Config)
        return estimate_judge(config, make_rollout_tasks(config))

    expected = read()
    assert (expected.episodes, expected.finished) == (6, 0)
    (line,) = expected.lines
    assert (line.model, line.role) == ("fake", "judge")
    assert 0 < line.completion < line.most == line.requests * 4096
    longer = read("grpo.max_completion_length=112", "cases.token_seconds=0.001")
    added = (longer.lines[0].prompt - line.prompt) / line.requests
    assert added == pytest.approx(4 * 100, rel=0.1), "four attempts, each 100 tokens longer"
    assert read("grpo.num_iterations=2").episodes == 4, "some updates learn from old episodes"
    assert not (start / "out").exists()


def test_a_dry_run_shows_what_the_judge_costs(start: Path) -> None:
    with FakeServer([]) as server:
        result = invoke(start, server.base_url, "--dry-run", "--price", "1,2")
        assert not server.requests
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if str(start) not in line]
    (row,) = (line.split() for line in lines if line.startswith("fake "))
    assert row[:3] == ["fake", "judge", "6"]
    assert max(map(len, lines)) <= 80


def test_a_judge_is_checked_before_a_model_is_loaded(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeful.cli.train._load_empty", None)
    result = invoke(start, "https://api.example.com/v1")
    assert isinstance(result.exception, SettingsError)
    assert "OPENAI_API_KEY" in str(result.exception)
    with FakeServer([Status(401, "no")]) as server:
        assert isinstance(invoke(start, server.base_url).exception, ModelRefusedError)
        assert len(server.requests) == 1
        unpriced = invoke(start, server.base_url, "--max-cost", "1")
        assert isinstance(unpriced.exception, SettingsError)
        assert len(server.requests) == 1
    assert not (start / "out").exists()


def test_options_of_a_judge_are_refused_without_one(start: Path) -> None:
    for options in (["--max-cost", "1"], ["--timeouts", "1,1"], ["--no-key"], ["--yes"]):
        result = CliRunner().invoke(train, [str(file_of(start)), *options])
        assert isinstance(result.exception, SettingsError)


@pytest.mark.slow
def test_a_budget_ends_a_training_and_a_larger_one_resumes_it(start: Path) -> None:
    out = start / "out"
    with FakeServer(scores) as server:
        first = invoke(start, server.base_url, "--max-tokens-total", "350")
        assert isinstance(first.exception, BudgetError)
        assert len(server.requests) == 4, "a probe and three groups of 100 tokens"
        accounts = read_accounts(out)
        assert {line.role: line.requests for line in accounts.expenses} == {"judge": 3, "probe": 1}
        assert not (out / "policy").exists()
        again = invoke(start, server.base_url, "--max-tokens-total", "2000", "--price", "1,2")
        assert again.exit_code == 0, again.output
        assert len(server.requests) == 8, "a probe and the three others"
    assert sum(len(log.read_text().splitlines()) for log in find_logs(out)) == 6
    total = read_accounts(out).total
    assert (total.requests, total.completion) == (8, 80)
    assert "fake" in write_report(out).spending
    assert any(line.split()[:3] == ["fake", "judge", "6"] for line in again.stdout.splitlines())
