"""What the dialects of model APIs share: requests and answers as values.

A program asks for an answer in one of three dialects: Chat Completions, Messages, Responses. The
model, its sampling and its pace are those of the episode, whatever the request says: fields that
would change the form of the answer are refused, and others have no effect.
"""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from timeful.errors import TimefulError
from timeful.models.model import Message, Role
from timeful.tools import ToolCall, ToolSpec

Body = Mapping[str, Any]

JSON = "application/json"
STREAM = "text/event-stream"

_WITHOUT_EFFECT = frozenset(
    (
        *("user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key"),
        *("parallel_tool_calls", "include", "truncation", "text", "tool_choice", "thinking"),
    )
)
"""Fields that do not change what this endpoint answers, and need no remark."""


class BadRequestError(TimefulError):
    """A request of a program that cannot be answered; `status` is that of HTTP."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message, status)
        self.message = message
        self.status = status

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response to a request of a program; `pieces` come in real time, in place of a body."""

    body: bytes = b""
    status: int = 200
    kind: str = JSON
    pieces: Generator[bytes, None, None] | None = None


def json_reply(body: object, status: int = 200) -> Reply:
    """A reply of JSON."""
    return Reply(body=json.dumps(body, ensure_ascii=False).encode(), status=status)


def error_reply(message: str, status: int) -> Reply:
    """An error in a form that clients of all dialects read."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    fields = {"type": kind, "message": message, "param": None, "code": None}
    return json_reply({"type": "error", "error": fields}, status)


def event_reply(
    events: Generator[Body, None, None], *, is_named: bool, is_live: bool = False
) -> Reply:
    """A reply of server-sent events.

    Args:
        events: The events.
        is_named: Whether each has its type as its name.
        is_live: Whether they come in real time.
    """
    pieces = _write_events(events, is_named)
    if is_live:
        return Reply(pieces=pieces, kind=STREAM)
    return Reply(body=b"".join(pieces), kind=STREAM)


def _write_events(
    events: Generator[Body, None, None], is_named: bool
) -> Generator[bytes, None, None]:
    with closing(events):
        for event in events:
            name = f"event: {event['type']}\n" if is_named else ""
            yield f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
    if not is_named:
        yield b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTool(ToolSpec):
    """A tool that a program offers to its model, with a JSON schema of any form."""

    definition: Body = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """The tool as an entry of `tools`, as `ToolSpec` has it."""
        function = {"name": self.name, "description": self.description}
        return {"type": "function", "function": {**function, "parameters": dict(self.definition)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request for an answer of a model.

    Attributes:
        model: The name of a model in the request.
        ignored: The fields of the request that have no effect here.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    is_streamed: bool = False
    has_usage: bool = False
    ignored: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class ModelAnswer:
    """The answer to a request.

    Attributes:
        number: The number of the answer in its episode, from 1.
        at_s: The instant of its end in whole seconds.
        is_cut: Whether it met its limit of tokens.
        feed: The texts of an answer that comes in real time; None is its end, and the other
            attributes hold from then on.
        is_abandoned: Whether the program hung up before the end.
    """

    number: int
    at_s: int
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    prompt_tokens: int = 0
    tokens: int = 0
    feed: "SimpleQueue[str | None] | None" = None
    is_abandoned: bool = False

    def pieces(self) -> Iterator[str]:
        """The text in the pieces in which it comes."""
        if self.feed is None:
            yield from (self.text,) if self.text else ()
            return
        try:
            yield from iter(self.feed.get, None)
        except GeneratorExit:
            self.is_abandoned = True
            raise

    def call_id(self, index: int) -> str:
        """The identity of a call; the same in every run."""
        return f"call_{self.number}_{index}"

    def arguments(self, index: int) -> str:
        """The arguments of a call as JSON."""
        return json.dumps(dict(self.calls[index].arguments), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A form of requests and answers."""

    read: Callable[[Body], ModelRequest]
    write: Callable[[ModelRequest, ModelAnswer], Reply]


# --- reading requests ----------------------------------------------------------------------------


