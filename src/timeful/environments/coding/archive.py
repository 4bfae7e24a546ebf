"""Reads archives that others packed: named members only, bounded, and never by their own paths."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from timeful.errors import SettingsError

MOST_BYTES = 512 << 20
"""The most bytes of a member; the largest that is needed has some 30 MB."""
_MOST_MEMBERS = 20_000


class Archive:
    """A zip archive, and the archives in it one level down.

    Args:
        source: The file, or its bytes.
        name: What to call it in errors.
        most: The most bytes that a member may have.
        is_inner: Whether it was in another one; no third is opened in it.

    Raises:
        SettingsError: If it cannot be read, or has members that no honest archive has.
    """

    def __init__(
        self,
        source: Path | bytes,
        *,
        name: str,
        most: int = MOST_BYTES,
        is_inner: bool = False,
    ) -> None:
        self._name, self._most, self._is_inner = name, most, is_inner
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)
        except (OSError, zipfile.BadZipFile, ValueError) as error:
            raise SettingsError(f"{name} cannot be read as a zip archive: {error}") from None
        members = self._zip.infolist()
        if len(members) > _MOST_MEMBERS:
            raise SettingsError(f"{name} has {len(members)} members; {_MOST_MEMBERS} are too many")
        for member in members:
            path = PurePosixPath(member.filename.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts:
                raise SettingsError(f"{name} has a member that leads out of it: {member.filename}")
            if member.file_size > most:
                raise SettingsError(
                    f"{name}: {member.filename} would unpack to {member.file_size} bytes; the most "
                    f"that is read is {most}"
                )

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has(self, filename: str) -> bool:
        """Whether there is a file of that name, in whatever folder."""
        return self._find(filename) is not None

    def read(self, filename: str) -> bytes:
        """Read a file by its name, in whatever folder it is, packed once more or not.

        Raises:
            SettingsError: If there is none, or it is damaged.
        """
        member = self._find(filename)
        if member is not None:
            return self._bytes(member)
        with self.inner(filename + ".zip", label=filename) as inner:
            return inner.read(filename)

    def inner(self, filename: str, *, label: str = "") -> "Archive":
        """Open an archive in this one.

        Raises:
            SettingsError: If there is none, or it cannot be read.
        """
        member = self._find(filename)
        if member is None or self._is_inner:
            there = sorted({PurePosixPath(n).name for n in self._zip.namelist()})[:12]
            raise SettingsError(
                f"{self._name} has no {label or filename}; it has {', '.join(there) or 'nothing'}"
            )
        name = f"{self._name}/{filename}"
        return Archive(self._bytes(member), name=name, most=self._most, is_inner=True)

    def files(self, suffix: str) -> Iterator[tuple[str, bytes]]:
        """All files with a suffix: their names without folders, and what is in them."""
        for member in self._zip.infolist():
            name = PurePosixPath(member.filename).name
            if name.endswith(suffix) and not member.is_dir() and not name.startswith("."):
                yield name, self._bytes(member)

    def _find(self, filename: str) -> zipfile.ZipInfo | None:
        """The member of that name that is nearest to the top; what macOS adds is no member."""
        members = [
            member
            for member in self._zip.infolist()
            if PurePosixPath(member.filename).name == filename
            and not member.is_dir()
            and not member.filename.startswith("__MACOSX/")
        ]
        return min(members, key=lambda info: info.filename.count("/"), default=None)

    def _bytes(self, member: zipfile.ZipInfo) -> bytes:
        try:
            with self._zip.open(member) as file:
                content = file.read(self._most + 1)
        except (OSError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            # RuntimeError: it has a password. NotImplementedError is one, too.
            raise SettingsError(f"{self._name}: {member.filename} is damaged: {error}") from None
        if len(content) > self._most:
            raise SettingsError(f"{self._name}: {member.filename} is larger than it says")
        return content
