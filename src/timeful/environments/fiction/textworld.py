"""Games made by TextWorld from a seed: the same seed gives the same file, to the byte.

TextWorld runs in a process of its own and brings a compiler; what it makes is a z-machine story,
kept in the user's cache and played like any other.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from timeful.environments.fiction.store import user_folder
from timeful.errors import SettingsError, WorldError, check_known

KINDS: Mapping[str, tuple[str, ...]] = {
    "simple": ("tw-simple", "--rewards", "dense", "--goal", "detailed"),
    "cooking": ("tw-cooking", "--recipe", "2", "--take", "2", "--go", "6", "--open", "--cook"),
    "coins": ("tw-coin_collector", "--level", "5"),
    "treasure": ("tw-treasure_hunter", "--level", "5"),
    "custom": ("custom", "--world-size", "5", "--nb-objects", "10", "--quest-length", "5"),
}
"""What `tw-make` is told, by the kind of game."""

_PATIENCE_S = 600
"""Making takes about five seconds of work, and much longer on a machine with other things to do."""


def made_folder() -> Path:
    """Where made stories are kept."""
    return user_folder("made-games", "XDG_CACHE_HOME", ".cache")


def make_story(kind: str, seed: int, folder: Path, *, python: Path | None = None) -> Path:
    """The story of a kind and a seed, made now if it was not made before.

    Args:
        kind: One of `KINDS`.
        seed: 0 or more.
        folder: Where it is kept.
        python: The Python that has TextWorld; None for this one.

    Raises:
        SettingsError: If there is no such kind, or no TextWorld.
        WorldError: If it cannot be made.
    """
    check_known("kind of TextWorld game", kind, KINDS)
    path = folder / f"textworld-{kind}-{seed}.z8"
    if path.is_file():
        return path
    program = Path(python or sys.executable).with_name("tw-make")
    if not program.is_file():
        raise SettingsError(
            "games made by TextWorld need the package 'textworld': pip install 'timeful[textworld]'"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix="making-") as scratch:
        story = Path(scratch, "game.z8")
        command = [str(program), *KINDS[kind], "--seed", str(seed), "--output", str(story)]
        _run(command, Path(scratch))
        if not story.is_file():
            raise WorldError(f"TextWorld made no game of {' '.join(command[1:])}")
        story.replace(path)
    return path


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(
            command,
            cwd=folder,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_PATIENCE_S,
        )
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise WorldError(f"TextWorld failed: {lines[-1] if lines else error}") from None
    except (subprocess.TimeoutExpired, OSError) as error:
        raise WorldError(f"TextWorld failed: {error}") from None
