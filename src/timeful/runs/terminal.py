"""A terminal in the hands of a game: keys as they are pressed, a screen that does not flicker.

Whatever happens, the terminal is given back as it was: at the end, on errors, and when the
process is asked to end. Unix only; importing this elsewhere is an ImportError.
"""

import os
import select
import signal
import termios
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from types import FrameType
from typing import Self

END = "end"
"""The key that read_key reports when no more keys will come, or the process should end."""

_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"  # other screen, no cursor, no line wrap
_LEAVE = b"\x1b[?7h\x1b[?25h\x1b[?1049l"
_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
_NAMES = {" ": "space", "\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace"}
_LONE_ESCAPE_S = 0.05  # what follows an Escape within this was sent by the same key
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def split_key(typed: bytes) -> tuple[str, int]:
    """Take the first key off some typed bytes.

    Returns:
        The key's name ("" for one that has none here) and how many bytes it took; 0 bytes if
        more are needed. Characters are their own names; "up", "space", "ctrl-c" and so on.
    """
    if not typed:
        return "", 0
    if typed[0] == 0x1B:
        return _split_escape(typed)
    length = 1 if typed[0] < 0xC0 else 2 if typed[0] < 0xE0 else 3 if typed[0] < 0xF0 else 4
    if len(typed) < length:
        return "", 0
    try:
        character = typed[:length].decode()
    except UnicodeDecodeError:
        return "", 1
    if character in _NAMES:
        return _NAMES[character], length
    if character < " ":
        return f"ctrl-{chr(ord(character) + 96)}", length
    return (character if character.isprintable() else ""), length


def _split_escape(typed: bytes) -> tuple[str, int]:
    """Take a key that begins with Escape: an arrow key, maybe with modifiers, or another."""
    if len(typed) < 2:
        return "", 0
    if typed[1:2] not in (b"[", b"O"):
        return "escape", 1
    for index in range(2, len(typed)):
        if 0x40 <= typed[index] <= 0x7E:
            return _ARROWS.get(chr(typed[index]), ""), index + 1
    return "", 0


class Terminal:
    """The terminal, as a context manager.

    Args:
        keyboard: A descriptor of the terminal, to read from.
        screen: A descriptor of the terminal, to write to.

    Attributes:
        stopped: The signal that asked the process to end, if one did.
    """

    def __init__(self, keyboard: int = 0, screen: int = 1) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._typed = b""
        self._shown: list[str] = []
        self._size = (0, 0)
        self._reading = threading.Lock()
        self._woken, self._waker = -1, -1
        self._undo = ExitStack()
        self.stopped: int | None = None

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._woken, self._waker = os.pipe()
            undo.callback(self._close_pipe)
            before = termios.tcgetattr(self._keyboard)
            undo.callback(self._restore, before)
            for number in _SIGNALS:
                undo.callback(signal.signal, number, signal.signal(number, self._stop))
            now = termios.tcgetattr(self._keyboard)
            # Keys come at once, unseen, Ctrl-C, Ctrl-Z and Ctrl-S like any other.
            now[0] &= ~(termios.IXON | termios.ICRNL)
            now[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
            now[6][termios.VMIN], now[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._keyboard, termios.TCSANOW, now)
            self._write(_ENTER)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def read_key(self, timeout_s: float | None = None) -> str:
        """Wait for a key.

        Returns:
            Its name; "" when the time is up or `wake` was called; `END` when no key will come.
        """
        with self._reading:
            while True:
                if self.stopped is not None:
                    return END
                key, length = split_key(self._typed)
                self._typed = self._typed[length:]
                if key:
                    return key
                if length:
                    continue
                span_s = _LONE_ESCAPE_S if self._typed else timeout_s
                ready = select.select([self._keyboard, self._woken], [], [], span_s)[0]
                if self._woken in ready:
                    os.read(self._woken, 64)
                    return END if self.stopped is not None else ""
                if not ready and not self._typed:
                    return ""
                if not ready:
                    self._typed = b""  # an Escape alone, or half a key
                    return "escape"
                if not self._type():
                    return END

    def wake(self) -> None:
        """Let `read_key`, in whatever thread, return soon."""
        with suppress(OSError):
            os.write(self._waker, b"!")

    def size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        try:
            columns, rows = os.get_terminal_size(self._screen)
        except OSError:
            columns, rows = 0, 0
        return columns or 80, rows or 24  # some terminals do not know

    def paint(self, lines: Sequence[str]) -> None:
        """Show lines from the top; only what has changed is written, in one piece."""
        size = self.size()
        output = ""
        if size != self._size:
            output, self._size, self._shown = "\x1b[2J", size, []
        for row, line in enumerate(lines):
            if row >= len(self._shown) or self._shown[row] != line:
                output += f"\x1b[{row + 1};1H{line}\x1b[0m\x1b[K"
        if len(lines) < len(self._shown):
            output += f"\x1b[{len(lines) + 1};1H\x1b[J"
        self._shown = list(lines)
        if output:
            self._write(output.encode())

    def _type(self) -> bool:
        """Take what was typed; False if the terminal has gone."""
        try:
            typed = os.read(self._keyboard, 1024)
        except OSError:
            return False
        self._typed += typed
        return bool(typed)

    def _write(self, output: bytes) -> None:
        while output:
            output = output[os.write(self._screen, output) :]

    def _stop(self, number: int, frame: FrameType | None) -> None:
        # Nothing is raised from here: the game leaves by the same way as after a key.
        self.stopped = number
        self.wake()

    def _restore(self, before: list[object]) -> None:
        with suppress(OSError):
            self._write(_LEAVE)
        # What was typed after the end was meant for the game, not for the shell.
        with suppress(termios.error):
            termios.tcsetattr(self._keyboard, termios.TCSAFLUSH, before)  # type: ignore[arg-type]

    def _close_pipe(self) -> None:
        self.wake()
        with self._reading:
            os.close(self._woken)
            os.close(self._waker)
            self._woken = self._waker = -1
