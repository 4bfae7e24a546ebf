"""The process of a program: its environment, its output and its end."""

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO

from timeful.errors import ProgramError, SettingsError

MOST_OUTPUT = 1 << 16
"""The last bytes of an output that a record keeps."""

_TERM_S = 1.0
_SET_DEATH_SIGNAL = 1  # of prctl(2)
_READ = 1 << 12
_SECRETS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def read_command(command: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a command.

    Raises:
        SettingsError: If it is empty, cannot be split, or its program does not exist.
    """
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise SettingsError(f"the command {command!r} cannot be read: {error}") from None
    if not words:
        raise SettingsError("a program needs a command, such as 'python my_agent.py'")
    if shutil.which(words[0]) is None:
        raise SettingsError(f"there is no program {words[0]!r} to run {shlex.join(words)!r}")
    return words


def make_environment(outer: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The variables of a program: those outside without secrets, and its own."""
    return {
        **{name: value for name, value in outer.items() if not name.endswith(_SECRETS)},
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **own,
    }


class Process:
    """A running program.

    Args:
        command: Its words.
        environment: All its variables.
        on_end: Called from a thread when it has ended.

    Raises:
        ProgramError: If it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        on_end: Callable[[], None],
    ) -> None:
        self._command = shlex.join(command)
        try:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that its own processes end with it
                preexec_fn=_end_with(os.getpid()),  # noqa: PLW1509 - one system call, no locks
            )
        except OSError as error:
            raise ProgramError(f"{self._command} cannot be started: {error}") from error
        self._outputs = {"stdout": bytearray(), "stderr": bytearray()}
        pipes = (self._process.stdout, self._process.stderr)
        self._readers = [
            Thread(target=_collect, args=(pipe, output), daemon=True)
            for pipe, output in zip(pipes, self._outputs.values(), strict=True)
        ]
        for thread in self._readers:
            thread.start()
        Thread(target=self._wait, args=(on_end,), daemon=True).start()

    def check(self) -> None:
        """Check how the program, which has ended, ended.

        Raises:
            ProgramError: If it failed; the message has the last line of its standard error.
        """
        code = self._process.wait()
        if code != 0:
            end = f"signal {-code}" if code < 0 else f"exit code {code}"
            self._join()
            lines = self.output("stderr").strip().splitlines() or ["nothing on standard error"]
            raise ProgramError(f"{self._command} ended with {end}: {lines[-1].strip()}")

    def leave(self, grace_s: float) -> str:
        """Wait for the end of the program, and end it after a while, with its own processes.

        Returns:
            How it ended, if not by itself with exit code 0; else "".
        """
        end = ""
        try:
            code = self._process.wait(grace_s)
            end = f"exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            end = f"terminated {grace_s:g} s after the end of its episode"
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_TERM_S)
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.wait()
        self._join()
        return end

    def output(self, name: str) -> str:
        """What it wrote to `stdout` or `stderr`; of a long output the end."""
        return self._outputs[name].decode(errors="replace")

    def _wait(self, on_end: Callable[[], None]) -> None:
        self._process.wait()
        on_end()

    def _join(self) -> None:
        for thread in self._readers:
            thread.join(_TERM_S)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()


def _end_with(parent: int) -> Callable[[], None] | None:
    """Let the kernel end a child if this process is killed, where the system can do that."""
    if not sys.platform.startswith("linux"):
        return None
    set_option = ctypes.CDLL(None).prctl

    def apply() -> None:
        set_option(_SET_DEATH_SIGNAL, int(signal.SIGKILL))
        if os.getppid() != parent:  # it was killed meanwhile
            os._exit(1)

    return apply


def _collect(pipe: IO[bytes] | None, output: bytearray) -> None:
    assert pipe is not None, "the process was started with pipes"
    while piece := os.read(pipe.fileno(), _READ):
        output += piece
        del output[:-MOST_OUTPUT]
    pipe.close()
