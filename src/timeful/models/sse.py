"""The stream of a chat endpoint: server-sent events, their JSON, and reasoning in the text."""

import json
from collections.abc import Sequence
from typing import Literal

import msgspec

from timeful.core.source import Channel
from timeful.errors import ModelError
from timeful.models.counting import Report, read_count

Thinking = Literal["split", "opened", "keep"]
"""What `<think>` tags in the answer mean.

split: text between the tags, if the answer begins with them, is reasoning.
opened: as split, but the chat template has written the opening tag already.
keep: nothing; all of it is the answer.
"""

_FIELDS = (b"data", b"event", b"id", b"retry")
LONGEST_EVENT = 1 << 23
"""The most bytes of an event."""
_OPEN, _CLOSE = "<think>", "</think>"


class PromptDetails(msgspec.Struct, frozen=True):
    """The parts of a prompt's tokens."""

    cached_tokens: int | None = None


class CompletionDetails(msgspec.Struct, frozen=True):
    """The parts of an answer's tokens."""

    reasoning_tokens: int | None = None


class UsageField(msgspec.Struct, frozen=True):
    """The counts of an OpenAI-compatible server; `prompt_cache_hit_tokens` is DeepSeek's."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None

    @property
    def report(self) -> Report:
        """The counts in one form.

        Some servers leave the reasoning out of the completion, as xAI and Gemini do. The total
        tells, unless what it has in addition are cached tokens of the prompt.
        """
        prompt, completion = read_count(self.prompt_tokens), read_count(self.completion_tokens)
        details = self.completion_tokens_details
        reasoning = read_count(details.reasoning_tokens) if details else None
        parts = self.prompt_tokens_details
        cached = read_count(parts.cached_tokens if parts else self.prompt_cache_hit_tokens)
        if completion is not None:
            surplus = (self.total_tokens or 0) - (prompt or 0) - completion
            if prompt is not None and surplus > 0 and surplus != cached:
                completion += surplus
            completion = max(completion, reasoning or 0)
        return Report(prompt=prompt, cached=cached, completion=completion, reasoning=reasoning)


class TimingsField(msgspec.Struct, frozen=True):
    """The counts of a llama.cpp server: evaluated and cached tokens of the prompt, generated."""

    prompt_n: int | None = None
    cache_n: int | None = None
    predicted_n: int | None = None

    @property
    def report(self) -> Report:
        """The counts in one form."""
        prompt, cached = read_count(self.prompt_n), read_count(self.cache_n)
        return Report(
            prompt=None if prompt is None else prompt + (cached or 0),
            cached=cached,
            completion=read_count(self.predicted_n),
        )


class Function(msgspec.Struct, frozen=True):
    """The new part of a call: its name, and arguments as JSON text or as a value."""

    name: str | None = None
    arguments: object = None


class CallPiece(msgspec.Struct, frozen=True):
    """A fragment of the call of a tool; `models/tool_call_assembler.py` joins them."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None

    @property
    def name(self) -> str:
        """The name, often empty."""
        return (self.function.name or "") if self.function else ""

    @property
    def arguments(self) -> str:
        """The new part of the arguments as JSON text, often empty."""
        value = self.function.arguments if self.function else None
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)


class Delta(msgspec.Struct, frozen=True):
    """New text; servers name the reasoning in one way or the other, some in both."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[CallPiece] | None = None


class Choice(msgspec.Struct, frozen=True):
    """One of the answers; we request only one."""

    delta: Delta | None = None
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct, frozen=True):
    """One event of a streamed chat completion; unused fields are skipped."""

    choices: list[Choice] | None = None
    usage: UsageField | None = None
    timings: TimingsField | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: dict[str, object] | str | None = None

    @property
    def report(self) -> Report | None:
        """The server's counts: its `usage`, else llama.cpp's `timings` or Ollama's own fields."""
        if self.usage is not None:
            return self.usage.report
        if self.timings is not None:
            return self.timings.report
        if self.eval_count is not None:
            return Report(
                prompt=read_count(self.prompt_eval_count), completion=read_count(self.eval_count)
            )
        return None

    @property
    def reasoning(self) -> str:
        """The new reasoning, often empty."""
        delta = self._delta
        return (delta.reasoning_content or delta.reasoning or "") if delta else ""

    @property
    def content(self) -> str:
        """The new text of the answer, often empty."""
        delta = self._delta
        return (delta.content or "") if delta else ""

    @property
    def calls(self) -> list[CallPiece]:
        """The new fragments of calls, often none."""
        delta = self._delta
        return (delta.tool_calls or []) if delta else []

    @property
    def text(self) -> str:
        """All new text that costs tokens: reasoning, answer, names and arguments of calls."""
        delta = self._delta
        if delta is None:
            return ""
        text = (delta.reasoning_content or delta.reasoning or "") + (delta.content or "")
        if delta.tool_calls:
            text += "".join(piece.name + piece.arguments for piece in delta.tool_calls)
        return text

    @property
    def finish_reason(self) -> str | None:
        """Why the server stopped, in its last event with a choice."""
        return self.choices[0].finish_reason if self.choices else None

    @property
    def has_news(self) -> bool:
        """Whether it has text or a finish reason."""
        choice = self.choices[0] if self.choices else None
        if choice is None:
            return False
        delta = choice.delta
        return bool(
            choice.finish_reason
            or (
                delta is not None
                and (
                    delta.content or delta.reasoning_content or delta.reasoning or delta.tool_calls
                )
            )
        )

    @property
    def _delta(self) -> Delta | None:
        return self.choices[0].delta if self.choices else None


