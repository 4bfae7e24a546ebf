"""A folder whose work can be resumed: it belongs to its settings, and to one process at a time.

The settings are in `settings.json`. Work of other settings is refused or, if the user asks for it,
replaced; then only files that belong to this kind of work are deleted.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EAGAIN, EWOULDBLOCK
from pathlib import Path
from typing import Any

import msgspec

from timeful.errors import RecordError, SettingsError, TimefulError
from timeful.files import decode
from timeful.records.store import delete, write_atomically

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows has no such locks: no process is kept out there
    flock = None  # type: ignore[assignment]

SETTINGS = "settings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderKind:
    """A kind of folder whose work can be resumed.

    Attributes:
        noun: Its name in errors, such as "run".
        contents: Patterns of the files and folders that belong to it; to replace it deletes these.
        fields: Fields that all settings of this kind have, next to `suite`, which must be equal.
        locations: Fields that only locate something, such as a file whose hash is another field;
            work can be resumed when they differ.
        option: The option that names the folder.
        is_always_replaced: Whether `replace` also deletes the work of equal settings.
    """

    noun: str
    contents: tuple[str, ...]
    fields: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    option: str = "--out"
    is_always_replaced: bool = False


@contextmanager
def open_folder(
    folder: Path, settings: Mapping[str, Any], kind: FolderKind, *, replace: bool = False
) -> Iterator[bool]:
    """Lock a folder for these settings, and yield whether it has work of theirs to resume.

    New work that ends with an error before it has kept anything leaves no folder.

    Args:
        folder: The folder; made if needed.
        settings: All that makes the work what it is, as plain JSON values.
        kind: What else the folder holds.
        replace: Delete the work of other settings.

    Raises:
        SettingsError: If the folder holds other work, or another process uses it.
    """
    check_path(folder, kind)
    new = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    with locked(folder):
        path = folder / SETTINGS
        has_work = path.exists()
        if has_work and replace:
            check_kind(folder, settings, kind)
            if kind.is_always_replaced or differences(path, settings, kind.locations):
                delete([entry for pattern in kind.contents for entry in folder.glob(pattern)])
                has_work = False
        else:
            check_folder(folder, settings, kind)
        for pattern in (SETTINGS, *kind.contents):
            delete((*folder.glob(f"{pattern}.*part"), *folder.glob(f"{pattern}/**/*.part")))
        if not has_work or differences(path, settings):
            write_atomically(path, msgspec.json.format(msgspec.json.encode(settings)))
        try:
            yield has_work
        except TimefulError:
            if not has_work:
                _withdraw(folder, kind, new)
            raise


def _withdraw(folder: Path, kind: FolderKind, new: Sequence[Path]) -> None:
    """Delete the settings, and the folders that were made for them, if there is no work."""
    entries = [entry for pattern in kind.contents for entry in folder.glob(pattern)]
    inner = [path for entry in entries for path in (entry, *entry.rglob("*"))]
    if not any(path.is_file() and path.stat().st_size for path in inner):
        delete([*entries, folder / SETTINGS])
        for path in new:
            with suppress(OSError):  # it is not empty
                path.rmdir()


def check_folder(folder: Path, settings: Mapping[str, Any], kind: FolderKind) -> None:
    """Check that a folder is new or empty, or has work of equal settings; nothing is written.

    Raises:
        SettingsError: If it holds other work, or cannot be written to.
    """
    check_path(folder, kind)
    path = folder / SETTINGS
    if path.exists():
        check_kind(folder, settings, kind)
        if names := differences(path, settings, kind.locations):
            raise SettingsError(
                f"{folder} holds a {kind.noun} with other settings (differs in: "
                f"{', '.join(names)}); give another {kind.option}, or start afresh with "
                "--replace"
            )
    elif folder.exists() and not all(entry.suffix == ".part" for entry in folder.iterdir()):
        raise SettingsError(
            f"{folder} is not empty and holds no {kind.noun}; give another {kind.option}"
        )


def check_path(folder: Path, kind: FolderKind) -> None:
    """Check that a folder exists or can be made.

    Raises:
        SettingsError: If a part of its path is a file, or may not be written to.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise SettingsError(f"{existing} is a file; give another {kind.option}")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise SettingsError(f"{existing} may not be written to; give another {kind.option}")


def check_kind(folder: Path, settings: Mapping[str, Any], kind: FolderKind) -> None:
    """Check that the work in a folder is of this kind, so that it may be replaced.

    Raises:
        SettingsError: If it is not; it may have been paid for.
    """
    old_settings = _decode_settings(folder / SETTINGS)
    if (
        old_settings is None
        or old_settings.get("suite") != settings.get("suite")
        or not old_settings.keys() >= set(kind.fields)
    ):
        raise SettingsError(
            f"{folder} holds something else than such a {kind.noun}, which --replace does not "
            f"touch; give another {kind.option}"
        )


def differences(
    path: Path, settings: Mapping[str, Any], ignored: Collection[str] = ()
) -> list[str]:
    """The fields in which settings differ from those of a file, as `table.field`."""
    old = _flat(_decode_settings(path) or {})
    new = _flat(msgspec.json.decode(msgspec.json.encode(settings)))
    return sorted(name for name in {*old, *new} - {*ignored} if old.get(name) != new.get(name))


def read_settings(folder: Path) -> dict[str, Any]:
    """The settings of the work in a folder; a run's have the name of its suite under "suite".

    Raises:
        RecordError: If the folder has none.
    """
    try:
        return decode((folder / SETTINGS).read_bytes(), dict[str, Any])
    except FileNotFoundError:
        inside = ", ".join(str(path.parent) for path in sorted(folder.glob(f"*/{SETTINGS}")))
        raise RecordError(
            f"{folder} holds no run" + (f", but these do: {inside}" if inside else "")
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise RecordError(f"{folder} holds no run: {error}") from error


def _decode_settings(path: Path) -> dict[str, Any] | None:
    """The settings of a folder; None if they cannot be read."""
    try:
        return decode(path.read_bytes(), dict[str, Any])
    except msgspec.DecodeError:
        return None


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and value:
            fields |= _flat(value, f"{prefix}{name}.")
        else:
            fields[prefix + name] = value
    return fields


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; it is made if needed.

    The lock is on the folder itself: it leaves no file, and ends with its process. File systems
    without such locks, as some network ones, keep no process out.

    Raises:
        SettingsError: If another process has locked it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if flock is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except OSError as error:
            if error.errno in (EAGAIN, EWOULDBLOCK):
                raise SettingsError(
                    f"another process is at work in {folder}; wait for its end, or choose "
                    "another folder"
                ) from None
        yield
    finally:
        os.close(descriptor)
