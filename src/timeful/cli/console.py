"""Standard streams that survive what they are given, and what they are.

A stream may be closed, on a full disk, or unable to say "±"; a text may come from a model, a file
or a server, and a terminal would obey the codes in it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any, TextIO, cast

from timeful.controls import escape


class Console:
    """A text stream without control characters, which are escaped as in JSON.

    Args:
        stream: The stream; None if it is closed.
        is_needed: Whether a text that cannot be written is an error; progress is not needed.
    """

    def __init__(self, stream: TextIO | None, *, is_needed: bool) -> None:
        self.raw: TextIO = StringIO() if stream is None else stream
        self._failures = () if is_needed else (OSError, ValueError)

    def write(self, text: str) -> int:
        """Write a text."""
        encoding = getattr(self.raw, "encoding", None) or "utf-8"
        plain = escape(text).encode(encoding, "replace").decode(encoding)
        try:
            self.raw.write(plain)
        except self._failures:
            self.raw = StringIO()
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        try:
            self.raw.flush()
        except self._failures:
            self.raw = StringIO()

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # click would write past this stream
            raise AttributeError(name)
        return getattr(self.raw, name)


@contextmanager
def console() -> Iterator[None]:
    """Print through consoles within the block."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # else the next file that is opened would take what others print
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = StringIO() if sys.stdin is None else sys.stdin
    error = Console(sys.stderr, is_needed=False)
    sys.stdout = cast("TextIO", Console(sys.stdout, is_needed=True))
    sys.stderr = cast("TextIO", error)
    try:
        yield
    finally:
        error.flush()
        # A stream that failed is not given back: its flush at exit would be the exit code.
        sys.stdin, sys.stdout, sys.stderr = *streams[:2], error.raw


def terminal(stream: TextIO) -> TextIO:
    """The stream behind a console, for a bar of our own, which moves the cursor."""
    return stream.raw if isinstance(stream, Console) else stream
