"""Cassettes: requests and their timed answers in a file, one JSON line a stream.

The first line is a header with the format's version. A line is appended in one piece when its
stream ends, is closed, or fails, so several processes may write one cassette. After a kill the
last line can be torn; the next writer marks it as torn and begins a new line.
"""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from timeful.core.source import Channel, Chunk, End, Finish
from timeful.errors import RecordError
from timeful.files import decode
from timeful.models.model import Prompt
from timeful.records.usage import Usage

VERSION = 1

_TORN = b"\x18\n"
"""Ends a line that was torn: "cancel", which JSON never holds."""


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    cassette: int


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A chunk, and when it had arrived: nanoseconds after its request was sent."""

    text: str
    tokens: int
    channel: Channel
    arrived: int

    def chunk(self) -> Chunk:
        """The chunk alone."""
        return Chunk(self.text, self.tokens, self.channel)


class RecordedEnd(msgspec.Struct, frozen=True):
    """The end of an answer, without what its request waited for."""

    finish: Finish
    tokens: int | None
    prompt_tokens: int | None
    attempts: int

    def piece(self) -> End:
        """The end as a source gives it."""
        return End(self.finish, self.tokens, self.prompt_tokens, self.attempts)


class Failure(msgspec.Struct, frozen=True):
    """The error that ended a stream: the name of its class and its message."""

    kind: str
    message: str


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its answer.

    `pace` is the first-token delay and the span of a token, in nanoseconds, if the model had
    them. `end` is None if the stream was closed early (`closed`), or failed (`failure`);
    `ended` is when the end had come, in nanoseconds after the request was sent. `tools` are
    the tools that were offered, as the API has them. `usage` are the server's counts of what was
    pulled, or of the whole answer. `room` is the number of tokens that there was time for, if that
    limited the request.
    """

    key: str
    scope: str
    model: str
    purpose: str
    messages: tuple[tuple[str, str], ...]
    max_tokens: int | None
    seed: int
    pace: tuple[int, int] | None
    chunks: tuple[Piece, ...]
    end: RecordedEnd | None = None
    ended: int | None = None
    closed: bool = False
    failure: Failure | None = None
    tools: tuple[dict[str, Any], ...] | msgspec.UnsetType = msgspec.UNSET
    usage: Usage | msgspec.UnsetType = msgspec.UNSET
    room: int | msgspec.UnsetType = msgspec.UNSET

    def __str__(self) -> str:
        return describe(self.model, self.purpose, self.messages, self.key)


def key(model: str, prompt: Prompt, *, max_tokens: int | None, seed: int, scope: str) -> str:
    """Name a request: the SHA-256 of model, messages, limit, seed, scope, and tools if any.

    The limit is part of it, since a smaller limit gives another answer.
    """
    fields = (model, shown(prompt), max_tokens, seed, scope)
    tools = [tool.schema() for tool in prompt.tools]
    return sha256(msgspec.json.encode((*fields, tools) if tools else fields)).hexdigest()


def shown(prompt: Prompt) -> tuple[tuple[str, str], ...]:
    """The messages of a prompt as a recording has them."""
    return tuple((str(message.role), message.shown) for message in prompt.messages)


def describe(model: str, purpose: str, messages: Sequence[tuple[str, str]], key: str) -> str:
    """A request in one line."""
    first = next(iter(messages[-1][1].strip().splitlines()), "") if messages else ""
    first = first if len(first) <= 60 else f"{first[:60]}..."
    return f"{purpose!r} request to {model!r} ({key[:12]}, {first!r})"


_HEADERS = msgspec.json.Decoder(Header)
_RECORDINGS = msgspec.json.Decoder(Recording)
_HEADER = msgspec.json.encode(Header(VERSION)) + b"\n"


def prepare(path: Path) -> None:
    """Make a cassette ready for more: with a folder, a header, and no torn line at its end.

    Raises:
        RecordError: If it is a file of another kind, or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.stat().st_size == 0:
            _append(path, _HEADER)  # two processes may both do so: see `scan`
            return
        with path.open("rb") as file:
            _check_header(path, file.readline())
            file.seek(-1, os.SEEK_END)
            is_torn = file.read(1) != b"\n"
        if is_torn:
            _append(path, _TORN)
    except OSError as error:
        raise RecordError(f"the cassette {path} cannot be written: {error}") from error


def append(path: Path, recording: Recording) -> None:
    """Write a line at the end of a prepared cassette.

    Raises:
        RecordError: If the file cannot be written.
    """
    try:
        _append(path, msgspec.json.encode(recording) + b"\n")
    except OSError as error:
        raise RecordError(f"the cassette {path} cannot be written: {error}") from error


def _append(path: Path, data: bytes) -> None:
    # One write to a file opened for appending: lines of several processes do not mix.
    target = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        count = os.write(target, data)
    finally:
        os.close(target)
    if count != len(data):
        raise OSError(f"only {count} of {len(data)} bytes fitted")


class Line(msgspec.Struct, frozen=True):
    """The position of a recording in its file."""

    number: int
    offset: int
    size: int
    recording: Recording


def scan(path: Path) -> Iterator[Line | None]:
    """Read all recordings in order; a line that was torn comes as None.

    Raises:
        RecordError: If it is no cassette, or a line is damaged; with the line's number.
    """
    try:
        with path.open("rb") as file:
            offset = 0
            for number, line in enumerate(file, start=1):
                if number == 1:
                    _check_header(path, line)
                elif not line.endswith(b"\n") or (line.endswith(_TORN) and line != _TORN):
                    yield None
                elif line not in (_HEADER, _TORN):
                    yield Line(number, offset, len(line), _decode(path, number, line))
                offset += len(line)
    except OSError as error:
        raise RecordError(f"the cassette {path} cannot be read: {error}") from error
    if offset == 0:
        raise RecordError(f"{path} is no cassette: it is empty")


def load(path: Path, *, offset: int, size: int) -> Recording:
    """Read the one recording that lies at an offset."""
    with path.open("rb") as file:
        file.seek(offset)
        return _RECORDINGS.decode(file.read(size))


def _check_header(path: Path, line: bytes) -> None:
    try:
        version = decode(line, _HEADERS).cassette
    except msgspec.DecodeError as error:
        raise RecordError(f"{path} is no cassette: line 1 is not its header ({error})") from error
    if version != VERSION:
        raise RecordError(f"the cassette {path} has version {version}; this reads {VERSION}")


def _decode(path: Path, number: int, line: bytes) -> Recording:
    try:
        return decode(line, _RECORDINGS)
    except msgspec.DecodeError as error:
        raise RecordError(f"line {number} of the cassette {path} is damaged: {error}") from error
