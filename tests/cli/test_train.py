"""`timeful train CONFIG.toml`, as a person uses it."""

import json
import os
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("trl", reason="training needs the extra `train`")

from tests.training.material import checkpoint, file_of, metrics
from timeful.cli.main import app
from timeful.cli.train import train
from timeful.cli.train_hints import next_command
from timeful.cli.train_progress import GracefulInterrupt, TrainingProgress
from timeful.errors import SettingsError
from timeful.records.events import EpisodeStarted
from timeful.records.recorder import read_record

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
    lora = invoke(
        str(start / "a.toml"),
        "--dry-run",
        *(
            "--set",
            "model.adapter=lora",
            "--set",
            "model.rank=4",
            "--set",
            "grpo.max_completion_length=20",
        ),
    )
    assert "rank 4, alpha 16" in lora.stdout


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
    assert "1 processes" in said.stdout
    assert invoke(name, "--print").stdout.startswith("# ")


def test_it_trains_says_how_to_go_on_and_is_done_once(start: Path) -> None:
    out = start / "once"
    said = invoke(str(start / "a.toml"), "--set", f"run.out={str(out)!r}")
    assert said.exit_code == 0, (said.output, said.exception)
    assert f"timeful serve {out}/policy" in said.stdout
    [last] = [line for line in said.stderr.splitlines() if line.startswith("3/3")]
    assert re.match(r"3/3, 0 s left: reward \d\.\d+, right in time \d+%, \d+ tokens$", last)
    assert "{'loss'" not in said.stdout
    command = said.stdout.partition("next:")[2].partition("timeful serve")[0]
    words = shlex.split(command.replace("\\\n", " "))
    shown = CliRunner().invoke(app, [*words[1:], "--workers", "1"])
    assert shown.exit_code == 0, (shown.output, shown.exception)
    records = list((start / "once-test" / "episodes").glob("*.jsonl"))
    assert len(records) == 4, "two problems under two budgets"
    for path in records:
        begun = next(read_record(path))
        assert isinstance(begun, EpisodeStarted)
        told = {**begun.settings, **begun.settings["episode"]}
        assert told["most_tokens"] == 12
        assert told["budget"] in ("0.6s", "2s")
        assert told["is_soft"]
    assert len(metrics(out)) == 3
    again = invoke(str(start / "a.toml"), "--set", f"run.out={str(out)!r}")
    assert "is trained already" in again.stderr
    other = invoke(str(start / "a.toml"), "--set", f"run.out={str(out)!r}", "--set", "run.seed=1")
    assert isinstance(other.exception, SettingsError)
    assert "run.seed" in str(other.exception)


def test_who_is_left_alone_says_so_in_a_line(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from timeful.training import grpo

    def train_grpo(*_: Any, **__: Any) -> Path:
        raise RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]")

    monkeypatch.setattr(grpo, "train_grpo", train_grpo)
    said = invoke(str(start / "a.toml"), "--set", f"run.out={str(start / 'alone')!r}")
    assert said.exit_code == 1
    assert said.stderr.splitlines()[-1] == "timeful: another process of this training has ended"


