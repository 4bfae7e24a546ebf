"""Bodies of HTTP responses as their servers sent them, and no longer than they may be.

A little compressed data may unfold to gigabytes, so nothing compressed is requested or unpacked.
"""

import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from timeful.errors import ModelError

_LONGEST_ERROR = 1 << 16
_BLANK_LINES = (b"\n\n", b"\r\r", b"\r\n\r\n")


def bound_bodies(
    client: Any, *, longest_event: int | None = None, choose: "Callable[[], Read] | None" = None
) -> None:
    """Bound the bodies that a client of httpx, or of httpx2, receives.

    A compressed answer is a `ModelError`. An error is read up to 64 KiB.

    Args:
        client: The client.
        longest_event: The most bytes of a server-sent event; None if its reader has a limit.
        choose: Chooses how the events of a response are read further.
    """
    kind = _stream_type(client)

    async def bound(response: Any) -> None:
        encoding = response.headers.pop("content-encoding", "identity")
        if response.status_code >= 400:
            response.stream = kind(response.stream, _beginning)
        elif encoding != "identity":
            words = f"the answer has the encoding {encoding!r}, which was not requested"
            response.stream = kind(response.stream, _refusal(words))
        elif longest_event is not None:
            response.stream = kind(response.stream, _events(longest_event))
            if choose is not None:
                response.stream = kind(response.stream, choose())

    client.headers["accept-encoding"] = "identity"
    client.event_hooks["response"].append(bound)


Read = Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]


def _stream_type(client: Any) -> Any:
    """A stream of the library of a client, read by a function."""
    modules = (base.__module__.partition(".")[0] for base in type(client).__mro__)
    library: Any = sys.modules[next(name for name in modules if name.startswith("httpx"))]

    class ReadStream(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, read: Read) -> None:
            self._stream = stream
            self._read = read
            self._open: list[Any] = []

        def __aiter__(self) -> AsyncIterator[bytes]:
            chunks = aiter(self._stream)
            bounded = self._read(chunks)
            self._open += (bounded, chunks)
            return bounded

        async def aclose(self) -> None:
            # An error that leaves the thread keeps its frames, and these keep their generators:
            # another thread would close them.
            for generator in self._open:
                await generator.aclose()
            await self._stream.aclose()

    return ReadStream


async def _beginning(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    left = _LONGEST_ERROR
    async for chunk in chunks:
        yield chunk[:left]
        left -= len(chunk)
        if left <= 0:
            return


def _refusal(words: str) -> Read:
    async def read(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for _ in chunks:
            raise ModelError(words)
        yield b""

    return read


def _events(longest: int) -> Read:
    async def read(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size, before = 0, b""
        async for chunk in chunks:
            size += len(chunk)
            joined = before + chunk
            ends = [joined.rfind(mark) + len(mark) for mark in _BLANK_LINES if mark in joined]
            if ends:
                size = len(joined) - max(ends)
            if size > longest:
                raise ModelError(f"the server sent an event of more than {longest} bytes")
            before = chunk[-3:]
            yield chunk

    return read
