"""The games by name. Nothing is imported before it is asked for."""

from importlib import import_module

from timeful.environments.game import Difficulty, Game, Mode
from timeful.errors import check_known

_PLACES = {
    "freeway": ("timeful.environments.freeway", "Freeway"),
    "overcooked": ("timeful.environments.overcooked", "Overcooked"),
    "snake": ("timeful.environments.snake", "Snake"),
}

GAME_NAMES = tuple(_PLACES)
"""The names of all games, sorted."""


def game_type(name: str) -> type[Game]:
    """Find a game by its name, and import it.

    Raises:
        SettingsError: If there is no such game; the nearest name is offered.
    """
    check_known("game", name, _PLACES)
    module, attribute = _PLACES[name]
    kind: type[Game] = getattr(import_module(module), attribute)
    return kind


def make_game(name: str, *, difficulty: Difficulty, seed: int, mode: Mode = "compat") -> Game:
    """Make a game and reset it.

    Args:
        name: One of `GAME_NAMES`.
        difficulty: `easy`, `medium` or `hard`.
        seed: The game seed; which ones there are depends on game and mode.
        mode: `compat` for the published benchmark's rules, `paper` for the paper's.

    Raises:
        SettingsError: If there is no such game, difficulty, mode or seed.
    """
    return game_type(name)(difficulty=difficulty, seed=seed, mode=mode)
