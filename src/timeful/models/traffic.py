"""Traffic to endpoints: the requests in flight, and the requests and tokens of a minute.

Each request passes the `Gate` of its endpoint, before it is sent:

* At most a *window* of requests is in flight. A response 429 halves the window, and a 64th of its
  full size is added each second (additive increase, multiplicative decrease).
* A server that names a wait (Retry-After) closes the gate until then.
* Limits of requests and tokens per minute space the requests evenly.

A stream whose buffer is full leaves the gate until its consumer pulls: it waits for an agent, and
that agent may wait for another request.

All streams of a process share its gates. The worker processes of a run share the state of a gate
in a file, so that one refusal slows all of them down, and divide the window among themselves.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from pathlib import Path

from timeful.core.clock import monotonic_ns
from timeful.errors import SettingsError
from timeful.models.shared_state import State
from timeful.models.spending import Spending

_WINDOW, _SINCE, _CLOSED_UNTIL, _NEXT_REQUEST, _NEXT_TOKEN = range(5)
_FIELDS = 5
_RECOVERY_S = 64.0
"""The seconds in which the window grows from 0 to its full size."""
_MINUTE_S = 60.0


def now_s() -> float:
    """Seconds of a clock that all processes of the machine share."""
    return monotonic_ns() / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the traffic to each endpoint.

    Args:
        connections: The most requests in flight.
        rpm: The most requests that start in a minute; None for no limit.
        tpm: The most tokens in a minute, prompts included; None for no limit. A request counts
            with an estimate until its answer is complete.
        retries: The most repetitions of a request that failed; None for those of the model.
        first_token_s: The longest wait for the first token, in s; None for that of the model.
        idle_s: The longest wait for each further chunk, in s; None for that of the model.

    Raises:
        SettingsError: If a limit is not above 0, or the retries are below 0.
    """

    connections: int = 64
    rpm: float | None = None
    tpm: float | None = None
    retries: int | None = None
    first_token_s: float | None = None
    idle_s: float | None = None

    def __post_init__(self) -> None:
        if self.connections < 1:
            raise SettingsError(f"connections must be at least 1, got {self.connections}")
        if self.retries is not None and self.retries < 0:
            raise SettingsError(f"retries must be 0 or more, got {self.retries}")
        for name in ("rpm", "tpm", "first_token_s", "idle_s"):
            limit = getattr(self, name)
            if limit is not None and not 0 < limit < inf:
                raise SettingsError(f"{name} must be a number above 0, got {limit}")


class Traffic:
    """The gates of a process, one for each endpoint.

    Args:
        limits: The limits of each endpoint, for all processes together.
        folder: Where processes share the state of their gates; None for a process alone.
        index: The number of this process, from 0.
        processes: The number of processes.
        spending: Counts what the requests cost; of this process alone by default.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        folder: Path | None = None,
        index: int = 0,
        processes: int = 1,
        spending: Spending | None = None,
    ) -> None:
        self.limits = limits
        self.spending = spending or Spending()
        self._folder = folder
        self._index = index
        self._processes = processes
        self._lock = threading.Lock()
        self._gates: dict[str, Gate] = {}

    def gate(self, endpoint: str) -> "Gate":
        """The gate of an endpoint."""
        with self._lock:
            if endpoint not in self._gates:
                path = self._folder and self._folder / sha256(endpoint.encode()).hexdigest()[:16]
                self._gates[endpoint] = Gate(
                    self.limits,
                    State(path, size=_FIELDS),
                    index=self._index,
                    processes=self._processes,
                    spending=self.spending,
                )
            return self._gates[endpoint]


TRAFFIC = ContextVar("TRAFFIC", default=Traffic(Limits(connections=1024)))  # noqa: B039
"""The traffic that a thread's requests belong to. A run sets it for each of its threads."""


@contextmanager
def under(limits: Limits | None, spending: Spending | None = None) -> Iterator[None]:
    """Send the requests of a block under limits; None keeps those that hold already.

    Args:
        limits: The limits.
        spending: Counts what the requests of the block cost.
    """
    traffic = TRAFFIC.get()
    if limits is not None or spending is not None:
        traffic = Traffic(limits or traffic.limits, spending=spending or traffic.spending)
    token = TRAFFIC.set(traffic)
    try:
        yield
    finally:
        TRAFFIC.reset(token)


