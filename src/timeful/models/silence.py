"""The silence of a server, measured for a whole stream by one timer."""

import asyncio


class Silence:
    """Makes a limit expire when the server is silent for a span.

    A stream waits for thousands of chunks; a timeout for each of them would be a third of its cost.
    """

    def __init__(self, limit: asyncio.Timeout, span_s: float) -> None:
        self._limit = limit
        self._span_s = span_s
        self._loop = asyncio.get_running_loop()
        self._began_at: float | None = None
        self.waited_s = 0.0
        """The time spent waiting for the server."""

    def __enter__(self) -> "Silence":
        self._timer = self._loop.call_later(self._span_s, self._check)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def begin(self) -> None:
        """Wait for the server from now on."""
        self._began_at = self._loop.time()

    def end(self) -> None:
        """Wait for something else than the server."""
        if self._began_at is not None:
            self.waited_s += self._loop.time() - self._began_at
        self._began_at = None

    def _check(self) -> None:
        now = self._loop.time()
        due = (now if self._began_at is None else self._began_at) + self._span_s
        if due <= now:
            self._limit.reschedule(now)
        else:
            self._timer = self._loop.call_at(due, self._check)
