"""A running sandbox: starts it, sends it programs, watches their limits, and ends it."""

import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from timeful.core.clock import monotonic_ns
from timeful.errors import SandboxError
from timeful.sandbox import processes
from timeful.sandbox.backend import Launch
from timeful.sandbox.folder import Folder
from timeful.sandbox.limits import Output, WorkLimits
from timeful.sandbox.usage_monitor import UsageMonitor

START_S = 120.0  # Python and the warm modules, on a busy machine
GRACE_S = 12.0  # after a limit, for the sandbox to end a run by itself
WATCH_MS = 20
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended: what it printed, what was wrong ("" if nothing), and how long it took."""

    stdout: str
    error: str
    took_ns: int


class Worker:
    """One process of workspace_child.py in its sandbox.

    Args:
        launch: How it is started.
        folder: What the program may write.
        modules: What is imported before the first run.
        limits: Of each run.

    Raises:
        SandboxError: If the sandbox cannot be started.
    """

    def __init__(
        self, launch: Launch, *, folder: Folder, modules: Sequence[str], limits: WorkLimits
    ) -> None:
        self._launch, self._limits = launch, limits
        self._open, self._closed = threading.Lock(), False  # for `stop`, from another thread
        self._number = 0
        self._rest = b""
        self._control, child_socket = socket.socketpair()
        self._control.settimeout(GRACE_S)  # a program can be longer than what a pipe holds
        self._output, write = os.pipe()
        os.set_blocking(self._output, False)
        self._wake_read, self._wake_write = os.pipe()
        for fd in (self._wake_read, self._wake_write):
            os.set_blocking(fd, False)
        try:
            self._process = subprocess.Popen(
                launch.command,
                stdin=child_socket.fileno(),
                stdout=write,
                stderr=write,
                cwd="/",
                env=dict(launch.environment),
                start_new_session=True,  # no terminal, and Ctrl-C is for us
            )
        except OSError as error:
            for fd in (self._output, self._wake_read, self._wake_write):
                os.close(fd)
            self._control.close()
            raise SandboxError(f"the sandbox could not be started: {error}") from error
        finally:
            child_socket.close()
            os.close(write)
        self._looks = UsageMonitor(self._process.pid, folder=folder, limits=limits)
        self._send({**launch.settings, "modules": list(modules)})

    def wait_ready(self) -> bool:
        """Wait until all modules are there; False if it was stopped meanwhile.

        Raises:
            SandboxError: If that takes too long, or fails.
        """
        if self._looks.trusted:
            return True
        output = Output(4096)
        until = monotonic_ns() + int(START_S * 1e9)
        while b"\n" not in self._rest:
            ready = self._poll((until - monotonic_ns()) / 1e6)
            if self._wake_read in ready:
                return False
            if self._output in ready:
                self._drain(output)
            if (self._control.fileno() in ready and not self._receive()) or not ready:
                self._drain(output)
                self.kill()
                said_last = output.text().strip().splitlines()[-1:] or ["it said nothing"]
                raise SandboxError(f"the sandbox did not start: {said_last[0]}")
        self._answer()
        self._looks.trust_all()
        return True

    def run(self, code: str, *, limit_s: float) -> RunOutcome:
        """Run a program to its end, and that of all it started. The worker may be dead then."""
        self._number += 1
        output = Output(self._limits.output_bytes)
        start = monotonic_ns()
        self._send(
            {
                "number": self._number,
                "code": code,
                "limit_ns": int(limit_s * 1e9),
                "limits": _resource_limits(self._limits, is_alone=self._launch.is_alone),
            }
        )
        why = self._watch(output, until=start + int((limit_s + GRACE_S) * 1e9))
        answer = self._answer() if b"\n" in self._rest else None
        took = monotonic_ns() - start
        if answer is None or not answer["clean"]:
            self.kill()
        self._looks.forget()
        self._drain(output)  # only now: who lives and prints can do so without end
        if answer is None:
            took = min(took, int(limit_s * 1e9))
            return RunOutcome(stdout=output.text(), error=why or self._exit(), took_ns=took)
        return RunOutcome(
            stdout=output.text(),
            error=_error(answer, why, limit_s) or self._looks.too_much_disk(),
            took_ns=min(answer["took_ns"], took),
        )

    @property
    def is_dead(self) -> bool:
        """Whether it has ended, or was killed, so that another one is needed."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """End the run under way, from any thread."""
        with self._open:
            if not self._closed:
                with suppress(BlockingIOError):  # it is full of stops
                    os.write(self._wake_write, b".")

    def forget_stop(self) -> None:
        """Forget what came too late to stop anything."""
        with suppress(BlockingIOError):
            os.read(self._wake_read, 1 << 16)

    def kill(self) -> None:
        """End the sandbox with everything in it, without asking."""
        while self._process.poll() is None:
            processes.kill([*processes.descendants(self._process.pid), self._process.pid])
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.01)
        # Where there is no PID namespace, what it had started has lost its ancestor.
        if not self._launch.is_alone:
            processes.kill(self._looks.seen)
        self._looks.forget()

    def close(self) -> None:
        """End it and let go of everything. Only once."""
        with suppress(OSError):  # whoever was forked from us has a copy, so closing says nothing
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)  # it ends by itself when nobody is there to listen to
        self.kill()
        with self._open:
            self._closed = True
            for fd in (self._output, self._wake_read, self._wake_write):
                os.close(fd)

    def _watch(self, output: Output, *, until: int) -> str:
        """Wait for the answer to a run and stop it at a limit; returns the reason, or ""."""
        why, next_look = "", monotonic_ns()
        while b"\n" not in self._rest and monotonic_ns() < until:
            ready = self._poll(max(0, next_look - monotonic_ns()) / 1e6)
            if self._output in ready:
                self._drain(output, pieces=64)
            if self._control.fileno() in ready and not self._receive():
                break
            if self._wake_read in ready:
                self.forget_stop()
                why = why or "stopped"
            elif why:
                continue
            elif output.total > max(self._limits.file_bytes, 64 * self._limits.output_bytes):
                why = "over its output: it printed without end"
            elif monotonic_ns() >= next_look:
                why = self._looks.too_much()
                next_look = monotonic_ns() + WATCH_MS * 1_000_000
            if why:
                self._send({"stop": self._number})
                until = next_look = min(until, monotonic_ns() + int(GRACE_S * 1e9))
        return why

    def _poll(self, timeout_ms: float) -> list[int]:
        poll = select.poll()
        for fd in (self._wake_read, self._control.fileno(), self._output):
            poll.register(fd, select.POLLIN)
        return [fd for fd, event in poll.poll(max(0, timeout_ms)) if event]

    def _send(self, value: Mapping[str, Any]) -> None:
        with suppress(OSError):  # it is dead then, which reading from it will show
            self._control.sendall(json.dumps(value).encode() + b"\n")

    def _receive(self) -> bool:
        try:
            piece = self._control.recv(_PIECE)
        except OSError:
            return False
        self._rest += piece
        return bool(piece)

    def _answer(self) -> dict[str, Any]:
        line, self._rest = self._rest.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _drain(self, output: Output, *, pieces: int = 1 << 10) -> None:
        """Read the available output without waiting: other processes may hold the pipe open.

        Without confinement they may even keep writing, so the number of pieces is limited.
        """
        try:
            for _ in range(pieces):
                piece = os.read(self._output, _PIECE)
                if not piece:
                    return
                output.add(piece)
        except BlockingIOError:
            pass

    def _exit(self) -> str:
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else f"killed by {_name(-code)}"
        return f"the sandbox ended ({how})"


def _resource_limits(limits: WorkLimits, *, is_alone: bool) -> dict[str, int]:
    """The limits that the kernel enforces for each process."""
    present = 1 if is_alone else processes.threads_of_user()
    return {
        "DATA": limits.memory_bytes,
        "FSIZE": limits.file_bytes,
        "NPROC": limits.processes + present,
        "NOFILE": 256,
        "CORE": 0,
    }


def _error(answer: Mapping[str, Any], why: str, limit_s: float) -> str:
    if answer["why"] == "time":
        return f"over its time of {limit_s:g} s"
    if answer["why"] == "stopped":
        return why or "stopped"
    status = answer["status"]
    if status < 0:
        return f"killed by {_name(-status)}"
    if not answer["clean"]:
        return "it left processes that did not end"
    return f"exit code {status}" if status else ""


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of those for real time have none
        return f"signal {number}"
