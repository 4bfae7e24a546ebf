"""The folder of a workspace on our side; its contents are never trusted.

A program may leave symlinks, pipes and deep folders: every component of a path is opened without
following links, and only regular files up to a size are read.
"""

import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from timeful.errors import SandboxError, SettingsError
from timeful.sandbox.processes import BLOCK, PAGE

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe must not block us


class Folder:
    """A new folder with `work`, where a program runs, and `tmp` and `shm` for its waste.

    `given` is how many bytes of it were laid there for the program, and so are not its own.
    """

    def __init__(self) -> None:
        try:
            self.root = Path(tempfile.mkdtemp(prefix="timeful-")).resolve()
        except OSError as error:
            raise SandboxError(f"no folder could be made for the program: {error}") from error
        self.work, self.tmp, self.shm = (self.root / name for name in ("work", "tmp", "shm"))
        for folder in (self.work, self.tmp, self.shm):
            folder.mkdir()
        self.given = 0.0

    def open_up(self) -> None:
        """Restore the access rights of these folders, which a program may have removed."""
        for folder in (self.work, self.tmp, self.shm):
            with suppress(OSError):
                folder.chmod(0o700)

    def empty_tmp(self) -> None:
        """Delete the files that programs left in their home and temporary folder."""
        self._delete(self.tmp)
        self.tmp.mkdir()

    def read(self, name: str, *, most: int) -> bytes | None:
        """The contents of a file below `work`; None if it is not a small regular file."""
        parent = self._open_parent(name)
        if parent is None:
            return None
        try:
            fd = os.open(PurePosixPath(name).name, _FILE, dir_fd=parent)
        except OSError:
            return None
        finally:
            os.close(parent)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            os.close(fd)
            return None
        with open(fd, "rb") as file:
            return file.read(most)

    def remove(self, name: str) -> None:
        """Remove a file or folder that an earlier run left below `work`.

        Raises:
            SandboxError: If it cannot be removed.
        """
        parent = self._open_parent(name)
        if parent is None:
            return
        last = PurePosixPath(name).name
        try:
            os.fchmod(parent, 0o700)
            if stat.S_ISDIR(os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode):
                # Moved away first: what is in it may be closed, or too deep for any path.
                os.chmod(last, 0o700, dir_fd=parent)
                os.rename(last, self.root / "old", src_dir_fd=parent)
                self._delete(self.root / "old")
            else:
                os.unlink(last, dir_fd=parent)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise SandboxError(f"{name} of an earlier run cannot be removed: {error}") from error
        finally:
            os.close(parent)

    def disk_bytes(self) -> float | None:
        """The bytes on disk beyond those given; None if something went away under our eyes.

        It is infinite if a program hides some from us. Files without anything in them count, too:
        the disk has only so many.
        """
        total, folders = -self.given, [self.root]
        try:
            while folders:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        blocks = entry.stat(follow_symlinks=False).st_blocks
                        total += max(blocks * BLOCK, PAGE)
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(Path(entry.path))
        except FileNotFoundError:
            return None
        except OSError:
            return float("inf")  # nested deeper than a path can be, or not readable for us
        return total

    def free_bytes(self) -> float:
        """The bytes that are free on its file system."""
        status = os.statvfs(self.root)
        return float(status.f_bavail * status.f_frsize)

    def delete(self) -> None:
        """Delete all of it, whatever state it is in; harmless when called again.

        Folders are moved up before they are looked into, so that none is too deep, and made
        writable. Nothing may run in it any more.
        """
        if self.root.exists():
            self._delete(self.root)

    def _delete(self, top: Path) -> None:
        waiting, empty = [top], []
        for number, folder in enumerate(waiting):
            for entry in list(os.scandir(folder)):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
                    waiting.append(self.root / f".{number}-{len(waiting)}")
                    os.rename(entry.path, waiting[-1])
                else:
                    os.unlink(entry.path)
            empty.append(folder)
        for folder in reversed(empty):
            folder.rmdir()

    def _open_parent(self, name: str) -> int | None:
        try:
            fd = os.open(self.work, _FOLDER)
        except OSError:
            return None
        for name_part in PurePosixPath(name).parts[:-1]:
            try:
                inner = os.open(name_part, _FOLDER, dir_fd=fd)
            except OSError:
                return None
            finally:
                os.close(fd)
            fd = inner
        return fd


def check_names(names: Iterable[str]) -> None:
    """Refuse paths that do not lie below a folder.

    Raises:
        SettingsError: If one is absolute, empty, or goes up.
    """
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
            raise SettingsError(
                f"{name!r} does not name a file of the workspace; give a path below its folder, "
                "such as submission.csv"
            )