_DECODER = msgspec.json.Decoder(ChatChunk)


def decode_chunk(data: bytes) -> ChatChunk:
    """Read the JSON of one event.

    Raises:
        ModelError: If it is not the JSON of a chat completion chunk.
    """
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ModelError(
            f"the server sent a malformed event: {error}; it began {data[:80]!r}"
        ) from error


class SseParser:
    """Cuts a stream of bytes into the data of its events; comments are dropped.

    Only the line ends of server-sent events count, never those of Unicode: JSON may hold them.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0  # of what came since the last event
        self._has_begun = False

    def feed(self, received: bytes) -> list[bytes]:
        """Add received bytes and return the data of the events that are now complete.

        Raises:
            ModelError: If a line is not one of server-sent events.
        """
        self._size += len(received)
        if self._size > LONGEST_EVENT:
            raise ModelError(f"the server sent an event of more than {LONGEST_EVENT} bytes")
        if (
            received.startswith(b"data:")
            and received.find(b"\n") == len(received) - 2
            and received.endswith(b"\n\n")
            and not (self._rest or self._data)
            and not received.endswith(b"\r\n\n")
        ):  # one whole event, as most servers send them
            self._size, self._has_begun = 0, True
            event = received[5:-2].removeprefix(b" ")
            return [event] if event else []
        complete, end, rest = received.rpartition(b"\n")
        lines = bytes(self._rest + complete).split(b"\n") if end else []
        if end:
            self._rest.clear()
        self._rest += rest
        return [data for line in lines for data in self._line(line.removesuffix(b"\r"))]

    def flush(self) -> list[bytes]:
        """Return the data of a last event that was not followed by an empty line."""
        return self.feed(b"\n\n")

    def _line(self, line: bytes) -> list[bytes]:
        if not self._has_begun:  # a byte order mark may come first
            line, self._has_begun = line.removeprefix(b"\xef\xbb\xbf"), True
        if not line:
            event, self._data = b"\n".join(self._data), []
            self._size = 0
            return [event] if event else []
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name and name not in _FIELDS:
            raise ModelError(
                f"the server sent something other than an event stream; a line began {line[:80]!r}"
            )
        return []


Piece = tuple[Channel, str]


class ThinkSplitter:
    """Separates reasoning from the answer; the stream may cut a tag anywhere.

    Only tags around the beginning count; a later `<think>` stays in the answer.
    """

    def __init__(self, thinking: Thinking) -> None:
        self._state: Literal["before", "inside", "after"] = (
            "before" if thinking == "split" else "inside" if thinking == "opened" else "after"
        )
        self._held = ""

    def feed(self, text: str) -> list[Piece]:
        """Add text and return the pieces that are certain by now."""
        if self._state == "after":
            return [("answer", text)] if text else []
        text, self._held = self._held + text, ""
        return self._before(text) if self._state == "before" else self._inside(text)

    def flush(self) -> list[Piece]:
        """Return the text held back, at the end."""
        channel: Channel = "reasoning" if self._state == "inside" else "answer"
        text, self._held = self._held, ""
        return [(channel, text)] if text else []

    def _before(self, text: str) -> list[Piece]:
        start = text.lstrip()
        if start.startswith(_OPEN):
            self._state = "inside"
            return self._inside(start.removeprefix(_OPEN))
        if _OPEN.startswith(start):
            self._held = text
            return []
        self._state = "after"
        return [("answer", text)]

    def _inside(self, text: str) -> list[Piece]:
        reasoning, tag, answer = text.partition(_CLOSE)
        if tag:
            self._state = "after"
        else:
            end = len(text) - overlap_length(text, (_CLOSE,))
            reasoning, self._held = text[:end], text[end:]
        pieces: list[Piece] = [("reasoning", reasoning), ("answer", answer)]
        return [(channel, piece) for channel, piece in pieces if piece]


def overlap_length(text: str, marks: Sequence[str]) -> int:
    """The number of characters at the end of a text that may begin one of the marks."""
    longest = 0
    for mark in marks:
        start = text.find(mark[0], max(0, len(text) - len(mark) + 1))
        while start >= 0 and not mark.startswith(text[start:]):
            start = text.find(mark[0], start + 1)
        if start >= 0:
            longest = max(longest, len(text) - start)
    return longest
