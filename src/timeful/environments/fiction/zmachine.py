"""Z-machine games, played by Jericho in a process of their own (see `jericho_server.py`).

The process gets a copy of the story in a folder of its own, which goes away with it, since games
can be told to write files; it gets nothing of our environment. One that dies or says nothing for
too long is a `WorldError`, and is killed.
"""

import json
import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Lock
from typing import Any, NoReturn

from timeful.core.clock import monotonic_ns
from timeful.errors import SettingsError, WorldError

VERSIONS = (1, 2, 3, 4, 5, 7, 8)
_FACTOR = {1: 2, 2: 2, 3: 2, 4: 4, 5: 4, 7: 8, 8: 8}
"""What the length in the header is counted in, by version."""

_SERVER = Path(__file__).with_name("jericho_server.py")
_PATIENCE_S = 20.0
_START_S = 120.0
"""To import Jericho on a loaded machine, for the first time."""
_LONGEST = 4 << 20
"""The longest line that is read, in bytes; no game says as much at once."""


def check_story(path: Path) -> int:
    """The version of a z-machine story file.

    Raises:
        SettingsError: If it is none, or one that cannot be played, with the reason.
    """
    try:
        with path.open("rb") as file:
            head, size = file.read(64), path.stat().st_size
    except OSError as error:
        raise SettingsError(f"cannot read the story file {path}: {error.strerror}") from None
    if head[:4] == b"Glul":
        raise SettingsError(f"{path} is a Glulx game; only z-machine games (.z3 to .z8) are played")
    if head[:4] == b"FORM":
        raise SettingsError(f"{path} is a Blorb archive; unpack the z-machine story in it first")
    version = head[0] if len(head) == 64 else 0
    if version not in VERSIONS:
        raise SettingsError(
            f"{path} is no z-machine story file: its first byte must be a version, "
            f"{', '.join(map(str, VERSIONS))}"
        )
    length = int.from_bytes(head[26:28], "big") * _FACTOR[version]
    if length > size or not 64 <= int.from_bytes(head[14:16], "big") <= size:
        raise SettingsError(f"{path} is no z-machine story file, or is cut short: see its header")
    return version


class ZMachineGame:
    """A `TextGame` in a story file.

    Args:
        story: The file.
        seed: Of the game's chance.
        python: The Python that has Jericho; None for this one.
        patience_s: The longest that an answer may take.

    Raises:
        SettingsError: If this is no story file, or there is no Jericho.
        WorldError: If the game does not start.
    """

    def __init__(
        self, story: Path, *, seed: int, python: Path | None = None, patience_s: float = _PATIENCE_S
    ) -> None:
        check_story(story)
        self._story = story
        self._seed = seed & 0x7FFFFFFF  # what Frotz takes
        self._python = str(python or sys.executable)
        self._patience_s = patience_s
        self._lock = Lock()
        self._process: _Process | None = None
        self.reset()

    def reset(self) -> None:
        """Go back to the start; a process that is busy, or gone, makes way for a new one."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self.close()
        if self._process is None:
            self._process = _Process(self._python, self._story, self._seed)
        self.moves = 0
        self._known: tuple[int, tuple[str, ...]] | None = None
        self._read_answer(self._ask({"do": "reset"}, _START_S))
        self.opening, self.start_score = self._said, self.score

    def step(self, action: str) -> str:
        """Type a command.

        Raises:
            WorldError: If the game is over, or its process is gone or silent.
        """
        if self.over:
            raise WorldError("the game is over")
        self.moves += 1
        self._read_answer(self._ask({"do": "step", "action": action}, self._patience_s))
        return self._said

    def available_actions(self) -> tuple[str, ...]:
        """Commands that change something, found by trial; remembered until the next move.

        Raises:
            WorldError: If the process is gone or silent.
        """
        if self.over:
            return ()
        if self._known is None or self._known[0] != self.moves:
            moves = self.moves
            actions = self._ask({"do": "actions"}, self._patience_s)["actions"]
            self._known = (moves, tuple(actions))
        return self._known[1]

    def close(self) -> None:
        """Kill the process; who waits for it elsewhere gets a `WorldError`."""
        process = self._process
        if process is not None:
            process.kill()
            with self._lock:
                process.clean_up()
                self._process = None

    def _read_answer(self, answer: dict[str, Any]) -> None:
        self._said: str = answer["said"]
        self.score: int = answer["score"]
        self.max_score: int | None = answer["max"]
        self.over: bool = answer["over"]
        self.won: bool = answer["won"]

    def _ask(self, request: dict[str, Any], patience_s: float) -> dict[str, Any]:
        with self._lock:
            process = self._process
            if process is None:
                raise WorldError("the game was closed")
            try:
                return process.ask(request, patience_s)
            except (WorldError, SettingsError):
                process.kill()
                process.clean_up()
                self._process = None
                raise


class _Process:
    def __init__(self, python: str, story: Path, seed: int) -> None:
        self._folder = TemporaryDirectory(prefix="timeful-game-")
        copy = Path(self._folder.name, f"story{story.suffix}")
        copyfile(story, copy)
        self._errors = TemporaryFile()  # noqa: SIM115 - closed with the process
        self._read = b""
        try:
            self._process = subprocess.Popen(
                [python, "-I", str(_SERVER), str(copy), str(seed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=self._folder.name,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": self._folder.name},
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            self._folder.cleanup()
            raise SettingsError(f"cannot start {python}: {error.strerror}") from None

    def ask(self, request: dict[str, Any], patience_s: float) -> dict[str, Any]:
        """Send a line, and wait for the next one.

        Raises:
            WorldError: If none comes.
            SettingsError: If Jericho is missing.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            self._fail("the process of the game is gone")
        line = self._line(patience_s)
        try:
            answer = json.loads(line)
        except ValueError:
            self._fail(f"the process of the game said {line[:80]!r}")
        if "missing" in answer:
            raise SettingsError(
                f"z-machine games need the package 'jericho' ({answer['missing']}): "
                "pip install 'timeful[jericho]'"
            )
        assert isinstance(answer, dict)
        return answer

    def _line(self, patience_s: float) -> bytes:
        assert self._process.stdout is not None
        until = monotonic_ns() + round(patience_s * 1e9)
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._read:
            timeout_s = (until - monotonic_ns()) / 1e9
            if timeout_s <= 0 or not select.select([pipe], [], [], timeout_s)[0]:
                self._fail(f"the game said nothing for {patience_s:g} s")
            block = os.read(pipe, 1 << 16)
            if not block:
                self._fail("the process of the game ended")
            self._read += block
            if len(self._read) > _LONGEST:
                self._fail(f"the process of the game said more than {_LONGEST} bytes at once")
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _fail(self, why: str) -> NoReturn:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise WorldError(f"{why}: {lines[-1]}" if lines else why)

    def kill(self) -> None:
        """End it, from any thread."""
        self._process.kill()

    def clean_up(self) -> None:
        """Let go of what it had; harmless when called again."""
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent is not missed
                    pipe.close()
        self._errors.close()
        self._folder.cleanup()
