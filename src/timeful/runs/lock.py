"""One process at a time in a run folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EAGAIN, EWOULDBLOCK
from pathlib import Path

from timeful.errors import SettingsError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows has no such locks: there, nobody is kept out
    flock = None  # type: ignore[assignment]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; it is made if needed.

    Two processes in one folder would lose nothing, but play every episode twice. The lock is
    on the folder itself: it leaves no file behind, and ends with its process, however that ends.
    Where a file system knows no such locks, as some network ones, nobody is kept out.

    Raises:
        SettingsError: If another process has locked it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if flock is None:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            flock(held, LOCK_EX | LOCK_NB)
        except OSError as error:
            if error.errno in (EAGAIN, EWOULDBLOCK):
                raise SettingsError(
                    f"another process is at work in {folder}; wait for its end, or choose "
                    "another folder"
                ) from None
        yield
    finally:
        os.close(held)
