"""The program of a worker that asks math-verify: run by its path, never imported by the rest.

One JSON value a line comes on standard input, `{"gold", "answer", "limit_s"}`, and one goes back,
true or false; `null` says that the answer cannot be read. The first line out is `true`: ready.

A power tower computes for hours inside one call of Python's, where no thread and no handler of a
signal gets its turn. So alarms keep their default action, which is to end this process; that also
ends a worker whose parent was killed. One alarm counts the time that it computes, so that a busy
machine changes no verdict; another one, ten times as late, the time that passes. math-verify's
own time-outs, which use the latter, are off.
"""

import json
import logging
import os
import re
import resource
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import TextIO

PATIENCE = 10
"""How many times the limit may pass while others use the machine."""

MEMORY = 4 << 30
"""Bytes of address space; a tower that fits in the time would else fill the machine."""

_BARE, _LATEX = re.compile(r"(?<![\\A-Za-z])(pi|infty)(?![A-Za-z])"), r"\\\1"
"""Names that people write without a backslash, and that else are products of letters."""


def main() -> None:
    """Answer until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = MEMORY if hard == resource.RLIM_INFINITY else min(hard, MEMORY)
    with suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    logging.disable(logging.CRITICAL)
    checker = import_module("math_verify")  # once the limits stand
    parse, verify = checker.parse, checker.verify

    def is_right(gold: str, answer: str) -> bool | None:
        gold_value = parse(f"${gold}$", parsing_timeout=None)
        answer_value = parse(f"${_BARE.sub(_LATEX, answer)}$", parsing_timeout=None)
        if not gold_value or not answer_value:
            return None
        return bool(verify(gold_value, answer_value, timeout_seconds=None))  # in this order

    is_right("1", "1/1")  # the first time takes longest
    _write(out, True)
    for line in sys.stdin:
        job = json.loads(line)
        _set_alarms(job["limit_s"])
        try:
            verdict = is_right(job["gold"], job["answer"])
        except Exception:  # noqa: BLE001 - whatever an answer breaks in a parser, it is not right
            verdict = None
        _set_alarms(0)
        _write(out, verdict)


def _set_alarms(limit_s: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * limit_s)


def _write(out: TextIO, value: bool | None) -> None:
    print(json.dumps(value), file=out, flush=True)


if __name__ == "__main__":
    main()
