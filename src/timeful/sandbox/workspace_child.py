"""The program inside a sandbox: it keeps modules imported, and forks once for each run.

It is run by its source, never imported by the rest of timeful. What it is told comes on one
socket, and what a model wrote must never get hold of that socket. So the fork closes it before
anything else, and this process cannot be traced, looked into or opened through /proc by others
of the same user (it is "not dumpable"). Only the fork is confined: the confinement of one run
cannot be the confinement of the next, and here it would have to allow the socket.

One JSON value a line: the settings come first, `{"ready": true}` goes back once all modules are
there; then a run comes, and how it ended goes back when everything that it started is dead.
"""

import atexit
import base64
import ctypes
import gc
import json
import linecache
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

NAME = "<program>"
NOT_CONFINED = 126
CLEAN_UP_S = 10
# Numbers of prctl.
DEATH_SIGNAL, DUMPABLE, NO_NEW_PRIVILEGES, SECCOMP, SUBREAPER = 1, 4, 38, 22, 36
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same on every machine
WAIT_FOR_ALL = 0x40000000  # __WALL: children that announce their end in no way, too
CAPSET = {"x86_64": 126, "aarch64": 91}

libc = ctypes.CDLL(None, use_errno=True)


class Lines:
    """JSON values on a socket, one a line."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self._rest = b""

    def send(self, value: object) -> None:
        """Send a value; a closed socket is reported by the next `take`."""
        with suppress(OSError):
            self.control.sendall(json.dumps(value).encode() + b"\n")

    def take(self) -> Any:
        """Wait for the next one; None at the end."""
        while b"\n" not in self._rest:
            if not self._more():
                return None
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def is_stopped(self, number: int) -> bool:
        """Whether this run must stop, or the socket is closed; reads the available lines."""
        if not self._more():
            return True
        while b"\n" in self._rest:
            if self.take().get("stop") == number:
                return True
        return False

    def _more(self) -> bool:
        try:
            piece = self.control.recv(1 << 20)
        except OSError:
            return False
        self._rest += piece
        return bool(piece)


def main() -> None:
    """Listen on standard input until it ends."""
    lines = Lines(socket.socket(fileno=os.dup(0)))
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    _prctl(DUMPABLE, 0)
    # What has no handler cannot be sent to the first process of a namespace from within.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getpid() != 1:
        _prctl(SUBREAPER, 1)  # orphans of a run become children of this process
    settings = lines.take()
    for name in settings["modules"]:
        import_module(name)
    gc.collect()
    gc.freeze()  # so that a collection in a fork leaves these pages shared
    lines.send({"ready": True})
    while (request := lines.take()) is not None:
        if "code" in request:
            lines.send(_run(request, settings, lines))


def _run(request: dict[str, Any], settings: dict[str, Any], lines: Lines) -> dict[str, Any]:
    """Run a program to its end or its time limit; returns the report."""
    child = os.fork()
    if child == 0:
        _become(request, settings)
    start = _now()
    until = start + request["limit_ns"]
    watch = os.pidfd_open(child)
    poll = select.poll()
    for fd in (watch, lines.control.fileno()):
        poll.register(fd, select.POLLIN)
    why = None
    while why is None:
        ready = [fd for fd, _ in poll.poll(max(0, until - _now() + 999_999) // 1_000_000)]
        took = _now() - start
        if watch in ready:
            why = "ended"
        elif ready:
            why = "stopped" if lines.is_stopped(request["number"]) else None
        elif took >= request["limit_ns"]:
            why = "time"
    os.close(watch)
    status, clean = _end_all(child)
    return {
        "number": request["number"],
        "took_ns": took,
        "why": why,
        "status": os.waitstatus_to_exitcode(status),
        "clean": clean,
    }


def _end_all(child: int) -> tuple[int, bool]:
    """Kill everything that a run started; the child's status, and whether nothing is left.

    A signal to -1 reaches every other process of a PID namespace at once. Without one, killing
    goes on until no child is left to wait for: whoever loses its parent becomes our child.
    """
    status = 0
    until = _now() + CLEAN_UP_S * 1_000_000_000
    while _now() < until:
        for pid in [-1] if os.getpid() == 1 else _descendants():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while (died := os.waitpid(-1, os.WNOHANG | WAIT_FOR_ALL))[0]:
                if died[0] == child:
                    status = died[1]
        except ChildProcessError:
            return status, True
        select.select([], [], [], 0.0005)
    return status, False


def _descendants() -> list[int]:
    pids = [os.getpid()]
    for pid in pids:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    pids += map(int, file.read().split())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return pids[1:]


def _become(request: dict[str, Any], settings: dict[str, Any]) -> NoReturn:
    """In the fork: confine this process for good, then run the program."""
    status = NOT_CONFINED
    try:
        _confine(settings, request["limits"])
        status = _execute(request["code"], settings["work"])
    except BaseException:  # noqa: BLE001 - nothing may get back to the loop above
        traceback.print_exc()
    finally:
        os._exit(status)


def _confine(settings: dict[str, Any], limits: dict[str, int]) -> None:
    os.closerange(3, 1 << 20)  # the socket above all
    os.set_blocking(1, True)  # the same pipe for all runs, and an earlier one may have changed it
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(settings["work"])
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if settings["confined"]:
        _drop_capabilities()
        _prctl(NO_NEW_PRIVILEGES, 1)
    _prctl(DEATH_SIGNAL, signal.SIGKILL)  # a run must not outlive its worker
    # The supervisor, which may be an ordinary user, must see what a run uses.
    _prctl(DUMPABLE, 1)
    if settings["landlock"]:
        _landlock(**settings["landlock"])
    if settings["confined"]:
        code = base64.b64decode(settings["seccomp"])
        buffer = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
        _prctl(SECCOMP, 2, ctypes.c_char_p(program))


def _drop_capabilities() -> None:
    header = struct.pack("Ii", 0x20080522, 0)
    _syscall(CAPSET[os.uname().machine], ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))


def _landlock(fs: int, net: int, scoped: int, rules: list[tuple[str, int]]) -> None:
    """Let the kernel refuse every file but those below some paths, each with its rights."""
    attributes = struct.pack("QQQ", fs, net, scoped)
    size = ctypes.c_size_t(len(attributes))
    ruleset = _syscall(LANDLOCK_CREATE, ctypes.c_char_p(attributes), size, 0)
    for path, rights in rules:
        try:
            fd = os.open(path, os.O_PATH)
        except OSError:
            continue  # not there, so nothing to allow
        rule = struct.pack("=Qi", rights, fd)
        _syscall(LANDLOCK_ADD, ruleset, 1, ctypes.c_char_p(rule), 0)
        os.close(fd)
    _syscall(LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _prctl(option: int, *arguments: Any) -> None:
    padded = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in (*arguments, 0, 0, 0)][:4]
    if libc.prctl(option, *padded):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


def _syscall(number: int, *arguments: Any) -> int:
    result: int = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number}: {os.strerror(code)}")
    return result


def _execute(code: str, work: str) -> int:
    """Run a program as `python` would; its exit status."""
    sys.argv[:] = [NAME]
    sys.path.insert(0, work)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    module = sys.modules["__main__"] = ModuleType("__main__")
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    status = 0
    try:
        exec(compile(code, NAME, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as error:
        status = _exit_status(error)
    except BaseException as error:  # noqa: BLE001 - whatever it may be
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
            trace = trace.tb_next
        status = 1
        traceback.print_exception(type(error), error, trace)
    # What the interpreter does at its end, without taking all modules apart.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return status


def _exit_status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)  # noqa: T201 - as Python does
    return 1


def _now() -> int:
    return time.monotonic_ns()  # noqa: TID251 - core/clock.py is outside


if __name__ == "__main__":
    main()