class Gate:
    """Admits requests to an endpoint, in the order in which they come; safe for threads.

    Args:
        limits: The limits for all processes together.
        state: The state that the processes share.
        index: The number of this process, from 0.
        processes: The number of processes, which divide the window.
        now: A clock in seconds that all processes share.
        spending: Counts what the requests cost.
    """

    def __init__(
        self,
        limits: Limits,
        state: State | None = None,
        *,
        index: int = 0,
        processes: int = 1,
        now: Callable[[], float] = now_s,
        spending: Spending | None = None,
    ) -> None:
        self.spending = spending or Spending()
        self.limits = limits
        self._state = state or State(size=_FIELDS)
        self._now = now
        self._index = index
        self._processes = processes
        self._lock = threading.Lock()
        self._line: deque[_Waiter] = deque()
        self.in_flight = 0
        """The requests of this process that were admitted and have not left."""

    @property
    def window(self) -> float:
        """The most requests that may be in flight now, of all processes."""
        with self._state.locked() as state:
            return self._window(state, self._now())

    async def enter(self, tokens: int = 0) -> None:
        """Wait until a request may be sent.

        Args:
            tokens: The tokens that it is expected to cost, prompt and answer.
        """
        waiter = _Waiter()
        with self._lock:
            self._line.append(waiter)
            is_first = self._line[0] is waiter
        try:
            if not is_first:
                await waiter.wait(None)
            while wait_s := self._admit(tokens):
                await waiter.wait(wait_s)
        finally:
            with self._lock:
                self._line.remove(waiter)
            self._wake_first()

    def leave(self) -> None:
        """Give the place of an admitted request to the next one."""
        with self._lock:
            self.in_flight -= 1
        self._wake_first()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave while a stream waits for its consumer; it returns even if the gate is full."""
        self.leave()
        try:
            yield
        finally:
            with self._lock:
                self.in_flight += 1

    def refuse(self, sent_at: float, wait_s: float | None) -> None:
        """Take account of a refusal for too many requests.

        Args:
            sent_at: When the request was sent. Of requests that were in flight together, one
                refusal alone narrows the window.
            wait_s: The wait that the server named.
        """
        self.spending.note_limit()
        now = self._now()
        with self._state.locked() as state:
            if sent_at >= state[_SINCE]:
                state[_WINDOW] = max(1.0, self._window(state, now) / 2)
                state[_SINCE] = now
            if wait_s is not None:
                state[_CLOSED_UNTIL] = max(state[_CLOSED_UNTIL], now + wait_s)

    def correct(self, tokens: int) -> None:
        """Add tokens that a request cost beyond its estimate, or take them off."""
        if self.limits.tpm is not None:
            with self._state.locked() as state:
                state[_NEXT_TOKEN] += tokens * _MINUTE_S / self.limits.tpm

    def _admit(self, tokens: int) -> float:
        """Admit a request and return 0, or return the seconds after which to try again."""
        rpm, tpm = self.limits.rpm, self.limits.tpm
        with self._lock, self._state.locked() as state:
            now = self._now()
            opens_at = max(state[_CLOSED_UNTIL], state[_NEXT_REQUEST], state[_NEXT_TOKEN])
            if opens_at > now:
                return opens_at - now
            window = int(self._window(state, now))
            if self.in_flight >= (window + self._processes - 1 - self._index) // self._processes:
                return 1.0
            self.in_flight += 1
            if rpm is not None:
                state[_NEXT_REQUEST] = now + _MINUTE_S / rpm
            if tpm is not None:
                state[_NEXT_TOKEN] = now + tokens * _MINUTE_S / tpm
            return 0.0

    def _window(self, state: MutableSequence[float], now: float) -> float:
        full = self.limits.connections
        if not state[_SINCE]:
            return full
        return min(full, state[_WINDOW] + full * (now - state[_SINCE]) / _RECOVERY_S)

    def _wake_first(self) -> None:
        with self._lock:
            if self._line:
                self._line[0].wake()


class _Waiter:
    """A request that waits in the event loop of its model."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    async def wait(self, most_s: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._event.wait()
        self._event.clear()

    def wake(self) -> None:
        """Wake it, from any thread."""
        with suppress(RuntimeError):  # the loop has ended, and the request with it
            self._loop.call_soon_threadsafe(self._event.set)
