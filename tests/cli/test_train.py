"""`timeful train CONFIG.toml`, as a person uses it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("trl", reason="training needs the extra `train`")

from tests.training.material import checkpoint, file_of, metrics
from timeful.cli.train import Told, train
from timeful.errors import SettingsError

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    checkpoint(folder / "tiny")
    file_of(folder)
    return folder


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(train, arguments, prog_name="timeful train")


def test_a_dry_run_says_what_would_run_and_writes_nothing(start: Path) -> None:
    said = invoke(str(start / "a.toml"), "--dry-run")
    assert said.exit_code == 0, said.output
    lines = said.stdout.splitlines()
    own = [line for line in lines if str(start) not in line]
    assert max(map(len, own)) <= 80
    assert "3 updates, 24 episodes" in said.stdout
    assert "4 reasoning" in said.stdout
    assert "The first prompt, " in said.stdout
    assert "(100.00%)" in said.stdout
    assert not (start / "out").exists()
    assert "beyond the context" not in said.stdout
    lora = invoke(
        str(start / "a.toml"),
        "--dry-run",
        *("--set", "model.adapter=lora", "--set", "model.rank=4", "--set", "rollout.max_tokens=96"),
    )
    assert "beyond the context of 96" in lora.stdout
    assert "rank 4, alpha 16" in lora.stdout
    assert "lora_A 4 x " in lora.stdout


@pytest.mark.parametrize("name", ["ep", "timely", "proactor"])
def test_the_recipes_of_the_papers_run_dry(start: Path, name: str) -> None:
    pytest.importorskip("sklearn", reason="problems are checked with the extra `timely`")
    changes = [f"model.path={str(start / 'tiny')!r}", "model.quantise=none", "rollout.cases=2"]
    if name == "ep":
        problems = [{"question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(9)]
        (start / "p.jsonl").write_text("".join(json.dumps(one) + "\n" for one in problems))
        changes += [f"cases.problems={str(start / 'p.jsonl')!r}"]
    else:
        changes += ["cases.size=2"]
    said = invoke(name, "--dry-run", *(part for one in changes for part in ("--set", one)))
    assert said.exit_code == 0, (said.output, said.exception)
    assert "samples, 1 process" in said.stdout
    assert invoke(name, "--print").stdout.startswith("# ")


def test_a_file_that_is_not_there_is_named_with_the_settings_that_are(start: Path) -> None:
    said = invoke("quik.toml")
    assert isinstance(said.exception, SettingsError)
    assert "ep, proactor, quick, timely. Did you mean 'quick'?" in str(said.exception)


def test_it_trains_says_how_to_go_on_and_is_done_once(start: Path) -> None:
    out = start / "once"
    said = invoke(str(start / "a.toml"), "--set", f"run.out={str(out)!r}")
    assert said.exit_code == 0, (said.output, said.exception)
    assert f"timeful run timely/reasoning --split test --model local:{out}/policy" in said.stdout
    assert f"timeful serve {out}/policy" in said.stdout
    assert "3 of 3 updates" in said.stderr
    assert len(metrics(out)) == 3
    again = invoke(str(start / "a.toml"), "--set", f"run.out={str(out)!r}")
    assert "is trained already" in again.stderr
    other = invoke(str(start / "a.toml"), "--set", f"run.out={str(out)!r}", "--set", "run.seed=1")
    assert isinstance(other.exception, SettingsError)
    assert "run.seed" in str(other.exception)


def test_two_trainings_in_one_folder_are_kept_apart(start: Path) -> None:
    from timeful.runs.lock import locked

    out = start / "busy"
    with locked(out):
        said = invoke(str(start / "a.toml"), "--set", f"run.out={str(out)!r}")
    assert isinstance(said.exception, SettingsError)
    assert "another process" in str(said.exception)


def test_who_interrupts_is_told_how_to_go_on(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from timeful.training import learning

    def interrupted(*args: Any, progress: Any, **others: Any) -> Path:
        progress(1, 4)
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "learn", interrupted)
    said = invoke(str(start / "a.toml"), "--set", f"run.out={str(start / 'stopped')!r}")
    assert said.exit_code == 130
    assert "1 of 4 updates were done; the same command begins anew" in said.stderr


def test_weights_and_biases_without_a_login_is_said_in_a_line(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from timeful.training import learning

    class UsageError(Exception):
        __module__ = "wandb.errors.errors"

    def learn(*_: Any, **__: Any) -> Path:
        raise UsageError("No API key configured.")

    monkeypatch.setattr(learning, "learn", learn)
    said = invoke(str(start / "a.toml"), "--set", f"run.out={str(start / 'wandb')!r}")
    assert isinstance(said.exception, SettingsError)
    assert "No API key configured. Or keep its numbers here" in str(said.exception)


def test_progress_says_the_time_that_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Told(tmp_path)
    for done in range(1, 21):
        told.advance(done, 20)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "2 of 20 updates, 0 s left"
    assert len(said) == 10
