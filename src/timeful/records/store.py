"""Results that survive a kill: files that are written whole, and logs of keyed values.

A process may be killed at any instant. A file that was being written keeps a temporary name that
ends in `.part`; a log loses its unfinished last line when it is opened again.
"""

import os
import shutil
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, get_native_id
from typing import TypeVar

import msgspec

from timeful.errors import RecordError
from timeful.files import decode

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path; what is written there takes its final name after the block.

    If the block raises, what was written is deleted. A folder replaces an empty folder only.
    """
    if not os.path.isdir(path.parent):  # Path.mkdir raises and catches an error
        path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.{get_native_id()}.part")
    _delete_present(partial)
    try:
        yield partial
        if os.path.isfile(partial):
            file = os.open(partial, os.O_RDONLY)
            try:
                os.fsync(file)  # else a power cut could leave the name without the content
            finally:
                os.close(file)
        partial.replace(path)
    finally:
        _delete_present(partial)


def _delete_present(path: Path) -> None:
    if os.path.lexists(path):
        delete([path])


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it has either its old content or the new one."""
    with replace_atomically(path) as partial:
        partial.write_bytes(content)


class KeyedLog(Mapping[K, V]):
    """Values by key in a file of JSON lines; safe for threads, for one process at a time.

    Values are read from the file when they are asked for; the keys alone are in memory. Opening
    the log cuts off an unfinished last line.

    Args:
        path: The file; it is made by the first value.
        kind: The type of the values, as msgspec decodes it.
        key: The key of a value.
        sync: Whether each value reaches the disk before `put` returns: slower, for values that
            cost money.

    Raises:
        RecordError: If a line cannot be read; it names the file and the line.
    """

    def __init__(
        self, path: Path, kind: type[V], *, key: Callable[[V], K], sync: bool = False
    ) -> None:
        self._path = path
        self._kind = kind
        self._key = key
        self._sync = sync
        self._lock = Lock()
        self._offsets: dict[K, int] = {}
        size = 0
        for offset, end, value in _read_lines(path, kind):
            self._offsets[key(value)], size = offset, end
        if path.exists() and path.stat().st_size > size:
            os.truncate(path, size)

    def __getitem__(self, key: K) -> V:
        offset = self._offsets[key]
        with self._lock, self._path.open("rb") as file:
            file.seek(offset)
            return msgspec.json.decode(file.readline(), type=self._kind)

    def __contains__(self, key: object) -> bool:
        return key in self._offsets

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._offsets))

    def __len__(self) -> int:
        return len(self._offsets)

    def put(self, value: V) -> None:
        """Append a value. A failed write leaves the log as it was."""
        key, line = self._key(value), msgspec.json.encode(value) + b"\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock, self._path.open("ab", buffering=0) as file:
            offset = file.tell()
            try:
                unwritten = memoryview(line)
                while unwritten:
                    unwritten = unwritten[file.write(unwritten) :]
                self._offsets[key] = offset
            except BaseException:
                file.truncate(offset)
                raise
            if self._sync:
                os.fsync(file.fileno())

    def discard(self, keys: Container[K]) -> None:
        """Delete the values of these keys; the file is written anew, whole."""
        values = [self[key] for key in self if key not in keys]
        lines = [msgspec.json.encode(value) + b"\n" for value in values]
        write_atomically(self._path, b"".join(lines))
        self._offsets.clear()
        end = 0
        for value, line in zip(values, lines, strict=True):
            self._offsets[self._key(value)] = end
            end += len(line)


def read_log(path: Path, kind: type[V]) -> Iterator[V]:
    """Yield all values of a log in order, replaced ones included; the file stays as it is.

    Raises:
        RecordError: If a line cannot be read; it names the file and the line.
    """
    return (value for _, _, value in _read_lines(path, kind))


def _read_lines(path: Path, kind: type[V]) -> Iterator[tuple[int, int, V]]:
    """Yield the value of each complete line, between the offsets of its start and end."""
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    end = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                value = decode(line, decoder)
            except msgspec.DecodeError as error:
                raise RecordError(f"{path}, line {number}: {error}") from None
            yield end, end + len(line), value
            end += len(line)


def delete(paths: Iterable[Path]) -> None:
    """Delete files and folders; a folder is gone at once, even if the process is killed."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(
                path if path.suffix == ".part" else path.rename(f"{path}.{os.getpid()}.part")
            )
        else:
            path.unlink(missing_ok=True)
