"""The one reader of files that users give: packed with gzip or not, and bounded.

A file may come from anybody. Each function here bounds what it reads: unpacked bytes, the length
of a line, nesting, and digits. All that can be wrong with a text is a `ValueError` of `decode`, or
a `SettingsError`.
"""

import gzip
import re
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from timeful.errors import SettingsError

T = TypeVar("T")

MOST_BYTES = 512 << 20
"""The largest data file, unpacked."""

MOST_TEXT = 16 << 20
"""The largest file of settings, such as an OpenAPI file."""

LONGEST_LINE = 64 << 20
"""The longest line of a data file."""

_GZIP = b"\x1f\x8b"
_DAMAGE = (OSError, EOFError, zlib.error)
_LONG_KEY = re.compile(r"(?:\.\s*+[\w\"'-]++\s*+){32}")
"""A dotted key of TOML so long that its reader would take memory by the square of its length."""


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a file, decompressed.

    Raises:
        SettingsError: If the file cannot be read, or has more than `most` bytes.
    """
    try:
        with _open(path) as file:
            content = file.read(most + 1)
    except _DAMAGE as error:
        raise _unreadable(path, error) from None
    if len(content) > most:
        raise SettingsError(f"cannot read {path}: it has more than {most >> 20} MiB")
    return content


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """The text of a file, decompressed, without a byte order mark.

    Raises:
        SettingsError: If the file cannot be read, is not UTF-8, or has more than `most` bytes.
    """
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not text: {error}") from None


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, decompressed, each with its number from 1.

    Raises:
        SettingsError: If the file cannot be read, or it or a line is too long.
    """
    number = size = 0
    try:
        with _open(path) as file:
            while line := file.readline(LONGEST_LINE + 1):
                number, size = number + 1, size + len(line)
                if len(line) > LONGEST_LINE or size > MOST_BYTES:
                    raise SettingsError(
                        f"cannot read {path}: line {number} is beyond {LONGEST_LINE >> 20} MiB a "
                        f"line, or {MOST_BYTES >> 20} MiB in all"
                    )
                if line.strip():
                    yield number, line
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def decode(data: bytes | msgspec.Raw, kind: "type[T] | msgspec.json.Decoder[T]") -> T:
    """Decode JSON into a type.

    Raises:
        msgspec.DecodeError: If it is not JSON of this type, not UTF-8, or nested too deeply.
    """
    decoder = kind if isinstance(kind, msgspec.json.Decoder) else msgspec.json.Decoder(kind)
    try:
        return decoder.decode(data)
    except msgspec.DecodeError:
        raise
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: If it is not TOML, or has numbers, keys or nesting beyond what can be read.
    """
    if _LONG_KEY.search(text):
        raise ValueError("it has a key of more than 32 parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        SettingsError: If it cannot be read, or is not TOML.
    """
    try:
        return parse_toml(read_text(path, most=1 << 20))
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from None


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
