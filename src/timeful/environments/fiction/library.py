"""Games by their names.

| name | game |
| --- | --- |
| `skerry` | our own small game |
| `cave` | Colossal Cave, with the extra `timely` |
| `zork1`, `zork2`, `zork3` | once fetched; with the extra `jericho` |
| any other name | a story file that the user added |
| `textworld:cooking:7` | made of a kind and a seed; with the extra `textworld` |
| `some/story.z5` | a z-machine file by its path |
"""

import os
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from timeful.environments.fiction.colossal import ColossalCave
from timeful.environments.fiction.engine import StoryGame
from timeful.environments.fiction.skerry import skerry
from timeful.environments.fiction.store import SOURCES, SUFFIXES, find_stories, stories_folder
from timeful.environments.fiction.text_game import TextGame
from timeful.environments.fiction.textworld import KINDS, made_folder, make_story
from timeful.environments.fiction.zmachine import ZMachineGame, check_story
from timeful.errors import SettingsError, check_known

BUILT_IN = ("skerry", "cave")
_MADE = "textworld"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the list of games.

    Attributes:
        name: The game.
        max_score: Its most points, if they are known.
        licence: Under which it may be played.
        extra: The extra that it needs; empty if none.
        fetch: What is to be typed to fetch it; empty if it is here.
        install: What is to be typed to install its extra; empty if it is installed.
    """

    name: str
    max_score: int | None
    licence: str
    extra: str = ""
    fetch: str = ""
    install: str = ""


def game_names(*, data: Path | None = None) -> tuple[str, ...]:
    """The names that can be opened now, but for made games, paths, and extras that are missing."""
    return (*BUILT_IN, *find_stories(data or stories_folder()))


def open_game(
    name: str, *, seed: int, data: Path | None = None, python: Path | None = None
) -> TextGame:
    """Open a game at its start.

    Args:
        name: As the table above has it.
        seed: Of its chance.
        data: Where stories lie; None for the user's own folder.
        python: The Python that has Jericho and TextWorld; None for this one.

    Raises:
        SettingsError: If there is none of that name, or its extra is not installed.
        WorldError: If it does not start.
    """
    if name == "skerry":
        return StoryGame(skerry(seed))
    if name == "cave":
        return ColossalCave(seed=seed)
    return ZMachineGame(_story(name, data or stories_folder(), python), seed=seed, python=python)


def check_game(name: str, *, data: Path | None = None) -> None:
    """Refuse a name that `open_game` cannot open, without opening it.

    Raises:
        SettingsError: If there is no such game, or it was not fetched; what to do stands in it.
    """
    if name.startswith(f"{_MADE}:"):
        _parse_made_name(name)
    elif _is_path(name):
        check_story(Path(name))
    else:
        names = game_names(data=data)
        if name in SOURCES and name not in names:
            raise SettingsError(f"{name} is not here yet: timeful games fetch {name}")
        check_known("game", name, (*names, *SOURCES))


def check_extras(name: str) -> None:
    """Refuse a game whose extra is not installed for this Python.

    Raises:
        SettingsError: If it is not; what to type stands in it.
    """
    module = extra = "jericho"
    if name == "skerry":
        return
    if name == "cave":
        module, extra = "adventure", "timely"
    elif name.startswith(f"{_MADE}:"):
        module = extra = _MADE  # which brings Jericho
    if missing := _missing(module, extra):
        raise SettingsError(f"{name} needs the package {module!r}: {missing}")


def _story(name: str, data: Path, python: Path | None) -> Path:
    check_game(name, data=data)
    if name.startswith(f"{_MADE}:"):
        return make_story(*_parse_made_name(name), made_folder(), python=python)
    return Path(name) if _is_path(name) else find_stories(data)[name]


def _is_path(name: str) -> bool:
    return os.sep in name or name.endswith(SUFFIXES)


def _parse_made_name(name: str) -> tuple[str, int]:
    kind, _, number = name.removeprefix(f"{_MADE}:").partition(":")
    check_known("kind of TextWorld game", kind, KINDS)
    if not (number.isascii() and number.isdigit()):
        raise SettingsError(f"a made game is textworld:{kind}:SEED, with a number; got {name!r}")
    return kind, int(number)


def entries(*, data: Path | None = None) -> tuple[Entry, ...]:
    """All games that there are, or could be."""
    stories = find_stories(data or stories_folder())
    needs = {
        extra: partial(Entry, extra=extra, install=_missing(module, extra))
        for module, extra in (("adventure", "timely"), ("jericho", "jericho"), (_MADE, _MADE))
    }
    fetched = [
        needs["jericho"](
            name=name,
            max_score=source.max_score,
            licence=source.licence,
            fetch="" if name in stories else f"timeful games fetch {name}",
        )
        for name, source in SOURCES.items()
    ]
    return (
        Entry(name="skerry", max_score=100, licence="Apache-2.0, ours"),
        needs["timely"](name="cave", max_score=350, licence="Apache-2.0"),
        *fetched,
        *(
            needs["jericho"](name=name, max_score=None, licence="your own file")
            for name in sorted(stories.keys() - SOURCES.keys())
        ),
        *(
            needs[_MADE](name=f"{_MADE}:{kind}:SEED", max_score=None, licence="made")
            for kind in KINDS
        ),
    )


def _missing(module: str, extra: str) -> str:
    """What to type if a package is not installed; empty if it is."""
    return "" if find_spec(module) else f"pip install 'timeful[{extra}]'"
