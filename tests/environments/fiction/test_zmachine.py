"""Z-machine games: what a story file is, what becomes of a process, and real play where it can be.

Real play needs Jericho, and the Inform 6 compiler for a tiny story of our own (`tiny.inf`), or
TextWorld; where they are missing it is skipped.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from timeful.environments.fiction import zmachine
from timeful.environments.fiction.library import open_game
from timeful.environments.fiction.textworld import KINDS, make_story
from timeful.environments.fiction.zmachine import ZMachineGame, check_story
from timeful.errors import SettingsError, WorldError

INFORM = shutil.which("inform6") or shutil.which("inform")
needs_jericho = pytest.mark.skipif(
    find_spec("jericho") is None, reason="the extra jericho is not installed"
)
needs_inform = pytest.mark.skipif(INFORM is None, reason="the Inform 6 compiler is not installed")
needs_textworld = pytest.mark.skipif(
    find_spec("textworld") is None, reason="the extra textworld is not installed"
)


def story(version: int = 5, size: int = 256) -> bytes:
    """A header that fits, and nothing behind it."""
    header = bytearray(size)
    header[0] = version
    header[14:16] = (64).to_bytes(2, "big")
    return bytes(header)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.z5"
    path.write_bytes(story())
    return path


# --- story files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 7, 8])
def test_a_story_file_says_its_version(version: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(story(version))
    assert check_story(path) == version


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no z-machine"),
        (b"# A readme" * 20, "no z-machine"),
        (b"Glul" + bytes(200), "Glulx"),
        (b"FORM" + bytes(200), "Blorb"),
        (story(6), "no z-machine"),
        (story()[:26] + b"\xff\xff" + story()[28:], "cut short"),
        (story()[:14] + b"\xff\xff" + story()[16:], "cut short"),
    ],
)
def test_other_files_are_refused_with_the_reason(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.z5"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=why):
        check_story(path)


# --- processes -----------------------------------------------------------------------------------

PROGRAM = """
import json, os, sys
def say(**what):
    usual = {"said": "hall", "score": 0, "max": None, "over": False, "won": False}
    print(json.dumps({**usual, **what}))
    sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    action = asked.get("action", "")
    if action == "babble":
        print("what?", flush=True)
    elif action == "die":
        sys.exit("it broke")
    if action == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    if action == "env":
        say(said=" ".join(sorted(os.environ)) + " " + os.getcwd())
    elif action == "hang" or asked["do"] == "actions":
        sys.stdin.readline()
    elif action == "touch":
        open("left", "w").write("x")
        say()
    else:
        say(said=str(os.getpid()))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "server.py"
    path.write_text(PROGRAM)
    monkeypatch.setattr(zmachine, "_SERVER", path)
    return path


@pytest.fixture
def game(program: Path, file: Path) -> Iterator[ZMachineGame]:
    one = ZMachineGame(file, seed=1, patience_s=0.3)
    yield one
    one.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_closing_kills_the_process_and_removes_its_folder(game: ZMachineGame) -> None:
    pid = int(game.opening)
    folder = Path(game.step("env").split()[-1])
    assert is_alive(pid)
    assert folder.is_dir()
    game.close()
    game.close()
    assert not is_alive(pid)
    assert not folder.exists()
    with pytest.raises(WorldError, match="closed"):
        game.step("look")


def test_a_game_that_hangs_is_killed_and_can_be_begun_again(game: ZMachineGame) -> None:
    pid = int(game.opening)
    with pytest.raises(WorldError, match=r"said nothing for 0\.3 s"):
        game.step("hang")
    assert not is_alive(pid)
    game.reset()
    assert int(game.opening) != pid
    assert game.step("look")


def test_a_game_that_dies_says_why(game: ZMachineGame) -> None:
    with pytest.raises(WorldError, match="ended: it broke"):
        game.step("die")


def test_a_process_that_says_something_else_is_ended(game: ZMachineGame) -> None:
    with pytest.raises(WorldError, match="said b'what"):
        game.step("babble")


def test_a_process_that_says_too_much_is_ended(program: Path, file: Path) -> None:
    one = ZMachineGame(file, seed=1)
    with pytest.raises(WorldError, match="said more than"):
        one.step("flood")
    assert not is_alive(int(one.opening))


