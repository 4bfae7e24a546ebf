"""The counts of Gemini's streams, which are read before the client parses the events."""

import asyncio
import json
from collections.abc import AsyncIterator

from timeful.models.counting import Report
from timeful.models.gemini_counts import GeminiCounts


def test_each_event_of_gemini_has_its_own_counts_however_its_bytes_are_split() -> None:
    def event(total: int, **more: object) -> bytes:
        counts = {"promptTokenCount": 9, "candidatesTokenCount": total, **more}
        return (
            b'data: {"text": "\xc3\xa9", "usageMetadata": %s}\r\n\r\n' % json.dumps(counts).encode()
        )

    broken = b'data: {"usageMetadata": {\n\ndata: {"usageMetadata": "many"}\n\n'
    body = event(2) + event(5, thoughtsTokenCount=3) + broken + event(0) + b": end"

    async def read(size: int) -> tuple[bytes, list[Report | None]]:
        async def parts() -> AsyncIterator[bytes]:
            for start in range(0, len(body), size):
                yield body[start : start + size]

        counts, rest, reports = GeminiCounts(), b"", []
        async for line in counts.take(parts()):
            rest += line
            if line.strip():
                reports.append(counts.read())
        assert counts.report(has_thinking=True) == Report(prompt=9, completion=8, reasoning=3)
        return rest, reports

    for size in (1, 7, len(body)):
        rest, reports = asyncio.run(read(size))
        assert [report and report.completion for report in reports] == [2, 8, None, None, 8, None]
        assert rest.count(b'data: {"text":"\xc3\xa9"}\r\n\r\n') == 3
        assert b'data: {"usageMetadata": {\n' in rest, "the client names the error"
