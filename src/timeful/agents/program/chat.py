"""The dialect of Chat Completions (OpenAI)."""

from collections.abc import Generator
from typing import Any

from timeful.agents.program.dialect import (
    BadRequestError,
    Body,
    Dialect,
    GivenTool,
    ModelAnswer,
    ModelRequest,
    Reply,
    check_neutral,
    event_reply,
    find_ignored,
    has_tools,
    json_reply,
    read_arguments,
    read_items,
    read_limit,
    read_role,
    read_stops,
    read_text,
    read_tool,
)
from timeful.models.model import Message
from timeful.tools import ToolCall

_NEUTRAL = {
    "n": (1,),
    "logprobs": (False,),
    "modalities": (["text"],),
    "response_format": ({"type": "text"},),
    "functions": ([],),
}
_FIELDS = (
    *("model", "messages", "tools", "max_tokens", "max_completion_tokens", "stop", "stream"),
    *("stream_options", *_NEUTRAL),
)


def _read(body: Body) -> ModelRequest:
    check_neutral(body, _NEUTRAL)
    messages = read_items(body, "messages")
    if not messages:
        raise BadRequestError("messages must have at least one message")
    options = body.get("stream_options") or {}
    return ModelRequest(
        model=str(body.get("model", "")),
        messages=tuple(_read_message(item, f"messages[{i}]") for i, item in enumerate(messages)),
        tools=tuple(map(_read_tool, read_items(body, "tools"))) if has_tools(body) else (),
        max_tokens=read_limit(body, "max_completion_tokens", "max_tokens"),
        stops=read_stops(body.get("stop")),
        is_streamed=body.get("stream") is True,
        has_usage=isinstance(options, dict) and options.get("include_usage") is True,
        ignored=find_ignored(body, _FIELDS),
    )


def _read_message(item: Body, path: str) -> Message:
    calls = []
    for call in read_items(item, "tool_calls"):
        function = call.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadRequestError(f"a call in {path} has no function with a name")
        arguments = read_arguments(function.get("arguments"), path)
        identity = str(call.get("id", ""))
        calls.append(ToolCall(name=function["name"], arguments=arguments, id=identity))
    return Message(
        read_role(item.get("role"), path),
        read_text(item.get("content"), f"{path}.content"),
        calls=tuple(calls),
        call_id=str(item.get("tool_call_id") or ""),
    )


def _read_tool(item: Body) -> GivenTool:
    function = item.get("function")
    function = function if isinstance(function, dict) else {}
    return read_tool(function.get("name"), function.get("description"), function.get("parameters"))


def _write(request: ModelRequest, answer: ModelAnswer) -> Reply:
    if request.is_streamed:
        is_live = answer.feed is not None
        return event_reply(_events(request, answer), is_named=False, is_live=is_live)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text or (None if answer.calls else ""),
        "refusal": None,
    }
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    envelope = _envelope(request, answer, "chat.completion")
    return json_reply({**envelope, "choices": [choice], "usage": _usage(answer)})


def _events(request: ModelRequest, answer: ModelAnswer) -> Generator[Body, None, None]:
    envelope = _envelope(request, answer, "chat.completion.chunk")

    def chunk(delta: Body, finish: str | None = None) -> Body:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**envelope, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in answer.pieces():
        yield chunk({"content": piece})
    for index, call in enumerate(_calls(answer)):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, _finish(answer))
    if request.has_usage:
        yield {**envelope, "choices": [], "usage": _usage(answer)}


def _calls(answer: ModelAnswer) -> list[dict[str, Any]]:
    return [
        {
            "id": answer.call_id(index),
            "type": "function",
            "function": {"name": call.name, "arguments": answer.arguments(index)},
        }
        for index, call in enumerate(answer.calls)
    ]


def _finish(answer: ModelAnswer) -> str:
    return "length" if answer.is_cut else "tool_calls" if answer.calls else "stop"


def _envelope(request: ModelRequest, answer: ModelAnswer, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.number}",
        "object": kind,
        "created": answer.at_s,
        "model": request.model,
    }


def _usage(answer: ModelAnswer) -> Body:
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.tokens,
        "total_tokens": answer.prompt_tokens + answer.tokens,
    }


chat = Dialect(read=_read, write=_write)
