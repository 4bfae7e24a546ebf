"""The program of the child process: run by its path, never imported by the rest of timeful.

The order is what makes it safe: import whatever a policy may use, confine this process for
good, and only then look at the policy. Confined means that the kernel refuses every system call
but a few that compute, wait, allocate memory and use what is open already: no file, socket,
process, thread or signal to anybody can be had, whatever the code does inside Python. What is
done in Python below (printing nowhere, refusing imports) is for clear messages only.

One JSON value a line comes on standard input, one goes back: first `{"ready": true}`, then an
answer to the source, then one to each state.
"""

import ctypes
import gc
import io
import json
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any, NoReturn

# fmt: off
ALLOWED = (
    "__future__", "abc", "array", "bisect", "cmath", "collections", "collections.abc",
    "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools",
    "heapq", "itertools", "json", "math", "numbers", "operator", "queue", "random", "re",
    "statistics", "string", "time", "types", "typing",
)
# fmt: on
"""What a policy may import; all of it is there before the door is shut."""

NAME = "<policy>"
NOBODY = 65534
TEXT_LENGTH = 300

# The system calls that stay, by number: audit architecture, then for each machine
# read write close fstat lseek mmap mprotect munmap brk mremap madvise futex | rt_sigaction
# rt_sigprocmask rt_sigreturn restart_syscall sigaltstack setitimer getitimer | clock_gettime
# clock_getres clock_nanosleep nanosleep gettimeofday times getrusage | getrandom getpid gettid
# sched_yield exit exit_group | getuid geteuid getgid getegid. Numbers from the kernel's tables.
MACHINES = {
    "x86_64": (
        0xC000003E,
        "0 1 3 5 8 9 10 11 12 25 28 202 13 14 15 219 131 38 36 228 229 230 35 96 100 98 "
        "318 39 186 24 60 231 102 107 104 108",
    ),
    "aarch64": (
        0xC00000B7,
        "63 64 57 80 62 222 226 215 214 216 233 98 134 135 139 128 132 103 102 113 114 115 101 "
        "169 153 165 278 172 178 124 93 94 174 175 176 177",
    ),
}


class TimeUpError(BaseException):
    """The policy used up its CPU time; not an Exception, which policies often catch."""


class Nowhere(io.TextIOBase):
    """Discards printed text."""

    def write(self, text: str) -> int:
        """Discard the text."""
        return len(text)


class NoMoreModules(MetaPathFinder):
    """Explains which modules a policy may import."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> NoReturn:
        """Refuse."""
        has = " ".join(module for module in ALLOWED if not module.startswith("_"))
        raise ModuleNotFoundError(f"no {name!r} for a policy; it may import {has}")


class Worker:
    """Runs one policy.

    Args:
        cpu_s: CPU seconds for loading it, and for each action.
        output_bytes: The most bytes that an action may have.
    """

    def __init__(self, *, cpu_s: float, output_bytes: int) -> None:
        self._cpu_s = cpu_s
        self._output_bytes = output_bytes
        self._act: Callable[[Any], object] | None = None
        # Given back when memory has run out, so that this can still be said.
        self._ballast: bytearray | None = bytearray(1 << 20)
        signal.signal(signal.SIGPROF, _time_up)

    def load(self, source: str) -> dict[str, Any]:
        """Compile and execute a policy's source; the answer to it."""
        module = ModuleType("policy")
        sys.modules["policy"] = module  # dataclasses look their module up

        def execute() -> None:
            exec(compile(source, NAME, "exec", dont_inherit=True), module.__dict__)

        answer = self._attempt(execute, "the program")
        if "error" in answer:
            return answer
        self._act = getattr(module, "next_action", None)
        if not callable(self._act):
            return {"error": "the program defines no function next_action"}
        return {"ready": True}

    def play(self, state: object) -> dict[str, Any]:
        """Ask the policy for its action; the answer to it."""
        act = self._act
        assert act is not None
        answer = self._attempt(lambda: act(state), "next_action")
        if "error" in answer:
            return answer
        action = answer["value"]
        if type(action) is not str:
            kind = type(action).__name__
            return {"error": f"next_action returned a value of type {kind}, not text"}
        if len(action.encode(errors="replace")) > self._output_bytes:
            return {"error": f"next_action returned more than {self._output_bytes} bytes"}
        return {"action": action}

    def _attempt(self, work: Callable[[], object], subject: str) -> dict[str, Any]:
        try:
            # The interval is for code that catches everything and goes on.
            signal.setitimer(signal.ITIMER_PROF, self._cpu_s, 0.1)
            try:
                return {"value": work()}
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        except TimeUpError as error:
            problem = f"{subject} used more than {self._cpu_s:g} s of CPU time{_line(error)}"
            return {"error": problem, "broken": True}
        except MemoryError as error:
            self._ballast = None
            problem = f"{subject} used more memory than it may{_line(error)}"
            return {"error": problem, "broken": True}
        except SyntaxError as error:
            if error.filename != NAME or subject != "the program":
                return {"error": _raised(subject, error)}
            return {"error": f"the program is not Python: {error.msg} (line {error.lineno})"}
        except BaseException as error:  # noqa: BLE001 - a policy may raise whatever it likes
            return {"error": _raised(subject, error)}


