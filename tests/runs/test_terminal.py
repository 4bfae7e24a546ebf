"""The terminal: keys are told apart, little is written, and it is always given back."""

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
from collections.abc import Iterator

import pytest

from timeful.runs.terminal import END, Terminal, split_key


@pytest.fixture
def pair() -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    yield master, slave
    for fd in (master, slave):
        os.close(fd)


def written(master: int, last: bytes) -> bytes:
    """What was written to the terminal, up to something; it may arrive in pieces."""
    shown = b""
    while not shown.endswith(last):
        shown += os.read(master, 4096)
    return shown


@pytest.mark.parametrize(
    ("typed", "key", "used"),
    [
        (b"", "", 0),
        (b"u", "u", 1),
        (b"Qx", "Q", 1),
        (b" ", "space", 1),
        (b"\r", "enter", 1),
        (b"\x03", "ctrl-c", 1),
        (b"\x1b[A", "up", 3),
        (b"\x1b[Bq", "down", 3),
        (b"\x1bOC", "right", 3),
        (b"\x1b[1;5D", "left", 6),
        (b"\x1b[3~", "", 4),
        (b"\x1b[200~x", "", 6),
        (b"\x1b", "", 0),
        (b"\x1b[", "", 0),
        (b"\x1b[1;", "", 0),
        (b"\x1bx", "escape", 1),
        (b"\x1b\x1b[A", "escape", 1),
        ("é".encode(), "é", 2),
        ("é".encode()[:1], "", 0),
        ("→x".encode(), "→", 3),
        (b"\xff\xff\xff\xff", "", 1),
        (b"\x80", "", 1),
    ],
)
def test_a_key_is_split_off_what_was_typed(typed: bytes, key: str, used: int) -> None:
    assert split_key(typed) == (key, used)


def test_keys_come_one_by_one_and_an_arrow_may_come_in_pieces(
    pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeful.runs.terminal._LONE_ESCAPE_S", 30)
    master, slave = pair
    with Terminal(slave, slave) as terminal:
        os.write(master, b"uq\x1b[")
        assert [terminal.read_key(), terminal.read_key()] == ["u", "q"]
        os.write(master, b"A")
        assert terminal.read_key() == "up"


def test_escape_is_a_key_when_nothing_follows(pair: tuple[int, int]) -> None:
    master, slave = pair
    with Terminal(slave, slave) as terminal:
        os.write(master, b"\x1b")
        assert terminal.read_key() == "escape"
        assert terminal.read_key(0) == ""


def test_ctrl_c_z_and_s_are_keys_like_any_other(pair: tuple[int, int]) -> None:
    master, slave = pair
    with Terminal(slave, slave) as terminal:
        os.write(master, b"\x03\x1a\x13")
        assert [terminal.read_key() for _ in range(3)] == ["ctrl-c", "ctrl-z", "ctrl-s"]


def test_wake_ends_a_wait_for_a_key(pair: tuple[int, int]) -> None:
    with Terminal(pair[1], pair[1]) as terminal:
        keys: list[str] = []
        reader = threading.Thread(target=lambda: keys.append(terminal.read_key()))
        reader.start()
        terminal.wake()
        reader.join(30)
        assert keys == [""]


def test_leaving_ends_a_wait_for_a_key(pair: tuple[int, int]) -> None:
    keys: list[str] = []
    with Terminal(pair[1], pair[1]) as terminal:
        reader = threading.Thread(target=lambda: keys.append(terminal.read_key()))
        reader.start()
        terminal.wake()
        reader.join(30)
        last = threading.Thread(target=lambda: keys.append(terminal.read_key()))
        last.start()
    last.join(30)
    assert not last.is_alive()


def test_a_terminal_that_has_gone_is_the_end() -> None:
    master, slave = pty.openpty()
    with Terminal(slave, slave) as terminal:
        os.close(master)
        assert terminal.read_key() == END
    os.close(slave)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_is_the_end_and_its_handler_comes_back(
    pair: tuple[int, int], number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    with Terminal(pair[1], pair[1]) as terminal:
        os.kill(os.getpid(), number)
        assert terminal.read_key() == END
        assert terminal.read_key() == END
        assert terminal.stopped == number
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("fails", [False, True])
def test_the_terminal_is_given_back_as_it_was(pair: tuple[int, int], fails: bool) -> None:
    master, slave = pair
    before = termios.tcgetattr(slave)
    fds = set(os.listdir("/dev/fd"))
    try:
        with Terminal(slave, slave) as terminal:
            assert termios.tcgetattr(slave) != before
            terminal.paint(["hello"])
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails
    assert termios.tcgetattr(slave) == before
    assert set(os.listdir("/dev/fd")) == fds
    shown = written(master, b"\x1b[?1049l")
    for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h")):
        assert shown.index(on) < shown.index(b"hello") < shown.index(off)


def test_what_is_no_terminal_is_refused_and_nothing_is_left_open() -> None:
    read, write = os.pipe()
    fds = set(os.listdir("/dev/fd"))
    with pytest.raises(termios.error), Terminal(read, write):
        pass
    assert set(os.listdir("/dev/fd")) == fds
    os.close(read)
    os.close(write)


def test_only_lines_that_changed_are_written(pair: tuple[int, int]) -> None:
    master, slave = pair
    with Terminal(slave, slave) as terminal:
        terminal.paint(["one", "two", "three"])
        written(master, b"three\x1b[0m\x1b[K")
        terminal.paint(["one", "2", "three"])
        assert written(master, b"\x1b[K") == b"\x1b[2;1H2\x1b[0m\x1b[K"
        terminal.paint(["one", "2", "three"])
        terminal.paint(["one"])
        assert written(master, b"\x1b[J") == b"\x1b[2;1H\x1b[J"


def test_after_a_resize_everything_is_written_again(pair: tuple[int, int]) -> None:
    master, slave = pair
    with Terminal(slave, slave) as terminal:
        terminal.paint(["one", "two"])
        written(master, b"two\x1b[0m\x1b[K")
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
        assert terminal.size() == (40, 10)
        terminal.paint(["one", "two"])
        again = written(master, b"two\x1b[0m\x1b[K")
        assert again.startswith(b"\x1b[2J")
        assert b"one" in again
