"""`timeful games`, as a person uses it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.environments.fiction.test_zmachine import story
from timeful.cli.main import app
from timeful.environments.fiction.store import SOURCES


def timeful(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "timeful", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.dat"
    path.write_bytes(story())
    return path


def test_the_list_names_every_game_in_80_columns(tmp_path: Path, own: Path) -> None:
    folder = tmp_path / "games"
    assert timeful("games", "add", "mine", own, "--folder", folder).returncode == 0
    done = timeful("games", "list", "--folder", folder)
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) < 80
    rows = {line.split()[0]: line for line in lines if not line.startswith(" ")}
    assert rows["skerry"].split()[1] == "100"
    assert rows["skerry"].endswith("ready")
    assert rows["cave"].split()[1] == "350"
    assert {"zork1", "zork2", "zork3", "mine", "textworld:cooking:SEED"} <= rows.keys()
    assert "timeful games fetch zork1" in done.stdout


def test_the_list_says_which_extra_a_game_needs_and_whether_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zork2.z3").write_bytes(story(3))  # as if it had been fetched

    def listed(*installed: str) -> dict[str, list[str]]:
        """The lines of each game, when some packages are installed."""
        here = "timeful.environments.fiction.library.find_spec"
        monkeypatch.setattr(here, lambda module: module in installed or None)
        text = CliRunner().invoke(app, ["games", "list", "--folder", str(tmp_path)]).output
        assert max(map(len, text.splitlines())) <= 80
        parts = re.split(r"\n(?=\S)", text.rstrip())
        return {part.split()[0]: part.splitlines() for part in parts}

    def ends(lines: list[str]) -> list[str]:
        return [re.split(r"  +", line)[-1] for line in lines]

    fetch, install = "timeful games fetch zork1", "pip install 'timeful[jericho]'"
    games = listed("adventure", "textworld")
    assert ends(games["zork1"]) == ["jericho: missing", fetch, install]
    assert ends(games["zork2"]) == ["jericho: missing", install]
    assert ends(games["textworld:coins:SEED"]) == ["ready"]
    assert "textworld: installed" in games["textworld:coins:SEED"][0]
    games = listed("jericho")
    assert ends(games["zork1"]) == ["jericho: installed", fetch]
    assert ends(games["zork2"]) == ["ready"]
    assert ends(games["cave"]) == ["timely: missing", "pip install 'timeful[timely]'"]
    assert ends(games["textworld:coins:SEED"])[0] == "textworld: missing"


def test_adding_says_where_and_refuses_what_is_no_story(tmp_path: Path, own: Path) -> None:
    folder = tmp_path / "games"
    done = timeful("games", "add", "mine", own, "--folder", folder)
    assert done.stdout == f"kept as {folder / 'mine.z5'}; play it as mine\n"
    again = timeful("games", "add", "mine", own, "--folder", folder)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("timeful: there is a game 'mine' already")
    own.write_text("a letter")
    no_story = timeful("games", "add", "other", own, "--folder", folder)
    assert no_story.returncode == 2
    assert "is no z-machine story file" in no_story.stderr


def test_fetching_refuses_another_file_under_the_same_name(tmp_path: Path) -> None:
    source = SOURCES["zork3"]
    place = tmp_path / "mirror" / source.repository / source.commit
    (place / "COMPILED").mkdir(parents=True)
    (place / "COMPILED/zork3.z3").write_bytes(story(3))
    (place / "LICENSE").write_text("MIT License\n")
    folder = tmp_path / "games"
    mirror = (tmp_path / "mirror").as_uri()
    done = timeful("games", "fetch", "zork3", "--folder", folder, "--from", mirror)
    assert (done.returncode, done.stdout) == (2, "")
    assert "its sha256 begins" in done.stderr
    assert not folder.exists()


def test_fetching_knows_three_names(tmp_path: Path) -> None:
    done = timeful("games", "fetch", "zork", "--folder", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("timeful: unknown game to fetch 'zork'; there are: zork1")
