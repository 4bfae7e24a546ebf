"""The pictures of all worlds, found by the settings of a record."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from timeful.environments.picture import Draw, Picture

_WORLDS: Mapping[str, str] = {
    "snake": "timeful.environments.snake.picture",
}
"""The module that draws a world, by the name of the game or suite."""


def find_drawing(settings: Mapping[str, Any]) -> Draw | None:
    """The function that draws the states of a record with these settings."""
    episode = settings.get("episode")
    episode = episode if isinstance(episode, Mapping) else {}
    names = (
        *(episode.get(name) for name in ("game", "world", "family")),
        *(settings.get(name) for name in ("suite", "world")),
    )
    for name in names:
        if isinstance(name, str) and name in _WORLDS:
            draw: Callable[[Mapping[str, Any]], Picture] = import_module(_WORLDS[name]).picture
            return draw
    return None
