"""Model-written policies run in a process of their own, confined by the kernel.

What is promised about such a process (its program is policy_child.py):

* It has no file, no socket, no child process, no thread and no signal to send, since the kernel
  refuses the system calls (seccomp, Linux on x86_64 and aarch64). Elsewhere nothing is run.
* It has none of our environment variables, and what it prints goes nowhere.
* It ends with this process, also when that is killed.
* Its memory, the CPU and wall time of each action and the length of its answers are limited.
* An error in it, or a policy that answers nonsense, costs that action only; globals stay.
* A policy that breaks a limit, or ends its process, is dead. The next action starts it afresh,
  without what it remembered: a limit that one state breaks must not lose all turns after it.
* The same policy gives the same actions, unless it reads a clock: hashes and `random` are seeded.
"""

import json
import os
import platform
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timeful.core.clock import monotonic_ns
from timeful.errors import SandboxError
from timeful.sandbox.limits import PositiveLimits

MACHINES = ("x86_64", "aarch64")
_CHILD = Path(__file__).with_name("policy_child.py")
_START_S = 30.0  # for Python itself, which a busy machine may start slowly
_PIECE = 1 << 16
_MESSAGE_LENGTH = 500
_LAUNCHER = ThreadPoolExecutor(1, thread_name_prefix="policies")
"""Starts all policies: the kernel ends a policy with the *thread* that started it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(PositiveLimits):
    """Limits of a policy; each above 0.

    `cpu_s` and `wall_s` hold for loading it and for each action. `cpu_s` counts computing only,
    so that a busy machine takes nothing away; the wall limit is for code that only waits, or
    that cannot be stopped from within. `memory_bytes` counts the whole address space, of which
    Python takes about 30 MiB. `output_bytes` is the greatest length of an action, and
    `code_bytes` that of the source.
    """

    cpu_s: float = 1.0
    wall_s: float = 5.0
    memory_bytes: int = 256 << 20
    output_bytes: int = 4096
    code_bytes: int = 200_000


def unavailable() -> str | None:
    """The reason why this machine cannot run policies; None if it probably can."""
    if sys.platform == "linux" and platform.machine() in MACHINES:
        return None
    return (
        f"model-written programs run on Linux ({' or '.join(MACHINES)}) only, where the kernel "
        f"can confine them; this is {platform.system()} on {platform.machine()}"
    )


class PolicyProcess:
    """A running policy; see `timeful.agents.code_policy.Program`.

    It may be asked from any thread, and closed from another one meanwhile.

    Args:
        source: Python source that defines `next_action(state)`, which returns text.
        limits: What it may use.

    Raises:
        SandboxError: If it is too long, is not valid, fails as it is loaded, or cannot be
            confined on this machine.
    """

    def __init__(self, source: str, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._source = source
        self._lock = threading.Lock()
        self._closed = False
        self._child: _Child | None = None
        if (size := len(source.encode(errors="replace"))) > self._limits.code_bytes:
            raise SandboxError(
                f"the program has {size} bytes; at most {self._limits.code_bytes} are run"
            )
        self._start()

    def next_action(self, state: dict[str, Any]) -> str:
        """Ask for the action in a state of plain JSON values; tuples arrive as lists.

        Raises:
            SandboxError: If the policy fails, breaks a limit or returns no text, or is closed.
        """
        with self._lock:
            child = self._child if self._child is not None else self._start()
            answer = self._ask(child, state, "next_action")
            action = answer.get("action")
            if not isinstance(action, str):
                self._end()
                raise SandboxError("next_action answered something that cannot be read")
            return action

    def close(self) -> None:
        """End the process; harmless when called again."""
        self._closed = True
        child = self._child
        if child is not None:
            child.kill()  # whoever waits for its answer sees its end, and lets go of the lock
        with self._lock:
            self._end()

    def __del__(self) -> None:
        if getattr(self, "_child", None) is not None:
            self._end()

    def _start(self) -> "_Child":
        if self._closed:
            raise SandboxError("the program was closed")
        child = self._child = _Child(self._limits)
        try:
            self._begin(child)
            self._ask(child, self._source, "the program")
        except SandboxError:
            self._end()
            raise
        return child

    def _begin(self, child: "_Child") -> None:
        """Wait until it is confined."""
        try:
            line = child.hear(_START_S)
        except SandboxError as error:
            raise SandboxError(f"the sandbox did not start: it {error}") from None
        self._read(line, "the sandbox")

    def _ask(self, child: "_Child", request: object, subject: str) -> dict[str, Any]:
        try:
            line = child.ask(json.dumps(request).encode() + b"\n", self._limits.wall_s)
        except SandboxError as error:
            self._end()
            raise SandboxError(f"{subject} {error}") from None
        return self._read(line, subject, number=child.asked)

    def _read(self, line: bytes, subject: str, *, number: int | None = None) -> dict[str, Any]:
        """Read an answer, which the policy's own code may have written."""
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or answer.get("number") != number:
            self._end()
            raise SandboxError(f"{subject} answered something that cannot be read")
        if "error" in answer:
            if answer.get("broken"):
                self._end()
            raise SandboxError(_clean(str(answer["error"])))
        return answer

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class _Child:
    """One confined process and its two pipes. Its errors continue a sentence about it."""

    def __init__(self, limits: Limits) -> None:
        if why := unavailable():
            raise SandboxError(why)
        self.asked = -1
        # Room for JSON's escapes, and for an error instead of an action.
        self._most = 6 * limits.output_bytes + 8192
        # RLIMIT_CPU for the whole life only matters when nobody is left to stop it.
        settings = json.dumps(
            {
                "cpu_s": limits.cpu_s,
                "memory_bytes": limits.memory_bytes,
                "output_bytes": limits.output_bytes,
                "life_s": max(60, int(200 * limits.cpu_s)),
                "parent": os.getpid(),
            }
        )
        try:
            self._process = _LAUNCHER.submit(
                subprocess.Popen[bytes],
                # As -I, but for the hash seed, which is an environment variable.
                [sys.executable, "-P", "-s", "-S", "-W", "ignore", str(_CHILD), settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",  # it cannot open anything, so an empty folder would add nothing
                env={"PYTHONHASHSEED": "0"},
                start_new_session=True,  # Ctrl-C is for us
            ).result()
        except OSError as error:
            raise SandboxError(f"the sandbox could not be started: {error}") from error
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._requests, self._answers = stdin.fileno(), stdout.fileno()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)

    def ask(self, line: bytes, span_s: float) -> bytes:
        """Send a line and return the next one.

        Raises:
            SandboxError: If none comes in time, it is too long, or the process ends.
        """
        self.asked += 1
        deadline = monotonic_ns() + int(span_s * 1e9)
        unsent = memoryview(line)
        while unsent:
            try:
                unsent = unsent[os.write(self._requests, unsent) :]
            except BlockingIOError:
                self._wait(self._requests, select.POLLOUT, deadline, span_s)
            except BrokenPipeError:
                break  # its answers will have ended, too
        return self.hear(span_s, deadline)

    def hear(self, span_s: float, deadline: int | None = None) -> bytes:
        """Return the next line. Raises as `ask` does."""
        if deadline is None:
            deadline = monotonic_ns() + int(span_s * 1e9)
        line = bytearray()
        while not line.endswith(b"\n"):
            self._wait(self._answers, select.POLLIN, deadline, span_s)
            piece = os.read(self._answers, _PIECE)
            if not piece:
                raise SandboxError(f"ended its process ({self._exit()})")
            line += piece
            if len(line) > self._most:
                raise SandboxError(f"answered more than {self._most} bytes")
        return bytes(line)

    def kill(self) -> None:
        """Kill the process, from any thread. It can have no descendants."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def _wait(self, fd: int, event: int, deadline: int, span_s: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        if not poll.poll(max(0, deadline - monotonic_ns()) / 1e6):
            raise SandboxError(f"gave no answer within {span_s:g} s")

    def _exit(self) -> str:
        code = self._process.wait()  # it has closed its pipe, or is dead already
        if code >= 0:
            return f"exit code {code}"
        return f"killed by {signal.Signals(-code).name}"


def _clean(text: str) -> str:
    """A policy's text as one short, printable line."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= _MESSAGE_LENGTH else line[:_MESSAGE_LENGTH] + "..."
