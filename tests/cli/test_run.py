"""`timeful run`, as a person and as a script use it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from timeful.cli.main import main
from timeful.cli.suite_command import load_command
from timeful.errors import KernelError, SettingsError
from timeful.records.recorder import read_record, record_hash

SMALL = ["run", "realtime", "--game", "freeway", "--difficulty", "easy", "--step", "8192"]


def timeful(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "timeful", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hashes(out: Path) -> dict[str, str]:
    return {
        path.stem: record_hash(read_record(path)) for path in (out / "episodes").glob("*.jsonl")
    }


@pytest.mark.slow
def test_a_run_ends_with_a_table_the_report_and_what_to_try_next(tmp_path: Path) -> None:
    run = timeful(*SMALL, "--seeds", "2", "--samples", "1", "--out", str(tmp_path / "run"))
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert max(map(len, lines[:-4])) <= 80
    assert "Stand-in: search reasoner, no language model was run." in lines
    assert [line.split()[0] for line in lines[-4:]] == ["report", "records", "next", "look"]
    assert run.stderr.splitlines()[-1] == "6 of 6 episodes"
    for name in ("report.html", "results.json", "table.csv", "episodes.csv", "settings.json"):
        assert (tmp_path / "run" / name).stat().st_size > 0


@pytest.mark.slow
def test_killed_with_kill_9_and_given_again_it_is_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    arguments = [*SMALL, "--seeds", "6", "--samples", "2"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert timeful(*arguments, "--workers", "1", "--out", str(whole)).returncode == 0
    command = [sys.executable, "-m", "timeful", *arguments, "--workers", "2", "--out", str(killed)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.stderr.readline()  # the first tenth is done
        process.send_signal(signal.SIGKILL)
    before = {path: path.stat().st_ino for path in (killed / "episodes").glob("*.jsonl")}
    assert 0 < len(before) < 36
    assert timeful(*arguments, "--workers", "2", "--out", str(killed)).returncode == 0
    assert {path: path.stat().st_ino for path in before} == before, "none was played twice"
    assert hashes(killed) == hashes(whole)
    assert (killed / "report.html").read_bytes() == (whole / "report.html").read_bytes()
    assert (killed / "results.json").read_bytes() == (whole / "results.json").read_bytes()


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    arguments = [*SMALL, "--seeds", "8", "--samples", "8", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "timeful", *arguments, "--workers", "2"]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A shell lets its background jobs ignore Ctrl-C, and so would whoever they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "the same command resumes the run" in said
    assert "Traceback" not in said
    assert list((tmp_path / "episodes").glob("*.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["lode"], "load"),
        (["--agent", "agil"], "agile"),
        (["--preset", "fast"], "fast"),
        (["--clock", "paced", "--step", "1000"], "calibrate"),
        (["--model", "openai:x"], "--base-url"),
        (["--model", "gpt"], "gpt"),
        (["--workers", "0"], "0"),
        (["--seeds", "9", "--game", "freeway"], "0 to 7"),
        (["--reserve", "0", "--agent", "agile"], "reserve"),
        (["--pace", "nowhere.json", "--clock", "paced"], "nowhere.json"),
        (["--time-scale", "0", "--clock", "wall"], "0"),
        (["--agent", "nowhere.py:agent"], "nowhere.py"),
        (["--sweep", "colour=red"], "colour"),
    ],
)
def test_bad_input_is_one_clear_line_before_anything_runs(
    tmp_path: Path,
    arguments: list[str],
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setattr(sys, "argv", ["timeful", "run", "realtime", *arguments, "--out", str(out)])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    assert left.value.code == 2
    assert value in said.err
    assert len(said.err.splitlines()) == 1
    assert not said.out
    assert not (out / "episodes").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--temperature", "1"],
        ["--record", "tape.jsonl"],
        ["--base-url", "http://localhost:1/v1"],
        ["--planner", "search", "--agent", "reactive"],
        ["--reactor", "search", "--agent", "planning"],
        ["--model", "search", "--planner", "search", "--reactor", "search"],
        ["--budget", "3", "--agent", "agile"],
        ["--reserve", "3", "--agent", "planning"],
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    tmp_path: Path, arguments: list[str]
) -> None:
    environment = {"OPENAI_BASE_URL": "http://localhost:1/v1"}  # which is for whoever needs it
    run = CliRunner().invoke(
        load_command("realtime"), [*arguments, "--out", str(tmp_path / "run")], env=environment
    )
    assert isinstance(run.exception, SettingsError)
    assert arguments[0] in str(run.exception)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_report_and_a_record_can_be_read_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    timeful(*SMALL, "--seeds", "1", "--samples", "1", "--out", str(out))
    page = (out / "report.html").read_bytes()
    assert timeful("report", str(out)).returncode == 0
    assert (out / "report.html").read_bytes() == page
    record = next((out / "episodes").glob("*agile*.jsonl"))
    shown = timeful("show", str(record))
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[0].split()[1] == "episode-started"
    nowhere = timeful("report", str(tmp_path))
    assert (nowhere.returncode, nowhere.stdout) == (2, "")


def test_a_broken_timeline_is_told_as_a_bug_with_all_that_helps_to_find_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise KernelError("it came to rest (in episode x)")

    monkeypatch.setattr("timeful.cli.main.app", broken)
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr().err
    assert left.value.code == 70
    assert "in broken" in said, "the traceback"
    assert "in episode x" in said
    assert said.splitlines()[-1].startswith("timeful: the timeline broke, which is a bug")


def test_a_reader_that_has_gone_is_no_error() -> None:
    command = f"{sys.executable} -m timeful list | head -1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert run.stdout.split()[:2] == ["worlds", "freeway,"]
    assert not run.stderr
