"""Sources for the kernel's tests: one whose pieces are known, and one that is fed by threads."""

import threading
from collections import deque
from collections.abc import Callable

from timeful.core.source import Chunk, End

Piece = Chunk | End | Exception


def ten_each(tokens: int) -> int:
    """A pace of 10 ns a token: chunks of one token fall on 10, 20, 30, ..."""
    return 10 * tokens


def words(text: str, *, tokens: int = 1) -> tuple[Chunk, ...]:
    """One chunk a word, each of so many tokens."""
    return tuple(Chunk(word, tokens) for word in text.split())


class Script:
    """A source whose pieces are known beforehand; it counts how often it is used."""

    def __init__(self, *pieces: Piece) -> None:
        self._pieces = deque(pieces)
        self.pulls = 0
        self.closes = 0

    def pull(self) -> Chunk | End:
        self.pulls += 1
        piece = self._pieces.popleft() if self._pieces else End()
        if isinstance(piece, Exception):
            raise piece
        return piece

    def when_ready(self, notify: Callable[[], None]) -> None:
        notify()

    def close(self) -> None:
        self.closes += 1


class Fed:
    """A source that other threads feed; `pull` waits for them in real time."""

    def __init__(self) -> None:
        self._pieces: deque[Piece] = deque()
        self._condition = threading.Condition()
        self._notify: Callable[[], None] | None = None
        self.closes = 0

    def put(self, piece: Piece) -> None:
        with self._condition:
            self._pieces.append(piece)
            self._condition.notify_all()
            notify, self._notify = self._notify, None
        if notify is not None:
            notify()

    def pull(self) -> Chunk | End:
        with self._condition:
            assert self._condition.wait_for(lambda: self._pieces, timeout=30), "never fed"
            piece = self._pieces.popleft()
        if isinstance(piece, Exception):
            raise piece
        return piece

    def when_ready(self, notify: Callable[[], None]) -> None:
        with self._condition:
            if not self._pieces:
                self._notify = notify
                return
        notify()

    def close(self) -> None:
        self.closes += 1
