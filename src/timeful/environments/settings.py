"""Which seeds a game may be asked for, checked before anything is made."""

from timeful.errors import SettingsError


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
