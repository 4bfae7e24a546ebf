"""One thread with an event loop for all streams of a model; the only place with asyncio tasks."""

import asyncio
import os
import sys
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from timeful.models.answer_stream import Dialect


@dataclass(slots=True)
class ClientState:
    """State shared by the streams of one event loop; used in its thread only.

    `dialect` is the client of the server, once it is loaded.
    `leaving` holds the streams that have come to their end and hand their connection back: the
    client shields that from its own kind of cancelling only, not from that of asyncio.
    `cleanup` closes what was opened, when the loop ends.
    """

    dialect: "Dialect | None" = None
    leaving: "weakref.WeakSet[asyncio.Task[object]]" = field(default_factory=weakref.WeakSet)
    cleanup: AsyncExitStack = field(default_factory=AsyncExitStack)


AGAIN_S = 5.0
"""A cancelled stream that still runs after this time is cancelled again."""

REST_S = 0.2
"""The longest wait for tasks that no stream waits for, before they are cancelled."""

CLOSE_S = 30.0
"""The longest wait for the end of all streams."""

Work = Callable[[ClientState], Coroutine[None, None, None]]


class _RunningLoop:
    """A running event loop in its own thread."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._executor = ThreadPoolExecutor(thread_name_prefix="timeful-client")
        self.loop.set_default_executor(self._executor)
        self.shared = ClientState()
        self._streams: weakref.WeakSet[asyncio.Task[object]] = weakref.WeakSet()
        self._generators: weakref.WeakKeyDictionary[AsyncGenerator[object, None], None]
        self._generators = weakref.WeakKeyDictionary()
        self._enough = asyncio.Event()
        # A daemon, so that a forgotten stream does not keep a finished program alive.
        self._thread = threading.Thread(target=self._run, name="timeful-streams", daemon=True)
        self._thread.start()

    def begin(self, work: Work) -> Future[None]:
        """Start a stream, from any thread."""
        return asyncio.run_coroutine_threadsafe(self._stream(work), self.loop)

    def stop(self) -> None:
        """End all streams and wait until the thread is gone."""
        if self.pid != os.getpid() or self.loop.is_closed():
            return
        self.loop.call_soon_threadsafe(self._enough.set)
        if self._thread is not threading.current_thread():
            self._thread.join(CLOSE_S)  # a daemon: it cannot keep a program from its end

    def _run(self) -> None:
        # An `asyncio.Runner` would start a thread at its end, which an exiting interpreter refuses.
        try:
            self.loop.run_until_complete(self._serve())
            # A generator that is forgotten, by a reference or by the collector, gets a task that
            # closes it and those within. Those here are kept, and the tasks of others end first.
            generators = list(self._generators)
            self.loop.run_until_complete(self._cancel_rest())
            self.loop.run_until_complete(self._close_generators(generators))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()
            self._executor.shutdown()

    async def _cancel_rest(self) -> None:
        current, until = asyncio.current_task(), self.loop.time() + REST_S
        while (tasks := asyncio.all_tasks() - {current}) and self.loop.time() < until:
            await asyncio.wait(tasks, timeout=until - self.loop.time())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _note_generators(self) -> None:
        """Keep the generators of the loop in the order in which they are first read."""
        hooks = sys.get_asyncgen_hooks()

        def note(generator: AsyncGenerator[object, None]) -> None:
            self._generators[generator] = None
            if hooks.firstiter is not None:
                hooks.firstiter(generator)

        sys.set_asyncgen_hooks(firstiter=note)

    async def _close_generators(self, generators: list[AsyncGenerator[object, None]]) -> None:
        """Close generators, each before those that it reads.

        The loop would close them side by side, also one that another one is closing.
        """
        for generator in generators:
            try:
                await generator.aclose()
            except Exception as error:  # noqa: BLE001 - as the loop does it
                words = f"{generator} was not closed"
                self.loop.call_exception_handler({"message": words, "exception": error})

    async def _stream(self, work: Work) -> None:
        # No variable: a task that fails holds its frames, and one of them would hold the task.
        self._streams.add(cast("asyncio.Task[object]", asyncio.current_task()))
        await work(self.shared)

    async def _serve(self) -> None:
        self._note_generators()
        await self._enough.wait()
        # The tasks that a stream has begun are ended by itself: the client never awaits what it is
        # to connect with, if a task of its own is cancelled before its first step.
        streams = set(self._streams)
        for stream in streams - set(self.shared.leaving):
            if not stream.cancelling():  # else it is closing its connection: once is enough
                stream.cancel()
        unfinished = streams
        while unfinished:
            _, unfinished = await asyncio.wait(unfinished, timeout=AGAIN_S)
            for stream in unfinished - set(self.shared.leaving):
                stream.cancel()  # the client loses one that comes just as it has connected
        await asyncio.gather(*streams, return_exceptions=True)
        await self.shared.cleanup.aclose()


class EventLoopThread:
    """Starts its thread on first use; `close`, or garbage collection, stops it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: _RunningLoop | None = None
        self._finalizer: weakref.finalize[[], EventLoopThread] | None = None

    def __reduce__(self) -> tuple[type["EventLoopThread"], tuple[()]]:
        return EventLoopThread, ()  # another process starts its own thread

    def start(self, work: Work) -> Callable[[], object]:
        """Start work in the event loop and return what cancels it, from any thread.

        The thread lives as long as this object or a returned function: a stream may outlive the
        model that it was opened from.
        """
        with self._lock:
            thread = self._thread
            # A forked process has inherited the loop but not the thread.
            if thread is None or thread.pid != os.getpid():
                thread = self._thread = _RunningLoop()
                self._finalizer = weakref.finalize(self, thread.stop)
            future = thread.begin(work)

        def cancel(_keep: EventLoopThread = self) -> bool:
            return future.cancel()

        return cancel

    @property
    def dialect(self) -> "Dialect | None":
        """The client of the server, once it is loaded."""
        thread = self._thread
        return None if thread is None else thread.shared.dialect

    def close(self) -> None:
        """Stop the thread and all its streams."""
        with self._lock:
            thread, self._thread = self._thread, None
            finalizer, self._finalizer = self._finalizer, None
        if finalizer is not None:
            finalizer.detach()
        if thread is not None:
            thread.stop()
