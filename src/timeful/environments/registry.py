"""The games by name. Nothing is imported before it is asked for."""

from timeful.environments.game import Difficulty, Game, Mode
from timeful.errors import check_known
from timeful.registry import load

GAME_NAMES = ("freeway", "overcooked", "snake")
"""The names of all games, sorted."""


def game_type(name: str) -> type[Game]:
    """Find a game by its name, and import it.

    Raises:
        SettingsError: If there is no such game; the nearest name is offered.
    """
    check_known("game", name, GAME_NAMES)
    kind = load("world", name)
    assert isinstance(kind, type), "the games are classes"
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
