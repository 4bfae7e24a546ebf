"""The dialect of Messages (Anthropic)."""

from collections.abc import Generator, Iterator
from typing import Any

from timeful.agents.program.dialect import (
    BadRequestError,
    Body,
    Dialect,
    ModelAnswer,
    ModelRequest,
    Reply,
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

_FIELDS = (
    *("model", "messages", "system", "tools", "max_tokens", "stop_sequences", "stream"),
    *("output_config", "context_management"),
)


def _read(body: Body) -> ModelRequest:
    messages = [message for item in read_items(body, "messages") for message in _messages(item)]
    if not messages:
        raise BadRequestError("messages must have at least one message")
    if system := read_text(body.get("system"), "system"):
        messages.insert(0, Message("system", system))
    tools = [
        read_tool(item.get("name"), item.get("description"), item.get("input_schema"))
        for item in read_items(body, "tools")
    ]
    return ModelRequest(
        model=str(body.get("model", "")),
        messages=tuple(messages),
        tools=tuple(tools) if has_tools(body) else (),
        max_tokens=read_limit(body, "max_tokens"),
        stops=read_stops(body.get("stop_sequences")),
        is_streamed=body.get("stream") is True,
        ignored=find_ignored(body, _FIELDS),
    )


def _messages(item: Body) -> Iterator[Message]:
    """A message and, before it, the results of calls that it holds."""
    role, content = read_role(item.get("role"), "a message"), item.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Message] = []
    for block in blocks:
        match block:
            case {"type": "tool_use", "name": str(name)}:
                arguments = read_arguments(block.get("input") or {}, name)
                calls.append(ToolCall(name=name, arguments=arguments, id=str(block.get("id"))))
            case {"type": "tool_result"}:
                text = read_text(block.get("content"), "a result")
                results.append(Message("tool", text, call_id=str(block.get("tool_use_id"))))
            case {"type": "thinking" | "redacted_thinking"}:
                pass
            case _:
                texts.append(read_text(block, "a block of a message"))
    yield from results
    if texts or calls or not results:
        yield Message(role, "".join(texts), calls=tuple(calls))


def _write(request: ModelRequest, answer: ModelAnswer) -> Reply:
    if request.is_streamed:
        is_live = answer.feed is not None
        return event_reply(_events(request, answer), is_named=True, is_live=is_live)
    return json_reply(_message(request, answer, _blocks(answer), _finish(answer)))


def _events(request: ModelRequest, answer: ModelAnswer) -> Generator[Body, None, None]:
    yield {"type": "message_start", "message": _message(request, answer, [], None)}
    count = 0
    text = {"type": "text", "text": ""}
    for piece in answer.pieces():
        if count == 0:
            yield {"type": "content_block_start", "index": 0, "content_block": text}
            count = 1
        delta = {"type": "text_delta", "text": piece}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    if count:
        yield {"type": "content_block_stop", "index": 0}
    for number, block in enumerate(_calls(answer)):
        index = count + number
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": answer.arguments(number)}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": _finish(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": _usage(answer)}
    yield {"type": "message_stop"}


def _message(
    request: ModelRequest, answer: ModelAnswer, blocks: list[dict[str, Any]], finish: str | None
) -> Body:
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": blocks,
        "stop_reason": finish,
        "stop_sequence": None,
        "usage": _usage(answer),
    }


def _blocks(answer: ModelAnswer) -> list[dict[str, Any]]:
    texts = [{"type": "text", "text": answer.text}] if answer.text or not answer.calls else []
    return [*texts, *_calls(answer)]


def _calls(answer: ModelAnswer) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_use",
            "id": answer.call_id(index),
            "name": call.name,
            "input": dict(call.arguments),
        }
        for index, call in enumerate(answer.calls)
    ]


def _finish(answer: ModelAnswer) -> str:
    return "max_tokens" if answer.is_cut else "tool_use" if answer.calls else "end_turn"


def _usage(answer: ModelAnswer) -> Body:
    return {"input_tokens": answer.prompt_tokens, "output_tokens": answer.tokens}


messages = Dialect(read=_read, write=_write)
