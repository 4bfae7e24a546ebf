"""`timeful show` and `timeful list`, as a person uses them."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from timeful import Prompt, ScriptedModel, Session, play, tokens

QUESTION = "Which way? " * 30


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A turn of a game in which a thought of twenty chunks begins."""
    model = ScriptedModel(lambda prompt: "left " * 20)
    prompt = Prompt(label="react", render=lambda: QUESTION)

    async def agent(session: Session) -> None:
        await session.think(model, prompt)

    path = tmp_path / "a.jsonl"
    play(agent, "snake", step=tokens(30), record=path)
    return path


def timeful(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "timeful", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def at_a_terminal(*arguments: object, columns: int) -> list[str]:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "timeful", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": str(columns)}
    with subprocess.Popen(command, stdout=theirs, env=env) as process:
        os.close(theirs)
        said = bytearray()
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # how Linux says that the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return said.decode().splitlines()


def test_lines_are_whole_in_a_pipe_and_as_wide_as_a_terminal(record: Path) -> None:
    whole = timeful("show", record).stdout.splitlines()
    assert max(map(len, whole)) > 80
    cut = at_a_terminal("show", record, columns=80)
    assert cut == [text if len(text) <= 80 else f"{text[:79]}…" for text in whole]


def test_the_chunks_of_a_thought_are_one_line(record: Path) -> None:
    shown = timeful("show", record).stdout.splitlines()
    chunks = [text.split() for text in shown if "thought-chunk" in text]
    assert [chunk[:5] for chunk in chunks] == [
        ["0.020", "thought-chunk", "thought=1", "channel=answer", "tokens=20"]
    ]


def test_what_a_thought_was_asked_can_be_read(record: Path) -> None:
    said = timeful("show", record, "--messages", 1)
    assert said.stdout == f"--- user\n{QUESTION}\n--- answer\n{'left ' * 20}\n"
    wrong = timeful("show", record, "--messages", 2)
    assert wrong.returncode == 2
    assert wrong.stderr == (
        "timeful: there is no thought 2 in this record; they are numbered 1 to 1\n"
    )


def test_a_run_shows_its_first_record(record: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "episodes"
    folder.mkdir(parents=True)
    for name in ("b", "a"):
        (folder / f"{name}.jsonl").write_bytes(record.read_bytes())
    output = timeful("show", tmp_path / "run")
    assert output.stdout == timeful("show", record).stdout
    assert str(folder / "a.jsonl") in output.stderr
    assert timeful("show", tmp_path / "missing").returncode == 2
    (tmp_path / "empty").mkdir()
    assert timeful("show", tmp_path / "empty").returncode == 2


def test_a_record_that_is_not_there_is_said_in_one_line() -> None:
    said = timeful("show", "nonexist")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("timeful: there is no record 'nonexist': it does not exist;")
    assert len(said.stderr.splitlines()) == 1


def test_a_list_has_what_commands_take_in_lines_for_any_terminal() -> None:
    said = timeful("list").stdout
    assert max(map(len, said.splitlines())) < 80
    _, _, inbox = said.partition("engagement/inbox\n")
    inbox, _, _ = inbox.partition("engagement/kitchen\n")
    rows = [text.split(maxsplit=1) for text in inbox.splitlines()]
    assert dict(rows) == {
        "presets": "quick, paper",
        "--decomposition": "single, milestones",
        "--policy": "stand-in, urgent-first, model",
        "--interface": "event-driven, polling, loop, reflex",
        "--model": "rules, openai:NAME, replay:FILE, local:PATH",
        "--writer": "prose, openai:NAME, replay:FILE, local:PATH",
        "--triage-pace": "decision, tokens",
        "--transcripts": "full, answers",
    }
