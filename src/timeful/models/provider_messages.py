"""Prompts and tools in the form of pydantic-ai."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from timeful.models.model import Message
from timeful.models.request import Request
from timeful.tools import ToolCall, ToolSpec

_MOST_KEPT = 1024
_LEAST_BUDGET = 1024
"""The least budget of thinking that Claude's API takes."""


class CallNames:
    """The ids of the calls of one answer.

    Gemini may leave them out; pydantic-ai then invents one by chance. The same request shall give
    the same text, so such an id is made from the request.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._names: dict[str, str] = {}

    def of(self, call: ToolCallPart) -> str:
        """The id of a call."""
        given: str = call.tool_call_id
        if not given.startswith("pyd_ai_"):
            return given
        if given not in self._names:
            text = repr((self._request.messages, self._request.options, len(self._names)))
            self._names[given] = f"call_{sha256(text.encode()).hexdigest()[:16]}"
        return self._names[given]


class Signatures:
    """The signed parts of the latest answers with calls of tools.

    Claude, Gemini and the Responses API sign their reasoning and want it back with the reply of a
    tool, while our messages hold text and calls. Parts are found by the id of a call. An answer
    that is not kept, as after a resume, is sent without its reasoning.
    """

    def __init__(self) -> None:
        self._parts: OrderedDict[str, tuple[ModelResponse, ToolCallPart]] = OrderedDict()

    def keep(self, response: ModelResponse, names: CallNames) -> None:
        """Keep the parts of an answer."""
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                name = names.of(part)
                self._parts[name] = response, replace(part, tool_call_id=name)
        while len(self._parts) > _MOST_KEPT:
            self._parts.popitem(last=False)

    def thoughts(self, message: Message) -> Iterator[ThinkingPart]:
        """The signed reasoning of an answer, which begins it."""
        for call in message.calls[:1]:
            if (kept := self._find(call)) is not None:
                response, _ = kept
                yield from (part for part in response.parts if isinstance(part, ThinkingPart))

    def calls(self, message: Message) -> Iterator[ToolCallPart]:
        """The calls of an answer, as they came where they are kept."""
        for call in message.calls:
            kept = self._find(call)
            yield kept[1] if kept else ToolCallPart(call.name, dict(call.arguments), call.id)

    def _find(self, call: ToolCall) -> tuple[ModelResponse, ToolCallPart] | None:
        """The answer with a call and the call; a server may use an id again for another call."""
        kept = self._parts.get(call.id)
        if kept is None or kept[1].tool_name != call.name:
            return None
        return kept if kept[1].args_as_dict() == dict(call.arguments) else None


def convert(messages: Sequence[Message], signatures: Signatures) -> list[ModelMessage]:
    """Convert the messages of a prompt."""
    converted: list[ModelMessage] = []
    names = {call.id: call.name for message in messages for call in message.calls}
    for is_answer, group in groupby(messages, key=lambda message: message.role == "assistant"):
        if is_answer:
            converted += [ModelResponse(parts=_answer(m, signatures)) for m in group]
        else:
            converted.append(ModelRequest(parts=[_question(m, names) for m in group]))
    return converted


def offer(tools: Sequence[ToolSpec]) -> ModelRequestParameters:
    """The tools that a model may call."""
    definitions = []
    for tool in tools:
        function = tool.schema()["function"]
        assert isinstance(function, dict)
        definitions.append(
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=function["parameters"],
            )
        )
    return ModelRequestParameters(function_tools=definitions)


def fit_settings(request: Request, profile: Mapping[str, Any]) -> ModelSettings:
    """The settings of a request; a budget of thinking that its limit has no room for is reduced.

    Claude's older models refuse a budget that is not below the limit. Thinking is turned off if the
    limit is below the least budget.
    """
    settings = dict[str, Any](request.options)
    if request.max_tokens is None:
        return cast(ModelSettings, settings)
    settings["max_tokens"] = request.max_tokens
    level = settings.get("thinking")
    budget = settings.get("anthropic_thinking", {}).get("budget_tokens")
    if level and budget is None and profile.get("anthropic_supports_adaptive_thinking") is False:
        budget = ANTHROPIC_THINKING_BUDGET_MAP[level]
    if budget is not None and budget >= request.max_tokens:
        budget = request.max_tokens - 1
        thinking = {"type": "enabled", "budget_tokens": budget}
        settings |= {"anthropic_thinking": thinking}
        if budget < _LEAST_BUDGET:
            settings["thinking"] = False
            del settings["anthropic_thinking"]
    return cast(ModelSettings, settings)


def _answer(message: Message, signatures: Signatures) -> list[ModelResponsePart]:
    text = [TextPart(message.content)] if message.content else []
    return [*signatures.thoughts(message), *text, *signatures.calls(message)]


def _question(message: Message, names: dict[str, str]) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(message.content)
    if message.role == "tool":
        name = names.get(message.call_id, "tool")
        return ToolReturnPart(name, message.content, message.call_id)
    return UserPromptPart(message.content)
