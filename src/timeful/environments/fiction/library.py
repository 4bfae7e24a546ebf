"""Games by their names."""

from timeful.environments.fiction.colossal import ColossalCave
from timeful.environments.fiction.game import Game
from timeful.environments.fiction.skerry import skerry
from timeful.environments.fiction.telling import Telling
from timeful.errors import check_known


def game_names() -> tuple[str, ...]:
    """The games that need nothing but what is installed, and their own extra."""
    return ("skerry", "cave")


def open_game(name: str, *, seed: int) -> Game:
    """Open a game at its start.

    Raises:
        SettingsError: If there is none of that name.
    """
    check_known("game", name, game_names())
    return Telling(skerry(seed)) if name == "skerry" else ColossalCave(seed=seed)
