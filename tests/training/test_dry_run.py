"""A dry run says what would run, and what can hardly be meant; without its model, all the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

from click.testing import CliRunner, Result

from tests.training.material import checkpoint, config, file_of, metrics
from tests.training.talker import talker
from timeful.cli.train import train
from timeful.errors import SettingsError
from timeful.training import loading
from timeful.training.checks import budget_tokens, check_settings
from timeful.training.config import (
    CasesPart,
    Config,
)
from timeful.training.config_io import recipes

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

ROW = {"prompt": "say 3", "completion": "answer 3"}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    checkpoint(folder / "tiny")
    talker(folder / "talker")
    file_of(folder)
    (folder / "sft.toml").write_text(
        '[model]\npath = "talker"\nadapter = "full"\ndtype = "float32"\n'
        '[examples]\ndata = ["d.jsonl"]\nbatch = 2\n[sft]\nnum_train_epochs = 3\n'
        '[run]\nout = "sft"\nthreads = 1\n'
    )
    (folder / "d.jsonl").write_text((json.dumps(ROW) + "\n") * 3)
    return folder


def invoke(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(train, arguments, env=environment, prog_name="timeful train")


def flat(text: str) -> str:
    return " ".join(text.split())


def training(start: Path, **cases: Any) -> Config:
    part = {"sets": ("levels:8",), "budgets": ("0.6s", "2s"), "token_seconds": 0.1, **cases}
    return config(start / "tiny", start / "out", cases=CasesPart(**part))


# --- what a budget is -----------------------------------------------------------------------------


def test_a_budget_is_as_many_tokens_as_fit_in_it(start: Path) -> None:
    part = training(start, budgets=("0.29s", "0.3s", "2s"), alphas=(2.0, 0.5)).cases
    assert isinstance(part, CasesPart)
    assert [(str(budget), few, many) for budget, few, many in budget_tokens(part)] == [
        ("0.29s", 1, 5),
        ("0.3s", 1, 6),
        ("2s", 10, 40),
    ]
    [(_, few, _)] = budget_tokens(CasesPart(budgets=("1.1s",), alphas=(1.1,)))
    assert few == 1000  # exactly, which floats miss


def test_a_budget_shorter_than_a_token_is_refused(start: Path) -> None:
    with pytest.raises(SettingsError, match=r"0\.6s"):
        check_settings(training(start, token_seconds=1.0))
    check_settings(training(start, token_seconds=1.0, alphas=(0.6,)))


# --- examples -------------------------------------------------------------------------------------


def test_a_dry_run_by_examples_counts_what_the_training_does(start: Path) -> None:
    said = invoke(str(start / "sft.toml"), "--dry-run")
    assert said.exit_code == 0, said.output
    words = flat(said.stdout)
    assert "3 of 7 tokens, the longest of 7" in words
    assert "6 updates" in words
    assert "The first example, 7 tokens: <user> say 3 <assistant> answer 3" in words
    assert "warning" not in words
    assert not (start / "sft").exists()
    real = invoke(str(start / "sft.toml"))
    assert real.exit_code == 0, real.output
    assert len(metrics(start / "sft")) == 6


def test_a_dry_run_by_examples_says_what_is_cut_unknown_or_too_long(start: Path) -> None:
    strange = {"prompt": "zebra", "completion": "quagga answer"}
    long = {"prompt": "say 1", "completion": "answer " * 5000}
    (start / "e.jsonl").write_text(json.dumps(strange) + "\n" + json.dumps(long) + "\n")
    data = [
        "--dry-run",
        "--set",
        f"run.out={str(start / 'e')!r}",
        "--set",
        f"examples.data=[{str(start / 'e.jsonl')!r}]",
    ]
    said = flat(invoke(str(start / "sft.toml"), *data).stdout)
    assert "more than the model's context of 4,096: set sft.max_length" in said
    assert "are <unk>" not in said  # 2 of 5000
    cut = flat(invoke(str(start / "sft.toml"), *data, "--set", "sft.max_length=10").stdout)
    assert "1 examples were cut to 10 tokens" in cut
    assert "12.5% of the tokens of the examples are <unk>" in cut
    real = invoke(str(start / "sft.toml"), *data[1:], "--set", "sft.num_train_epochs=1")
    assert "warning: the longest example has 5,005 tokens" in real.stderr


def test_an_end_that_stands_for_the_unknown_too_is_not_counted() -> None:
    from types import SimpleNamespace

    from timeful.training.examples import _unknown_token

    names = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
    for unknown, counted in ((None, -1), (1, -1), (2, -1), (3, -1), (0, 0), (7, 7)):
        assert _unknown_token(SimpleNamespace(unk_token_id=unknown, **names)) == counted


# --- what is not there ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", recipes())
def test_every_recipe_has_cases_and_runs_dry_without_its_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError("no route")

    monkeypatch.setattr(loading.hub.HfApi, "model_info", unreachable)
    monkeypatch.chdir(tmp_path)
    result = invoke(name, "--dry-run", "--set", "rollout.cases=2", "--set", "cases.size=2")
    assert isinstance(result.exception, SettingsError)
    assert "Qwen/Qwen" in str(result.exception)
    assert "The first prompt, before" in result.stdout
    real = invoke(name)
    assert isinstance(real.exception, SettingsError)
    assert not real.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", ["many", "0", ""])
def test_a_number_of_processes_that_is_none_is_said(start: Path, size: str) -> None:
    said = invoke(str(start / "a.toml"), "--dry-run", WORLD_SIZE=size)
    assert isinstance(said.exception, SettingsError)
    assert f"got {size!r}" in str(said.exception)