def test_it_gets_nothing_of_our_environment(
    monkeypatch: pytest.MonkeyPatch, program: Path, file: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    one = ZMachineGame(file, seed=1)
    names = one.step("env").split()[:-1]
    one.close()
    assert set(names) <= {"HOME", "LANG", "LC_CTYPE", "PATH"}


def test_files_that_it_writes_are_not_beside_the_story(game: ZMachineGame, file: Path) -> None:
    before = sorted(file.parent.iterdir())
    game.step("touch")
    assert sorted(file.parent.iterdir()) == before


def test_a_reset_while_it_is_busy_begins_another_process(program: Path, file: Path) -> None:
    one = ZMachineGame(file, seed=1, patience_s=30)
    pid, raised = int(one.opening), []

    def look() -> None:
        try:
            one.available_actions()
        except WorldError as error:
            raised.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    while not one._lock.locked():
        pass
    one.reset()
    thread.join(10)
    assert not thread.is_alive()
    assert raised
    assert int(one.opening) != pid
    assert one.step("look")
    one.close()


def test_a_python_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(SettingsError, match="cannot start /nowhere/python"):
        ZMachineGame(file, seed=1, python=Path("/nowhere/python"))


@pytest.mark.skipif(find_spec("jericho") is not None, reason="Jericho is installed")
def test_without_jericho_the_extra_is_named(file: Path) -> None:
    with pytest.raises(SettingsError, match=r"timeful\[jericho\]"):
        ZMachineGame(file, seed=1)


@pytest.mark.skipif(find_spec("textworld") is not None, reason="TextWorld is installed")
def test_without_textworld_the_extra_is_named() -> None:
    with pytest.raises(SettingsError, match=r"timeful\[textworld\]"):
        open_game("textworld:cooking:7", seed=1)


# --- real play -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("story") / "tiny.z3"
    source = Path(__file__).with_name("tiny.inf")
    subprocess.run([str(INFORM), "-~S", source, path], check=True, capture_output=True)
    return path


WIN = ("take lamp", "down", "light lamp", "take coin", "up", "drop coin")


@needs_jericho
@needs_inform
def test_a_version_3_game_is_played_to_its_end(tiny: Path) -> None:
    game = ZMachineGame(tiny, seed=1)
    assert game.opening.startswith("TINY")
    assert (game.score, game.start_score, game.max_score, game.over) == (0, 0, 10, False)
    scores = []
    for action in WIN:
        assert "Score:" not in game.step(action).splitlines()[0]
        scores.append(game.score)
    assert scores == [0, 0, 0, 5, 5, 10]
    assert (game.over, game.won, game.moves) == (True, True, 6)
    assert game.available_actions() == ()
    with pytest.raises(WorldError, match="over"):
        game.step("look")
    game.reset()
    assert (game.score, game.over, game.moves) == (0, False, 0)
    game.close()


@needs_jericho
@needs_inform
def test_its_actions_are_those_that_change_something_and_looking_changes_nothing(
    tiny: Path,
) -> None:
    game, other = ZMachineGame(tiny, seed=1), ZMachineGame(tiny, seed=1)
    expected = [
        {"down", "take lamp"},
        {"down"},
        {"up", "turn lamp"},
        {"up", "take coin"},
        {"up", "drop coin"},
        {"down", "drop coin"},
    ]
    for action, some in zip(WIN, expected, strict=True):
        assert some <= set(game.available_actions()) <= some | {"turn lamp"}
        assert game.step(action) == other.step(action)
    assert game.won
    game.close()
    other.close()


@needs_jericho
@needs_inform
def test_scores_below_zero_are_read_and_it_cannot_be_left(tiny: Path) -> None:
    game = ZMachineGame(tiny, seed=1)
    game.step("lower")
    assert game.score == -3
    assert game.step("quit") == "There is no quit here."
    assert (game.over, game.won, game.score) == (False, False, -3)
    game.close()


@needs_jericho
@needs_inform
def test_an_interpreter_that_hangs_is_killed(tiny: Path) -> None:
    game = ZMachineGame(tiny, seed=1, patience_s=1)
    with pytest.raises(WorldError, match="said nothing"):
        game.step("hang")


@needs_textworld
def test_a_made_game_is_the_same_to_the_byte_and_can_be_won(tmp_path: Path) -> None:
    python = Path(sys.executable)
    made = make_story("simple", 3, tmp_path / "a", python=python)
    assert made.read_bytes() == make_story("simple", 3, tmp_path / "b", python=python).read_bytes()
    assert sorted(one.name for one in made.parent.iterdir()) == ["textworld-simple-3.z8"]
    game = ZMachineGame(made, seed=1)
    assert (game.score, game.max_score) == (0, 7)
    for action in [
        "open chest drawer",
        "take old key",
        "unlock wooden door with old key",
        "open wooden door",
        "east",
        "open refrigerator",
        "take apple",
        "put apple on stove",
    ]:
        if action.count(" with ") == 0:
            assert action in game.available_actions()
        game.step(action)
    assert (game.over, game.won, game.score) == (True, True, 7)
    game.close()


@needs_textworld
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_game_can_be_made(kind: str, tmp_path: Path) -> None:
    game = ZMachineGame(make_story(kind, 1, tmp_path), seed=1)
    assert game.max_score
    assert game.available_actions()
    game.close()


def test_kinds_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cooking"):
        make_story("coking", 1, tmp_path)
