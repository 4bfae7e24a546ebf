"""The token counts of Gemini's streams, read before the client of Google parses an event.

Each event has `usageMetadata` with running totals. The client validates them, and pydantic-ai maps
them to its own counts, which is half of the CPU time of an event.
"""

from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import msgspec

from timeful.models.counting import Report, read_count

COUNTS: ContextVar["GeminiCounts"] = ContextVar("COUNTS")
"""The counts of the stream that a task reads."""

_FIELD, _DATA = b'"usageMetadata"', b"data:"


class GeminiCounts:
    """The running totals of a stream."""

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._is_new = False

    @property
    def has_any(self) -> bool:
        """Whether an event had counts."""
        return bool(self._totals)

    async def take(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Pass the lines of a body one by one, without the counts.

        The consumer reads the event of a line before it asks for the next line, so `read` has the
        counts of that event.
        """
        buffer = bytearray()
        async for part in parts:
            buffer += part
            if b"\n" not in part and b"\r" not in part:
                continue
            end = max(buffer.rfind(b"\n"), buffer.rfind(b"\r")) + 1
            lines, buffer = bytes(buffer[:end]).splitlines(keepends=True), buffer[end:]
            for line in lines:
                yield self._take_line(line)
        yield self._take_line(bytes(buffer))

    def read(self) -> Report | None:
        """The totals, if there were further ones; see `report`."""
        if not self._is_new:
            return None
        self._is_new = False
        return self.report(has_thinking=True)

    def report(self, *, has_thinking: bool) -> Report:
        """The totals so far. A model that neither shows nor counts reasoning did none."""
        count = self._totals.get
        reasoning = count("thoughtsTokenCount", 0)
        return Report(
            prompt=count("promptTokenCount", 0) + count("toolUsePromptTokenCount", 0) or None,
            cached=count("cachedContentTokenCount"),
            completion=count("candidatesTokenCount", 0) + reasoning or None,
            reasoning=reasoning or (None if has_thinking else 0),
        )

    def _take_line(self, line: bytes) -> bytes:
        if _FIELD not in line or not line.startswith(_DATA):
            return line
        try:
            event: dict[str, Any] = msgspec.json.decode(line[len(_DATA) :], type=dict)
        except (ValueError, RecursionError):  # the client names the error
            return line
        totals = event.pop("usageMetadata", None)
        for name, value in totals.items() if isinstance(totals, dict) else ():
            # A total that is missing in a later event is the earlier one.
            if isinstance(value, int) and (number := read_count(value)):
                self._totals[name] = number
                self._is_new = True
        return b"data: " + msgspec.json.encode(event) + line[len(line.rstrip()) :]