def read_body(data: bytes) -> dict[str, Any]:
    """Read the JSON object of a request.

    Raises:
        BadRequestError: If it is none.
    """
    try:
        body = json.loads(data)
        json.dumps(body, ensure_ascii=False).encode()  # half of a character cannot be recorded
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadRequestError("the body must be a JSON object")
    return body


def check_neutral(body: Body, neutral: Mapping[str, Sequence[object]]) -> None:
    """Refuse fields that would change the form of the answer.

    Raises:
        BadRequestError: If a field has a value that is not neutral.
    """
    for name, values in neutral.items():
        if body.get(name) is not None and body[name] not in values:
            raise BadRequestError(f"{name} is not supported: leave it out")


def find_ignored(body: Body, known: Iterable[str]) -> tuple[str, ...]:
    """The fields of a request that have no effect."""
    known = {*known, *_WITHOUT_EFFECT}
    names = {name for name, value in body.items() if value is not None and name not in known}
    choice = body.get("tool_choice")
    if choice is not None and _choice(choice) not in ("auto", "none"):
        names.add("tool_choice")
    return tuple(sorted(names))


def has_tools(body: Body) -> bool:
    """Whether the model may call tools."""
    return _choice(body.get("tool_choice")) != "none"


def _choice(choice: object) -> object:
    return choice.get("type") if isinstance(choice, Mapping) else choice


def read_limit(body: Body, *names: str) -> int | None:
    """The most tokens of the answer.

    Raises:
        BadRequestError: If it is not a number above 0.
    """
    for name in names:
        value = body.get(name)
        if value is not None:
            if type(value) is not int or value < 1:
                raise BadRequestError(f"{name} must be a whole number above 0, got {value!r}")
            return value
    return None


def read_stops(value: object) -> tuple[str, ...]:
    """The texts that end an answer.

    Raises:
        BadRequestError: If it is neither a text nor a list of texts.
    """
    stops = [value] if isinstance(value, str) else value or []
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise BadRequestError("stop must be a text or a list of texts")
    return tuple(stops)


def read_items(body: Body, name: str) -> list[Body]:
    """A field that is a list of objects; empty if there is none.

    Raises:
        BadRequestError: If it is something else.
    """
    items = body.get(name) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadRequestError(f"{name} must be a list of JSON objects")
    return items


def read_text(value: object, path: str) -> str:
    """The text of a content, which is a text or a list of parts with texts.

    Raises:
        BadRequestError: If it has a part without text, such as a picture.
    """
    if value is None or isinstance(value, str):
        return value or ""
    texts = []
    for part in value if isinstance(value, list) else [value]:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            raise BadRequestError(f"{path} must be a text or parts with texts")
        texts.append(text)
    return "".join(texts)


def read_role(role: object, path: str) -> Role:
    """A role of a message; a developer is a system.

    Raises:
        BadRequestError: If there is no such role.
    """
    match role:
        case "system" | "developer":
            return "system"
        case "user" | "assistant" | "tool":
            return role
    raise BadRequestError(f"{path} has the unknown role {role!r}")


def read_arguments(value: object, path: str) -> Mapping[str, Any]:
    """The arguments of a call: an object, or its JSON.

    Raises:
        BadRequestError: If they are something else.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except (ValueError, RecursionError):
            value = {"unreadable": value}
    if not isinstance(value, dict):
        raise BadRequestError(f"the arguments of {path} must be a JSON object")
    return value


def read_tool(name: object, description: object, definition: object) -> GivenTool:
    """A tool that the model may call.

    Raises:
        BadRequestError: If it has no name or no schema.
    """
    if not isinstance(name, str) or not name or not isinstance(definition or {}, dict):
        raise BadRequestError("a tool has a name and a JSON schema; hosted tools are not supported")
    return GivenTool(
        name=name,
        description=description if isinstance(description, str) else "",
        definition=definition if isinstance(definition, dict) and definition else _NO_ARGUMENTS,
    )


_NO_ARGUMENTS: Body = {"type": "object", "properties": {}}
