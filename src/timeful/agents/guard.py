"""Mistakes of an agent that would otherwise never end or pass unnoticed.

A coroutine method of a session returns a `Waiting`, which tells the guard if it is dropped without
`await`. The guard counts calls at one instant, because a loop in which no time passes never ends.
"""

from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from timeful.core.kernel import Kernel
from timeful.core.units import START
from timeful.errors import AgentError

P = ParamSpec("P")
T = TypeVar("T")

MOST_CALLS = 100_000
"""The most calls of a session at one instant."""


class Guard:
    """Checks the calls of a session.

    Args:
        kernel: The timeline.
    """

    __slots__ = ("_calls", "_instant", "_kernel", "dropped")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._instant = START
        self._calls = 0
        self.dropped = ""
        """The name of a method that was called without `await`, until it is reported."""

    def count(self, name: str) -> None:
        """Count a call of a session.

        Raises:
            AgentError: If a call before it lacks its `await`, or too many came at one instant.
        """
        if self.dropped:
            self.check_dropped()
        now = self._kernel.now
        if now != self._instant:
            self._instant, self._calls = now, 0
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise AgentError(
                f"the agent used its session {MOST_CALLS} times at one instant, at last "
                f"`session.{name}`: no time passes in its loop; await `session.wait_for_tick()`, "
                "`session.sleep(...)` or a thought in it"
            )

    def check_dropped(self) -> None:
        """Check that no call lacks its `await`.

        Raises:
            AgentError: If one does.
        """
        name, self.dropped = self.dropped, ""
        if name:
            raise AgentError(f"`session.{name}(...)` has no effect without `await` before it")


class Waiting(Coroutine[Any, Any, T]):
    """The coroutine of a session's method; it tells the guard if it is dropped unused."""

    __slots__ = ("_coroutine", "_guard", "_is_used", "_name")

    def __init__(self, coroutine: Coroutine[Any, Any, T], name: str, guard: Guard) -> None:
        self._coroutine = coroutine
        self._name = name
        self._guard = guard
        self._is_used = False

    def __await__(self) -> Generator[Any, Any, T]:
        self._is_used = True
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        """Resume the coroutine; see `Coroutine`."""
        self._is_used = True
        return self._coroutine.send(value)

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> Any:
        """Raise an error in the coroutine; see `Coroutine`."""
        self._is_used = True
        return self._coroutine.throw(typ if isinstance(typ, BaseException) else typ())

    def close(self) -> None:
        """End the coroutine."""
        self._is_used = True
        self._coroutine.close()

    def __del__(self) -> None:
        if not self._is_used:
            self._coroutine.close()
            self._guard.dropped = self._name


class _Guarded(Protocol):
    @property
    def guard(self) -> Guard: ...


S = TypeVar("S", bound=_Guarded)


def guarded(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Guard a coroutine method of a session."""
    name = method.__name__

    @wraps(method)
    def call(session: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        guard = session.guard
        guard.count(name)
        return Waiting(method(session, *args, **kwargs), name, guard)

    return call
