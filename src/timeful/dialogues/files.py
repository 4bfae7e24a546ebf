"""Data files, compressed with gzip or not; their first bytes tell which."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from timeful.errors import SettingsError

_GZIP = b"\x1f\x8b"
_DAMAGE = (OSError, EOFError, zlib.error)


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed.

    Raises:
        SettingsError: If the file cannot be read.
    """
    try:
        with _open(path) as file:
            return file.read()
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, decompressed, each with its number from 1.

    Raises:
        SettingsError: If the file cannot be read.
    """
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def is_gzip(path: Path) -> bool:
    """Whether a file name asks for compression."""
    return path.suffix == ".gz"


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
    # gzip.open gives a file of bytes here, which its stub cannot say.
    return gzip.open(path, "rb") if is_packed else path.open("rb")  # type: ignore[return-value]


def _unreadable(path: Path, error: BaseException) -> SettingsError:
    reason = getattr(error, "strerror", None) or error
    return SettingsError(f"cannot read {path}: {reason}")
