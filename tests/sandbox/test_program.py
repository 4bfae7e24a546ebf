"""A program in its cage reaches its folder and its endpoint, and nothing else."""

import sys
from pathlib import Path

import pytest

import timeful
from tests.agents.program.scripts import PLAYER, write_program
from timeful.agents.program.agent import Program, program
from timeful.errors import ProgramError, SettingsError
from timeful.models.search.reasoner import SearchModel
from timeful.records.events import Acted, Printed, Turned
from timeful.runs.play import Episode, play
from timeful.sandbox.program import check_cage

try:
    check_cage()
except SettingsError as reason:
    pytest.skip(str(reason), allow_module_level=True)

ESCAPES = """
import socket, pathlib
def is_refused(work):
    try:
        work()
    except OSError:
        return True
    return False
pathlib.Path("notes.txt").write_text("kept")
print(tool("look")["over"])
print(is_refused(lambda: socket.create_connection(("192.0.2.1", 80), timeout=5)))
print(is_refused(lambda: open(OUTSIDE).read()), is_refused(lambda: open("/usr/new", "w")))
print(is_refused(lambda: open(OWN).read()), os.environ.get("SECRET_SETTING"))
print(sum(name.isdecimal() for name in os.listdir("/proc")) < 10)
"""


def caged(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Episode:
    monkeypatch.chdir(folder)
    agent = write_program(folder, script)
    confined = program(agent.command, model=SearchModel.shallow(), sandbox=True)
    return play(confined, "snake", check=False)


def test_a_caged_program_plays_as_a_free_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = play(write_program(tmp_path, PLAYER, model=SearchModel.shallow()), "snake")
    confined = caged(tmp_path, PLAYER, monkeypatch)
    kinds = (Acted, Turned, Printed)
    assert [e for e in confined.events if isinstance(e, kinds)] == [
        e for e in free.events if isinstance(e, kinds)
    ]


def test_a_caged_program_reaches_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, folder = tmp_path / "outside.txt", tmp_path / "work"
    outside.write_text("secret")
    folder.mkdir()
    script = ESCAPES.replace("OUTSIDE", repr(str(outside))).replace("OWN", repr(timeful.__file__))
    episode = caged(folder, script, monkeypatch)
    [printed] = [event for event in episode.events if isinstance(event, Printed)]
    assert printed.text.splitlines() == ["False", "True", "True True", "True None", "True"]
    assert (folder / "notes.txt").read_text() == "kept"


def test_the_exit_code_of_a_caged_program_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = caged(tmp_path, "sys.exit(3)", monkeypatch)
    assert isinstance(episode.error, ProgramError)
    assert "exit code 3" in str(episode.error)


def test_a_program_is_named_with_its_sandbox() -> None:
    from timeful.agents.program.name import make_name, read_name

    made: Program = read_name(make_name(f"{sys.executable} a.py", lanes=2, sandbox=True))
    assert (made.sandbox, made.lanes) == (True, 2)
