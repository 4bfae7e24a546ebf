"""Programs as agents on the command line."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.agents.program.scripts import CLIENT, PLAYER
from timeful.agents.program.name import make_name, read_name, short_name
from timeful.cli.main import app
from timeful.errors import SettingsError
from timeful.records.recorder import read_record, record_hash
from timeful.records.summary import summarize

SNAKE = ("--game", "snake", "--difficulty", "easy", "--seeds", "1", "--samples", "1", "load")
INBOX = ("--interface", "event-driven", "--decomposition", "single", "--seeds", "1")
CLERK = """
state = tool("wait")
while not state["over"]:
    email = re.search(r"email (\\d+): high", state["view"])
    state = tool("act", action=f"handle {email[1]}") if email else tool("wait", seconds=20)
"""


def run(suite: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", suite, *arguments, "--workers", "1"])


def write(folder: Path, script: str) -> str:
    path = folder / "player.py"
    path.write_text(CLIENT + script)
    return f"{sys.executable} -I -S {path}"


def hashes(out: Path) -> list[str]:
    return [record_hash(read_record(path)) for path in sorted(out.glob("episodes/*.jsonl"))]


@pytest.mark.slow
def test_a_program_plays_in_a_suite_next_to_an_agent(tmp_path: Path) -> None:
    command = write(tmp_path, PLAYER)
    outs = [tmp_path / "one", tmp_path / "two"]
    for out in outs:
        result = run(
            *("realtime", *SNAKE, "--program", command, "--agent", "reactive", "--out", str(out))
        )
        assert result.exit_code == 0, result.output
    assert hashes(outs[0]) == hashes(outs[1])
    rows = [summarize(read_record(path)) for path in outs[0].glob("episodes/*.jsonl")]
    assert {row.agent.partition(".")[0] for row in rows} == {"player", "reactive"}
    assert len({row.score for row in rows}) == 1, "its model and moves are those of `reactive`"


@pytest.mark.slow
def test_a_program_that_fails_fails_its_episode_and_the_run_goes_on(tmp_path: Path) -> None:
    result = run(
        *("realtime", *SNAKE, "--program", write(tmp_path, "sys.exit(3)"), "--agent", "reactive"),
        *("--out", str(tmp_path / "run")),
    )
    assert result.exit_code == 1
    assert "exit code 3" in result.output
    assert "1 of 2 episodes" in result.output


@pytest.mark.slow
def test_a_program_works_in_the_inbox(tmp_path: Path) -> None:
    outs = [tmp_path / "one", tmp_path / "two"]
    for out in outs:
        result = run(
            *("engagement/inbox", *INBOX, "--set", "episode=0", "--out", str(out)),
            *("--program", write(tmp_path, CLERK)),
        )
        assert result.exit_code == 0, result.output
    assert hashes(outs[0]) == hashes(outs[1])
    assert "single, player" in result.output


@pytest.mark.slow
def test_a_changed_program_is_another_run(tmp_path: Path) -> None:
    arguments = ("realtime", *SNAKE, "--out", str(tmp_path / "run"), "--program")
    assert run(*arguments, write(tmp_path, "")).exit_code == 0
    result = run(*arguments, write(tmp_path, "tool('look')"))
    assert isinstance(result.exception, SettingsError)
    assert "player.py" in str(result.exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--program", "no-such-program"),
        ("--program", " "),
        ("--program", sys.executable, "--lanes", "0"),
        ("--lanes", "2"),
        ("--agent", "program:"),
        ("--agent", "program@0:python"),
        ("--agent", "program:no-such-program"),
    ],
)
def test_bad_programs_are_one_line_before_anything_runs(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    result = run("realtime", *SNAKE, *arguments, "--out", str(tmp_path / "run"))
    assert isinstance(result.exception, SettingsError)
    assert len(str(result.exception).splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_name_holds_the_command_and_the_lanes() -> None:
    name = make_name(f"{sys.executable} 'my agent.py' --fast", lanes=3)
    made = read_name(name)
    assert (made.command, made.lanes) == ((sys.executable, "my agent.py", "--fast"), 3)
    assert short_name(f"program:{sys.executable} my_agent.py") == "my_agent"
    assert short_name(name).startswith("my_agent.")
    with pytest.raises(SettingsError):
        read_name("program@2:")
