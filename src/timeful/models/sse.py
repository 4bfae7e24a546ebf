"""What a chat endpoint sends: server-sent events, their JSON, and thinking inside of the text."""

import json
from typing import Literal

import msgspec

from timeful.core.source import Channel
from timeful.errors import ModelError

Thinking = Literal["split", "opened", "keep"]
"""What `<think>` tags in the answer mean.

split: text between the tags, if the answer begins with them, is reasoning.
opened: as split, but the chat template has written the opening tag already.
keep: nothing; all of it is the answer.
"""

_FIELDS = (b"data", b"event", b"id", b"retry")
_OPEN, _CLOSE = "<think>", "</think>"


class Usage(msgspec.Struct, frozen=True):
    """The server's own counts."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Function(msgspec.Struct, frozen=True):
    """What is new of a call: its name, and arguments as JSON text, or as what that stands for."""

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
    """One of the answers under way; we only ask for one."""

    delta: Delta | None = None
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct, frozen=True):
    """One event of a streamed chat completion, as far as we read it."""

    choices: list[Choice] | None = None
    usage: Usage | None = None
    error: dict[str, object] | str | None = None

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
        """All that is new and costs tokens: reasoning, answer, names and arguments of calls."""
        return self.reasoning + self.content + "".join(p.name + p.arguments for p in self.calls)

    @property
    def finish_reason(self) -> str | None:
        """Why the server stopped, in its last event with a choice."""
        return self.choices[0].finish_reason if self.choices else None

    @property
    def has_news(self) -> bool:
        """Whether it brings text, or says that there will be no more."""
        return bool(self.reasoning or self.content or self.calls or self.finish_reason)

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
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """Take what was received and return the data of the events that are now complete.

        Raises:
            ModelError: If a line is not one of server-sent events.
        """
        *lines, self._rest = (self._rest + received).split(b"\n")
        return [data for line in lines for data in self._line(line.removesuffix(b"\r"))]

    def flush(self) -> list[bytes]:
        """Return the data of a last event that was not followed by an empty line."""
        return self.feed(b"\n\n")

    def _line(self, line: bytes) -> list[bytes]:
        if not line:
            event, self._data = b"\n".join(self._data), []
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
    """Tells reasoning from answer in text whose tags may be cut anywhere by the stream.

    Only tags around the beginning count: an answer that mentions `<think>` later keeps it.
    """

    def __init__(self, thinking: Thinking) -> None:
        self._state: Literal["before", "inside", "after"] = (
            "before" if thinking == "split" else "inside" if thinking == "opened" else "after"
        )
        self._held = ""

    def feed(self, text: str) -> list[Piece]:
        """Take new text and return what is certain by now."""
        if self._state == "after":
            return [("answer", text)] if text else []
        text, self._held = self._held + text, ""
        return self._before(text) if self._state == "before" else self._inside(text)

    def flush(self) -> list[Piece]:
        """Return what was held back, since the text has ended."""
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
            end = len(text) - _overlap(text)
            reasoning, self._held = text[:end], text[end:]
        pieces: list[Piece] = [("reasoning", reasoning), ("answer", answer)]
        return [(channel, piece) for channel, piece in pieces if piece]


def _overlap(text: str) -> int:
    """How many characters at the end of a text may begin a closing tag."""
    return next((n for n in range(len(_CLOSE) - 1, 0, -1) if text.endswith(_CLOSE[:n])), 0)