def _raised(subject: str, error: BaseException) -> str:
    """The exception and its line; its `str` may run the policy's code."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001
        text = "(its text cannot be had)"
    if len(text) > TEXT_LENGTH:
        text = text[:TEXT_LENGTH] + "..."
    return f"{subject} raised {type(error).__name__}{': ' if text else ''}{text}{_line(error)}"


def _line(error: BaseException) -> str:
    """The innermost line of the policy that an error came through."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f" (line {line})"


def _time_up(*_: object) -> NoReturn:
    raise TimeUpError


def _filter(numbers: Sequence[int], audit: int) -> bytes:
    """A seccomp program: refuse all but some system calls with EPERM."""
    load, jump, answer = 0x20, 0x15, 0x06
    lines = [
        (load, 0, 0, 4),  # the architecture
        (jump, 1, 0, audit),
        (answer, 0, 0, 0x80000000),  # another one: kill
        (load, 0, 0, 0),  # the number
        *((jump, len(numbers) - i, 0, number) for i, number in enumerate(numbers)),
        (answer, 0, 0, 0x00050001),  # EPERM
        (answer, 0, 0, 0x7FFF0000),  # allow
    ]
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _forbid_system_calls() -> None:
    """Let the kernel refuse all other system calls, permanently.

    Raises:
        OSError: If this kernel cannot.
    """
    audit, numbers = MACHINES[platform.machine()]
    code = _filter([int(number) for number in numbers.split()], audit)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, *map(ctypes.c_ulong, (1, 0, 0, 0))) or libc.prctl(
        seccomp, ctypes.c_ulong(by_filter), ctypes.c_char_p(program)
    ):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def confine(*, memory_bytes: int, life_s: int, parent: int) -> None:
    """Give up everything but computing, permanently."""
    if os.geteuid() == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        except OSError:
            # A namespace that has root alone. It cannot use its powers without system calls.
            pass
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, life_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    # After the change of user, which undoes it; without system calls, a policy cannot.
    death_signal = 1
    ctypes.CDLL(None).prctl(death_signal, *map(ctypes.c_ulong, (signal.SIGKILL, 0, 0, 0)))
    if os.getppid() != parent:
        raise ProcessLookupError("the parent process has ended")
    _forbid_system_calls()


def _tidy() -> None:
    """Remove the state of this process that a policy could read."""
    os.environ.clear()
    sys.argv[:] = ["policy"]
    sys.path.clear()
    sys.meta_path[:] = [NoMoreModules()]
    sys.stdin = io.StringIO()
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Nowhere()  # type: ignore[misc, assignment]
    # Unseeded, the same policy would play differently every time.
    import_module("random").seed(0)
    gc.freeze()


def main() -> None:
    """Read limits from the command line, then serve."""
    limits = json.loads(sys.argv[1])
    for name in ALLOWED:
        import_module(name)
    requests = open(0, "rb", closefd=False)  # noqa: SIM115 - until the process ends
    answers = os.dup(1)
    os.dup2(2, 1)  # the parent made 2 a null device

    def answer(reply: dict[str, Any]) -> None:
        line = memoryview(json.dumps(reply).encode() + b"\n")
        while line:
            line = line[os.write(answers, line) :]

    worker = Worker(cpu_s=limits["cpu_s"], output_bytes=limits["output_bytes"])
    try:
        confine(**{name: limits[name] for name in ("memory_bytes", "life_s", "parent")})
    except (OSError, ValueError, KeyError) as error:
        answer({"error": f"this kernel cannot confine a process: {error}"})
        return
    _tidy()
    answer({"ready": True})
    for number, line in enumerate(requests):
        request = json.loads(line)
        reply = worker.load(request) if number == 0 else worker.play(request)
        answer({"number": number, **reply})


if __name__ == "__main__":
    main()
