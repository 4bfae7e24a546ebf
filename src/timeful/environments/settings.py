"""What a game may be asked to be: difficulty, mode and seed, checked before anything is made."""

from typing import get_args

from timeful.environments.game import DIFFICULTIES, MODES, Difficulty, Mode
from timeful.errors import SettingsError, unknown


def check_difficulty(difficulty: Difficulty) -> None:
    """Refuse a difficulty that no game has.

    Raises:
        SettingsError: If it is not one of `DIFFICULTIES`; the nearest one is named.
    """
    if difficulty not in DIFFICULTIES:
        raise SettingsError(unknown("difficulty", str(difficulty), get_args(Difficulty)))


def check_mode(mode: Mode) -> None:
    """Refuse a mode that no game has.

    Raises:
        SettingsError: If it is not one of `MODES`; the nearest one is named.
    """
    if mode not in MODES:
        raise SettingsError(unknown("mode", str(mode), get_args(Mode)))


def check_seed(game: str, seed: int, *, published: range | None) -> None:
    """Refuse a seed that this game cannot play.

    Args:
        game: The name of the game, for the message.
        seed: The seed that was asked for.
        published: The seeds of the published benchmark, if only those will do.

    Raises:
        SettingsError: If the seed is no integer, or not among the published ones.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise SettingsError(f"the seed of {game} must be an integer, got {seed!r}")
    if published is not None and seed not in published:
        raise SettingsError(
            f"{game} has no seed {seed} in mode 'compat'; the published seeds are "
            f"{published[0]} to {published[-1]}. Mode 'paper' takes any seed."
        )
