"""A few numbers that the processes of a run share."""

import mmap
import os
import threading
from array import array
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

try:
    from fcntl import LOCK_EX, LOCK_UN, flock
except ImportError:  # Windows has no such locks: a lost update costs a little politeness
    flock = None  # type: ignore[assignment]


class State:
    """A few numbers, in a file if processes share them; the file's lock ends with its holder.

    Args:
        path: The file; None for a process alone.
        size: The number of numbers, all 0 at first.
    """

    def __init__(self, path: Path | None = None, *, size: int) -> None:
        self._lock = threading.Lock()
        self._file: int | None = None
        self._numbers: MutableSequence[float] = array("d", [0.0] * size)
        if path is not None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._file, 8 * size)
            shared = memoryview(mmap.mmap(self._file, 8 * size)).cast("d")
            self._numbers = cast(MutableSequence[float], shared)

    @contextmanager
    def locked(self) -> Iterator[MutableSequence[float]]:
        """The numbers, while no other thread or process has them."""
        with self._lock:
            if self._file is None or flock is None:
                yield self._numbers
                return
            flock(self._file, LOCK_EX)
            try:
                yield self._numbers
            finally:
                flock(self._file, LOCK_UN)
