"""math-verify in a process of its own, which is killed when an answer takes too long.

Its own time-outs work in a main thread only, and a power tower does not heed them; so whoever
asks, from any thread, waits for a worker, and ends it when the time is up.
"""

import json
import subprocess
import sys
import threading
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Self

from timeful.errors import SettingsError

Verdict = Literal["right", "wrong", "timeout"]

_WORKER = Path(__file__).with_name("math_worker.py")
_START_S = 120.0
"""How long a worker may take to import what it needs, on a machine with other things to do."""

_PATIENCE = 11
"""After how many times the limit a worker is killed from here, if its own alarms did not ring."""


class MathChecker:
    """Compares answers with math-verify; its worker starts at the first question.

    Args:
        limit_s: The seconds that one comparison may compute, above 0; ten times as many may
            pass on a busy machine.

    Raises:
        SettingsError: If math-verify is not installed.
    """

    def __init__(self, *, limit_s: float = 5.0) -> None:
        if find_spec("math_verify") is None:
            raise SettingsError(
                "mathematics is checked by math-verify; pip install 'timeful[timely]'"
            )
        if limit_s <= 0:
            raise SettingsError(f"a check needs more than 0 s, got {limit_s:g}")
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def ask(self, gold: str, answer: str) -> Verdict:
        """Whether an answer means the same as the right one; one after the other is asked.

        What cannot be read is wrong, and so is what makes the worker fail in another way.
        """
        job = {"gold": gold, "answer": answer, "limit_s": self._limit_s}
        with self._lock:
            if self._worker is None:
                self._worker = _Worker()
            try:
                line = self._worker.ask(json.dumps(job), _PATIENCE * self._limit_s)
            except BaseException:  # its reply would be taken for that to the next question
                self._stop()
                raise
            if line is not None:
                return "right" if line == "true" else "wrong"
            code = self._stop()
            from signal import SIGALRM, SIGKILL, SIGPROF  # noqa: PLC0415 - Unix only

            return "timeout" if code in (-SIGPROF, -SIGALRM, -SIGKILL) else "wrong"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the worker; another one starts if something is asked again."""
        with self._lock:
            self._stop()

    def _stop(self) -> int | None:
        worker, self._worker = self._worker, None
        return None if worker is None else worker.stop()


class _Worker:
    """A process that is ready; it ends with its input, at the latest when we do."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            # -P: the folder of the program is no place to import from.
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self._end = weakref.finalize(self, _end, self._process)
        if self._line(_START_S) is None:
            self.stop()
            raise SettingsError("the worker that runs math-verify does not start")

    def ask(self, job: str, within_s: float) -> str | None:
        """The reply to one line; None if it died, of the question or of its time."""
        assert self._process.stdin is not None
        try:
            print(job, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return None
        return self._line(within_s)

    def _line(self, within_s: float) -> str | None:
        assert self._process.stdout is not None
        killer = threading.Timer(within_s, self._process.kill)
        killer.daemon = True
        killer.start()
        try:
            return self._process.stdout.readline().strip() or None
        finally:
            killer.cancel()

    def stop(self) -> int:
        """End it, unless it has ended, and say how it did."""
        self._end()
        return self._process.wait()


def _end(process: "subprocess.Popen[str]") -> None:
    # One that has just closed its output is about to end by itself, and to say why.
    try:
        assert process.stdin is not None
        process.stdin.close()
    except OSError:
        pass
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
