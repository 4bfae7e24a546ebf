"""What drawn tokens say: text up to what stops it, and calls of tools."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.request import Drawn, Request
from timeful.serving.engine import Engine
from timeful.tools import BadCallError, ToolCall, read_call

Finish = Literal["stop", "length", "tool_calls"]

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


@dataclass(frozen=True, slots=True)
class Step:
    """What one token adds to one of the answers; `finish` if it was the last one."""

    place: int
    drawn: Drawn
    text: str
    calls: tuple[ToolCall, ...]
    finish: Finish | None


async def answer(
    engine: Engine, requests: Sequence[Request], *, stops: Sequence[str], has_tools: bool = False
) -> AsyncGenerator[Step, None]:
    """Answer requests side by side, token by token.

    Args:
        engine: Who answers.
        requests: What is asked; what stops them may be more than the client knows of.
        stops: The texts at which answers are cut.
        has_tools: Whether `<tool_call>` in an answer is a call.

    Raises:
        ModelError: If the sampler fails or is closed.
    """
    writers = [AnswerWriter(engine.checkpoint, stops, has_tools=has_tools) for _ in requests]
    left = set(range(len(writers)))
    async with aclosing(engine.draw(requests)) as tokens:
        async for place, drawn in tokens:
            if place not in left:
                continue
            step = writers[place].take(place, drawn)
            if step.finish is not None:
                left.remove(place)
            yield step
            if not left:
                return


class AnswerWriter:
    """Writes one answer.

    Args:
        checkpoint: Whose tokens they are.
        stop: Texts that end it, and are left out.
        has_tools: Whether `<tool_call>` in it is a call.
    """

    def __init__(self, checkpoint: Checkpoint, stop: Sequence[str], *, has_tools: bool) -> None:
        self._stop_ids = frozenset(checkpoint.stop_ids)
        self._reader = checkpoint.texts.reader()
        self._cutter = StopCutter(stop)
        self._calls = ToolCallReader() if has_tools else None
        self._has_called = False

    def take(self, place: int, drawn: Drawn) -> Step:
        """Read a token."""
        is_over = drawn.finish is not None
        ends = drawn.finish == "stop" and drawn.token in self._stop_ids
        text = "" if ends else self._reader.feed(drawn.token)
        if is_over:
            text += self._reader.flush()
        text, is_cut = self._cutter.feed(text)
        if is_over and not is_cut:
            text += self._cutter.flush()
        calls: tuple[ToolCall, ...] = ()
        if self._calls is not None:
            text, calls = self._calls.feed(text)
            if is_over or is_cut:
                rest, last = self._calls.flush()
                text, calls = text + rest, calls + last
        self._has_called |= bool(calls)
        finish: Finish | None = "stop" if is_cut else drawn.finish
        if finish == "stop" and self._has_called:
            finish = "tool_calls"
        return Step(place, drawn, text, calls, finish)


class StopCutter:
    """Lets text pass up to the first of some texts; holds back what may be the beginning of one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""

    def feed(self, text: str) -> tuple[str, bool]:
        """What is certain by now, and whether one was met: nothing follows then."""
        text, self._held = self._held + text, ""
        places = [place for one in self._stops if (place := text.find(one)) >= 0]
        if places:
            return text[: min(places)], True
        cut = len(text) - overlap_length(text, self._stops)
        text, self._held = text[:cut], text[cut:]
        return text, False

    def flush(self) -> str:
        """What was held back, since the text has ended."""
        held, self._held = self._held, ""
        return held


class ToolCallReader:
    """Takes calls out of a text; what is between the tags and no call stays text."""

    def __init__(self) -> None:
        self._held = ""
        self._is_inside = False

    def feed(self, text: str) -> tuple[str, tuple[ToolCall, ...]]:
        """The text and the calls that are certain by now."""
        self._held += text
        said, calls = "", []
        while True:
            before, mark, after = self._held.partition(_CLOSE if self._is_inside else _OPEN)
            if not mark:
                break
            self._held = after
            if not self._is_inside:
                said += before
            elif (call := _call(before)) is not None:
                calls.append(call)
            else:
                said += f"{_OPEN}{before}{_CLOSE}"
            self._is_inside = not self._is_inside
        if not self._is_inside:
            cut = len(self._held) - overlap_length(self._held, (_OPEN,))
            said, self._held = said + self._held[:cut], self._held[cut:]
        return said, tuple(calls)

    def flush(self) -> tuple[str, tuple[ToolCall, ...]]:
        """What was held back, since the text has ended; a call may lack its last tag."""
        held, self._held = self._held, ""
        if not self._is_inside:
            return held, ()
        self._is_inside = False
        call = _call(held)
        return ("", (call,)) if call is not None else (f"{_OPEN}{held}", ())


def overlap_length(text: str, marks: Sequence[str]) -> int:
    """How many characters at the end of a text may begin one of some marks."""
    longest = min(len(text), max(map(len, marks), default=1) - 1)
    for count in range(longest, 0, -1):
        if any(len(one) > count and text.endswith(one[:count]) for one in marks):
            return count
    return 0


def _call(text: str) -> ToolCall | None:
    try:
        return read_call(text.strip())
    except BadCallError:
        return None
