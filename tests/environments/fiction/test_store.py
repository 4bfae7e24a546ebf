"""The user's stories: fetched from where they may be, added by name, and never half kept."""

import threading
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.environments.fiction.test_zmachine import story
from timeful.environments.fiction import library, store
from timeful.environments.fiction.library import check_game, entries, game_names, open_game
from timeful.environments.fiction.store import SOURCES, Source, add_story, fetch_story, find_stories
from timeful.errors import SettingsError

COMMIT = "0" * 40
FAKE = {
    "tale": Source(
        repository="someone/tale",
        commit=COMMIT,
        path="COMPILED/tale.z3",
        sha256=sha256(story(3)).hexdigest(),
        max_score=5,
    )
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder in the shape of the server."""
    root = tmp_path / "server"
    place = root / "someone/tale" / COMMIT
    (place / "COMPILED").mkdir(parents=True)
    (place / "COMPILED/tale.z3").write_bytes(story(3))
    (place / "LICENSE").write_text("MIT License\n\nCopyright (c) nobody\n")
    return root


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


@pytest.fixture
def server(repository: Path) -> Iterator[str]:
    handler = partial(Quiet, directory=str(repository))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()
        thread.join()


def test_a_story_is_fetched_with_its_licence(server: str, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    path, licence = fetch_story("tale", folder, base=server, sources=FAKE)
    assert path.read_bytes() == story(3)
    assert licence == "MIT License\n\nCopyright (c) nobody"
    assert (folder / "tale.LICENSE.txt").read_text() == licence + "\n"
    assert find_stories(folder) == {"tale": path}


def test_a_folder_does_as_well_as_a_server(repository: Path, tmp_path: Path) -> None:
    path, _ = fetch_story("tale", tmp_path / "g", base=repository.as_uri() + "/", sources=FAKE)
    assert path.read_bytes() == story(3)


def test_another_file_is_not_kept(repository: Path, server: str, tmp_path: Path) -> None:
    (repository / "someone/tale" / COMMIT / "COMPILED/tale.z3").write_bytes(story(3) + b"x")
    with pytest.raises(SettingsError, match="not the file whose licence was read"):
        fetch_story("tale", tmp_path / "games", base=server, sources=FAKE)
    assert not (tmp_path / "games").exists()


def test_without_its_licence_a_file_is_not_kept(
    repository: Path, server: str, tmp_path: Path
) -> None:
    (repository / "someone/tale" / COMMIT / "LICENSE").unlink()
    with pytest.raises(SettingsError, match="LICENSE: File not found"):
        fetch_story("tale", tmp_path / "games", base=server, sources=FAKE)
    assert not (tmp_path / "games").exists()


def test_a_server_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot fetch http://127\.0\.0\.1:9"):
        fetch_story("tale", tmp_path, base="http://127.0.0.1:9", sources=FAKE)


def test_only_the_three_zorks_are_fetched_at_pinned_commits_and_sums() -> None:
    assert sorted(SOURCES) == ["zork1", "zork2", "zork3"]
    for name, source in SOURCES.items():
        assert source.repository == f"historicalsource/{name}"
        assert len(source.commit) == 40
        assert len(source.sha256) == 64
        assert int(source.commit + source.sha256, 16)
    with pytest.raises(SettingsError, match="zork1, zork2, zork3"):
        fetch_story("enchanter", Path("nowhere"))


def test_a_file_of_ones_own_is_copied_under_its_name(tmp_path: Path) -> None:
    file, folder = tmp_path / "MyGame.bin", tmp_path / "games"
    file.write_bytes(story(8))
    path = add_story("mine", file, folder, reserved=frozenset())
    assert path == folder / "mine.z8"
    file.unlink()
    assert path.read_bytes() == story(8)
    assert game_names(data=folder) == ("skerry", "cave", "mine")
    assert [one.name for one in entries(data=folder) if one.licence == "your own file"] == ["mine"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Mine", "small letters"),
        ("../mine", "small letters"),
        ("", "small letters"),
        ("cave", "that timeful knows"),
        ("zork1", "that timeful knows"),
        ("mine", "already"),
    ],
)
def test_names_that_cannot_be_used_are_refused(name: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "a.z5"
    file.write_bytes(story())
    add_story("mine", file, tmp_path / "games", reserved=frozenset(library.BUILT_IN))
    with pytest.raises(SettingsError, match=why):
        add_story(name, file, tmp_path / "games", reserved=frozenset(library.BUILT_IN))


def test_what_is_no_story_is_not_added(tmp_path: Path) -> None:
    file = tmp_path / "a.z5"
    file.write_text("hello")
    with pytest.raises(SettingsError, match="no z-machine story"):
        add_story("mine", file, tmp_path / "games", reserved=frozenset())
    assert find_stories(tmp_path / "games") == {}


def test_the_users_folder_is_that_of_xdg_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIMEFUL_GAMES", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.stories_folder() == tmp_path / ".local/share/timeful/games"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert store.stories_folder() == tmp_path / "data/timeful/games"
    monkeypatch.setenv("TIMEFUL_GAMES", str(tmp_path / "own"))
    assert store.stories_folder() == tmp_path / "own/games"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("skery", "Did you mean 'skerry'"),
        ("zork2", "timeful games fetch zork2"),
        ("textworld:cooking", "textworld:cooking:SEED"),
        ("textworld:cookng:1", "Did you mean 'cooking'"),
        ("textworld:cooking:-1", "with a number"),
        ("nowhere/at/all.z5", "cannot read"),
        ("all.z5", "cannot read"),
    ],
)
def test_names_that_cannot_be_opened_say_what_to_do(name: str, why: str, tmp_path: Path) -> None:
    for refuse in (check_game, lambda name, data: open_game(name, seed=1, data=data)):
        with pytest.raises(SettingsError, match=why):
            refuse(name, data=tmp_path)


def test_our_own_game_opens_by_name_and_seed(tmp_path: Path) -> None:
    one, other = open_game("skerry", seed=1, data=tmp_path), open_game("skerry", seed=1)
    assert one.opening == other.opening
    assert one.max_score == 100
