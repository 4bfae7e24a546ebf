"""Tools that a model may call: what they are, and what a call of one looks like.

A call is written as one JSON object, `{"name": ..., "arguments": {...}}`, with an `id` where an
endpoint gave it one. So it stands in records, in the text form `<tool_call>...</tool_call>`, and
as an intervention in a world of tools.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from timeful.errors import unknown

Kind = Literal["string", "integer", "number", "boolean"]

_TYPES: dict[Kind, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


class BadCallError(ValueError):
    """A call that cannot be made; the message tells the model why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An argument of a tool; all are required."""

    name: str
    description: str
    kind: Kind = "string"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a model is told of a tool."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The tool as an entry of `tools` in a request to an OpenAI-compatible endpoint."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        one.name: {"type": one.kind, "description": one.description}
                        for one in self.parameters
                    },
                    "required": [one.name for one in self.parameters],
                    "additionalProperties": False,
                },
            },
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that do not fit.

        Raises:
            BadCallError: If one is missing, unknown or of another type.
        """
        names = [one.name for one in self.parameters]
        for name in arguments:
            if name not in names:
                takes = ", ".join(names) or "no arguments"
                raise BadCallError(f"{self.name} has no argument {name!r}; it takes {takes}")
        for one in self.parameters:
            if one.name not in arguments:
                raise BadCallError(f"{self.name} needs the argument {one.name!r}")
            given = arguments[one.name]
            is_wrong_bool = isinstance(given, bool) and one.kind != "boolean"
            if is_wrong_bool or not isinstance(given, _TYPES[one.kind]):
                raise BadCallError(
                    f"the argument {one.name!r} of {self.name} must be of type {one.kind}, "
                    f"got {type(given).__name__}"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool. `id` is the endpoint's name for it, if it has one."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""

    def __str__(self) -> str:
        """The call as one line of JSON."""
        call: dict[str, Any] = {"name": self.name, "arguments": dict(self.arguments)}
        if self.id:
            call["id"] = self.id
        return json.dumps(call, ensure_ascii=False)


def read_call(text: str) -> ToolCall:
    """Read a call from its JSON; whether there is such a tool is not asked here.

    Arguments may be an object, JSON text of an object, as endpoints send them, or missing.

    Raises:
        BadCallError: If it is no call.
    """
    try:
        call = _read(text)
    except (ValueError, RecursionError) as error:
        raise BadCallError(f"the call is no valid JSON ({error})") from None
    if not isinstance(call, dict) or not isinstance(call.get("name"), str) or not call["name"]:
        raise BadCallError('a call is {"name": "...", "arguments": {...}}')
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = _read(arguments or "{}")
        except (ValueError, RecursionError) as error:
            raise BadCallError(f"the arguments are no valid JSON ({error})") from None
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise BadCallError("the arguments must be a JSON object")
    identity = call.get("id")
    return ToolCall(
        name=call["name"], arguments=arguments, id=identity if isinstance(identity, str) else ""
    )


def _read(text: str) -> Any:
    """Read JSON, and nothing that JSON or UTF-8 cannot say: NaN, or half of a character.

    Line ends inside of a text are taken as they stand: models write code so.
    """
    found = json.loads(text, parse_constant=_refuse, strict=False)
    json.dumps(found, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"there is no {constant} in JSON")


def find_tool(call: ToolCall, tools: Sequence[ToolSpec]) -> ToolSpec:
    """Find the tool that a call is for, with arguments that fit.

    Raises:
        BadCallError: If there is no such tool, or its arguments are others.
    """
    for tool in tools:
        if tool.name == call.name:
            tool.check(call.arguments)
            return tool
    raise BadCallError(unknown("tool", call.name, names(tools)))


def names(tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """The names of some tools."""
    return tuple(tool.name for tool in tools)
