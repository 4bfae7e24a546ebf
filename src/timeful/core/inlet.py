"""A door for what comes from outside: messages, mail, the end of anything that others do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from timeful.core.activity import STREAM
from timeful.errors import KernelError

if TYPE_CHECKING:
    from timeful.core.kernel import Kernel

T = TypeVar("T")


class Inlet(Generic[T]):
    """Takes values from any thread; each happens on the timeline when it arrives.

    `Kernel.inlet` makes it. A run under a wall clock does not end before it is closed. Under
    virtual time only activities of the timeline can put: no other thread has an instant there.
    """

    __slots__ = ("_kernel", "_observer", "_ticket", "is_closed", "name")

    def __init__(self, kernel: Kernel, observer: Callable[[T], None], name: str) -> None:
        self._kernel = kernel
        self._observer = observer
        self._ticket = -1  # never in the heap itself
        self.name = name
        self.is_closed = False
        kernel._inlets[self] = None
        kernel._awaited.add(self)

    def __repr__(self) -> str:
        return f"<inlet {self.name!r}{' closed' if self.is_closed else ''}>"

    def put(self, value: T) -> None:
        """Let a value happen at this instant, with the rank of a token; returns at once.

        Raises:
            KernelError: If it is closed, or another thread puts under virtual time.
        """
        kernel = self._kernel
        with kernel._condition:
            if self.is_closed:
                raise KernelError(f"{self!r} takes nothing more")
            if kernel.clock.is_wall:
                kernel._post(STREAM, _Arrival(self, value))
            elif kernel.current is not None:
                kernel._push(kernel.now, STREAM, _Arrival(self, value))
            else:
                raise KernelError(f"{self!r} takes values of other threads under a wall clock only")

    def close(self) -> None:
        """Take nothing more; what has arrived still happens. Any thread may call this, twice."""
        kernel = self._kernel
        with kernel._condition:
            self.is_closed = True
            kernel._inlets.pop(self, None)
            kernel._awaited.discard(self)
            kernel._condition.notify_all()

    def _fire(self) -> None:
        """Never due."""

    def _leave(self) -> None:
        """The timeline is closed around it."""
        self.close()


class _Arrival(Generic[T]):
    """The heap entry of one value."""

    __slots__ = ("_inlet", "_ticket", "_value")

    def __init__(self, inlet: Inlet[T], value: T) -> None:
        self._inlet = inlet
        self._value = value
        self._ticket = -1

    def _fire(self) -> None:
        inlet = self._inlet
        if inlet._kernel._log is not None:
            inlet._kernel._log(inlet._kernel.now, "arrive", inlet.name)
        inlet._observer(self._value)
