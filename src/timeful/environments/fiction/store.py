"""Where story files lie: the user's own folder, outside this project and every wheel of it."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from timeful.environments.fiction.zmachine import check_story
from timeful.errors import SettingsError, check_known
from timeful.records.store import write_atomically

SUFFIXES = (".z1", ".z2", ".z3", ".z4", ".z5", ".z7", ".z8")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_LICENCE = ".LICENSE.txt"
_MOST_BYTES = 4 << 20
_PATIENCE_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A story file that may be fetched, as it was when its licence was read.

    Attributes:
        repository: Where it is published, as owner/name on GitHub.
        commit: The commit, in full.
        path: The file in it.
        sha256: Of the file.
        max_score: The most points in it.
        licence: Its licence, for lists; the text itself comes with the file.
    """

    repository: str
    commit: str
    path: str
    sha256: str
    max_score: int
    licence: str = "MIT, code only"


SOURCES: Mapping[str, Source] = {
    "zork1": Source(
        repository="historicalsource/zork1",
        commit="97b7b3d68c075dd9af7da499c3e9690ada3471fd",
        path="COMPILED/zork1.z3",
        sha256="37084966477dff679282de42974b2077156b1bd68fad92a65d4ea94d8eb64d79",
        max_score=350,
    ),
    "zork2": Source(
        repository="historicalsource/zork2",
        commit="3da9661098809788a99cef00f00c865c6c204f96",
        path="COMPILED/zork2.z3",
        sha256="3ae7d5558943e9721f3e4b273c8a7faec1a03a604e1ae4ee1cde472c21cb24ac",
        max_score=400,
    ),
    "zork3": Source(
        repository="historicalsource/zork3",
        commit="3ec9ed412b5f3cafe65d83c727d07db1fe4a86a8",
        path="COMPILED/zork3.z3",
        sha256="b637a242865d059890184164ce8dec28554cc80901dcbf26c740b2d1ed0d4eb8",
        max_score=7,
    ),
}
"""The only games that are fetched: their repositories hold a licence that covers the file."""

GITHUB = "https://raw.githubusercontent.com"


def user_folder(kind: str, variable: str, usual: str) -> Path:
    """The folder for stories: $TIMEFUL_GAMES, else one of the XDG folders of the user.

    A game is opened by its name alone, in suites as in commands, so this is asked for here and
    not handed down from the command line.

    Args:
        kind: What lies in it, its last part.
        variable: The XDG variable.
        usual: What that is where it is not set, under the user's home.
    """
    own = os.environ.get("TIMEFUL_GAMES")
    base = Path(own) if own else Path(os.environ.get(variable) or Path.home() / usual) / "timeful"
    return base / kind


def stories_folder() -> Path:
    """Where fetched and added stories lie."""
    return user_folder("games", "XDG_DATA_HOME", ".local/share")


def find_stories(folder: Path) -> dict[str, Path]:
    """The stories in a folder, by name."""
    if not folder.is_dir():
        return {}
    return {file.stem: file for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES}


def add_story(name: str, file: Path, folder: Path, *, reserved: frozenset[str]) -> Path:
    """Copy the user's own story file into a folder, under a name.

    Raises:
        SettingsError: If the name cannot be used, or the file is no story.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"a game's name has small letters, digits, - and _, at most 41; got {name!r}"
        )
    if name in reserved | SOURCES.keys():
        raise SettingsError(
            f"the name {name!r} is taken by a game that timeful knows; take another"
        )
    if name in find_stories(folder):
        raise SettingsError(
            f"there is a game {name!r} already; delete {find_stories(folder)[name]} first"
        )
    version = check_story(file)
    path = folder / f"{name}.z{version}"
    write_atomically(path, file.read_bytes())
    return path


def fetch_story(
    name: str, folder: Path, *, base: str = GITHUB, sources: Mapping[str, Source] = SOURCES
) -> tuple[Path, str]:
    """Fetch a story that may be fetched, check that it is the one, and keep it with its licence.

    Args:
        name: One of the sources.
        folder: Where to.
        base: Where from: a server, or file:// and a folder, that has owner/name/commit/path.
        sources: What there is.

    Returns:
        The file, and the text of its licence.

    Raises:
        SettingsError: If there is no such source, it cannot be reached, or is another file.
    """
    check_known("game to fetch", name, sources)
    source = sources[name]
    root = f"{base.rstrip('/')}/{source.repository}/{source.commit}"
    licence = _download(f"{root}/LICENSE").decode(errors="replace").strip()
    story = _download(f"{root}/{source.path}")
    digest = sha256(story).hexdigest()
    if digest != source.sha256:
        raise SettingsError(
            f"{root}/{source.path} is not the file whose licence was read: its sha256 begins "
            f"{digest[:12]}, not {source.sha256[:12]}; nothing was kept"
        )
    path = folder / f"{name}{Path(source.path).suffix}"
    write_atomically(path, story)
    path.with_name(name + _LICENCE).write_text(licence + "\n", encoding="utf-8")
    return path, licence


def _download(url: str) -> bytes:
    try:
        with urlopen(url, timeout=_PATIENCE_S) as answer:
            content = answer.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        reason = error.reason if isinstance(error, URLError) else error
        raise SettingsError(f"cannot fetch {url}: {reason}; --from takes a mirror") from None
    if len(content) > _MOST_BYTES:
        raise SettingsError(f"cannot fetch {url}: it is larger than any story file")
    assert isinstance(content, bytes)
    return content