def test_who_interrupts_is_told_how_to_go_on(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from timeful.training import grpo

    def interrupted(*args: Any, observer: Any, **others: Any) -> Path:
        observer.advance(1, 4)
        raise KeyboardInterrupt

    monkeypatch.setattr(grpo, "train_grpo", interrupted)
    said = invoke(str(start / "a.toml"), "--set", f"run.out={str(start / 'stopped')!r}")
    assert said.exit_code == 130
    assert "1 of 4 updates done; the same command starts again" in said.stderr


def test_weights_and_biases_without_a_login_is_said_in_a_line(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from timeful.training import grpo

    class UsageError(Exception):
        __module__ = "wandb.errors.errors"

    def train_grpo(*_: Any, **__: Any) -> Path:
        raise UsageError("No API key configured.")

    monkeypatch.setattr(grpo, "train_grpo", train_grpo)
    said = invoke(str(start / "a.toml"), "--set", f"run.out={str(start / 'wandb')!r}")
    assert isinstance(said.exception, SettingsError)
    assert "No API key configured. Or keep its numbers here" in str(said.exception)


def after(seconds: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let updates end at these instants."""
    instants = iter(round(one * 1e9) for one in seconds)
    monkeypatch.setattr("timeful.core.clock.monotonic_ns", lambda: next(instants))


@pytest.mark.parametrize(("each", "lines"), [(1.0, 10), (5.5, 19)])
def test_a_slow_update_has_a_line_of_its_own_with_the_time_that_is_left(
    each: float,
    lines: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    after([n * each for n in range(20)], monkeypatch)
    progress = TrainingProgress(tmp_path, GracefulInterrupt(is_loud=True))
    for done in range(1, 21):
        progress.advance(done, 20)
        progress.report("reward 0.5" + ", and much more" * 9)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == lines, "how long the first one took is not known"
    assert said[0].startswith(f"2/20, {'18 s' if each == 1 else '2 min'} left: reward 0.5")
    assert said[-1].startswith("20/20, 0 s left")
    assert max(map(len, said)) <= 79
    assert not any("\r" in line for line in said)


def test_on_a_terminal_a_bar_stays_below_the_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    after([0.0, 1.0, 2.0], monkeypatch)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = TrainingProgress(tmp_path, GracefulInterrupt(is_loud=True))
    for done in (1, 2):
        progress.advance(done, 20)
        progress.report("reward 0.5")
    progress.warn("look")
    progress.end_bar()
    shown = [line.rpartition("\r")[2].rstrip() for line in capsys.readouterr().err.split("\n")]
    assert shown == ["2/20, 18 s left: reward 0.5", "warning: look", ""]


def test_the_first_control_c_waits_for_the_update_and_the_second_does_not(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with GracefulInterrupt(is_loud=True) as interrupt:
        with pytest.raises(KeyboardInterrupt):
            press()  # nothing is learnt yet
        assert not interrupt.should_stop()
        press()
        assert interrupt.should_stop()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr().err.count("Ctrl-C again stops at once") == 1


def test_a_training_that_is_stopped_writes_a_checkpoint_and_comes_to_the_same_bytes(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ("run.save_steps=50", "grpo.max_steps=6", "grpo.num_iterations=2")
    options = [part for one in changes for part in ("--set", one)]

    def run(name: str) -> Result:
        return invoke(str(start / "a.toml"), *options, "--set", f"run.out={str(start / name)!r}")

    assert run("unbroken").exit_code == 0
    advance = TrainingProgress.advance

    def pressed(self: TrainingProgress, done: int, of: int) -> None:
        advance(self, done, of)
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "advance", pressed)
        said = run("broken")
    assert said.exit_code == 130
    # A batch is learnt from twice, and a checkpoint is not written in between.
    assert "4 of 6 updates done; the same command resumes from the last" in said.stderr
    assert not (start / "broken" / "policy").exists()
    assert run("broken").exit_code == 0
    assert metrics(start / "broken") == metrics(start / "unbroken")
    weights = [start / n / "policy" / "model.safetensors" for n in ("broken", "unbroken")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_what_comes_next_are_the_cases_it_learnt_from_on_the_other_side(start: Path) -> None:
    from timeful.training.config_io import read_config

    def next_of(*changes: str) -> list[str]:
        command = next_command(read_config(start / "a.toml", changes), Path("it") / "policy")
        # A path is not broken: it may be as long as the folder of the tests makes it.
        lines = [line for line in command.splitlines() if str(start) not in line]
        assert max(map(len, lines)) <= 79
        return shlex.split(command.replace("\\\n", " "))

    words = " ".join(next_of("cases.sets=['mixed','levels:8']", "cases.size=900"))
    assert "--pace it/pace.json --case mixed --case levels:8 --size 50 --split test" in words
    assert words.endswith("--soft --calls text --max-tokens 12 --out it-test")
    words = " ".join(
        next_of(
            *("cases.problems='a b.jsonl'", "cases.split=test", "cases.soft=false"),
            *("cases.alphas=[0.5]", "cases.timer_scales=[0.9, 1.1]", "cases.timer_jitter=0.1"),
        )
    )
    assert f"--problems {start}/a b.jsonl --size 2 --split train --budget 0.6s" in words
    assert "--budget 2s --alpha 0.5 --timer-jitter 0.1 --calls" in words
    assert "--split" not in next_of("cases.split=all")
    words = " ".join(next_of("cases.family=fiction", "cases.sets=['skerry']"))
    assert "timely/fiction" in words
    assert "--game skerry --budget" in words
    file_of(start, "turns.toml", cases='kind = "turns"\nagent = "reasoning-asg"\nasks = true')
    turns = next_command(read_config(start / "turns.toml"), Path("it") / "policy")
    words = " ".join(shlex.split(turns.replace("\\\n", " ")))
    assert "timeful run proactor --model local:it/policy --pace it/pace.json" in words
    assert "--agent reasoning-asg --domain shop --dialogues 20 --timing by-turn" in words
    assert words.endswith("--runs 1 --questions --out it-test")
