"""From drawn tokens to text, cut at stop texts, and tool calls."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.request import Request, TokenSample
from timeful.models.sse import overlap_length
from timeful.serving.engine import Engine
from timeful.tools import BadCallError, ToolCall, read_call

Finish = Literal["stop", "length", "tool_calls"]

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


@dataclass(frozen=True, slots=True)
class Step:
    """What one token adds to the answer with this index; `finish` if it was the last one."""

    index: int
    sample: TokenSample
    text: str
    calls: tuple[ToolCall, ...]
    finish: Finish | None


async def answer(
    engine: Engine, requests: Sequence[Request], *, stops: Sequence[str], has_tools: bool = False
) -> AsyncGenerator[Step, None]:
    """Answer requests concurrently, token by token.

    Args:
        engine: Draws the tokens.
        requests: May stop at more texts than the client named.
        stops: The texts at which answers are cut.
        has_tools: Whether `<tool_call>` in an answer is a call.

    Raises:
        ModelError: If the sampler fails or is closed.
    """
    writers = [AnswerWriter(engine.checkpoint, stops, has_tools=has_tools) for _ in requests]
    unfinished = set(range(len(writers)))
    async with aclosing(engine.draw(requests)) as samples:
        async for index, sample in samples:
            if index not in unfinished:
                continue
            step = writers[index].take(index, sample)
            if step.finish is not None:
                unfinished.remove(index)
            yield step
            if not unfinished:
                return


class AnswerWriter:
    """Writes one answer.

    Args:
        checkpoint: Turns tokens into text.
        stops: Texts that end the answer, and are left out of it.
        has_tools: Whether `<tool_call>` in it is a call.
    """

    def __init__(self, checkpoint: Checkpoint, stops: Sequence[str], *, has_tools: bool) -> None:
        self._stop_ids = frozenset(checkpoint.stop_ids)
        self._reader = checkpoint.detokenizer.reader()
        self._cutter = StopCutter(stops)
        self._calls = ToolCallReader() if has_tools else None
        self._has_called = False

    def take(self, index: int, sample: TokenSample) -> Step:
        """Read a token."""
        is_over = sample.finish is not None
        is_stop_token = sample.finish == "stop" and sample.token in self._stop_ids
        text = "" if is_stop_token else self._reader.feed(sample.token)
        if is_over:
            text += self._reader.flush()
        text, is_cut = self._cutter.feed(text)
        if is_over and not is_cut:
            text += self._cutter.flush()
        calls: tuple[ToolCall, ...] = ()
        if self._calls is not None:
            text, calls = self._calls.feed(text)
            if is_over or is_cut:
                tail, last_calls = self._calls.flush()
                text, calls = text + tail, calls + last_calls
        self._has_called |= bool(calls)
        finish: Finish | None = "stop" if is_cut else sample.finish
        if finish == "stop" and self._has_called:
            finish = "tool_calls"
        return Step(index, sample, text, calls, finish)


class StopCutter:
    """Passes text up to the first stop text; holds back what may be the beginning of one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._buffer = ""

    def feed(self, text: str) -> tuple[str, bool]:
        """The text that is certain by now, and whether a stop text was reached."""
        text, self._buffer = self._buffer + text, ""
        starts = [start for stop in self._stops if (start := text.find(stop)) >= 0]
        if starts:
            return text[: min(starts)], True
        end = len(text) - overlap_length(text, self._stops)
        text, self._buffer = text[:end], text[end:]
        return text, False

    def flush(self) -> str:
        """The text held back, at the end of the answer."""
        text, self._buffer = self._buffer, ""
        return text


class ToolCallReader:
    """Takes calls out of a text; text between the tags that is not a call stays text."""

    def __init__(self) -> None:
        self._buffer = ""
        self._is_inside = False

    def feed(self, text: str) -> tuple[str, tuple[ToolCall, ...]]:
        """The text and the calls that are certain by now."""
        self._buffer += text
        certain, calls = "", []
        while True:
            before, tag, after = self._buffer.partition(_CLOSE if self._is_inside else _OPEN)
            if not tag:
                break
            self._buffer = after
            if not self._is_inside:
                certain += before
            elif (call := _call(before)) is not None:
                calls.append(call)
            else:
                certain += f"{_OPEN}{before}{_CLOSE}"
            self._is_inside = not self._is_inside
        if not self._is_inside:
            end = len(self._buffer) - overlap_length(self._buffer, (_OPEN,))
            certain, self._buffer = certain + self._buffer[:end], self._buffer[end:]
        return certain, tuple(calls)

    def flush(self) -> tuple[str, tuple[ToolCall, ...]]:
        """The text held back, at the end of the answer; a call may lack its closing tag."""
        text, self._buffer = self._buffer, ""
        if not self._is_inside:
            return text, ()
        self._is_inside = False
        call = _call(text)
        return ("", (call,)) if call is not None else (f"{_OPEN}{text}", ())


def _call(text: str) -> ToolCall | None:
    try:
        return read_call(text.strip())
    except BadCallError:
        return None
