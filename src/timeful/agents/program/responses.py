"""The dialect of Responses (OpenAI)."""

from collections.abc import Generator
from contextlib import closing
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
    read_text,
    read_tool,
)
from timeful.models.model import Message
from timeful.tools import ToolCall

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "background": (False,),
    "previous_response_id": (),
    "conversation": (),
    "prompt": (),
}
_FIELDS = (
    *("model", "input", "instructions", "tools", "max_output_tokens", "stream"),
    *("stream_options", "reasoning", *_NEUTRAL),
)


def _read(body: Body) -> ModelRequest:
    check_neutral(body, _NEUTRAL)
    form = body.get("text")
    if isinstance(form, dict):
        check_neutral(form, {"format": ({"type": "text"},)})
    messages: list[Message] = []
    if instructions := read_text(body.get("instructions"), "instructions"):
        messages.append(Message("system", instructions))
    if isinstance(body.get("input"), str):
        messages.append(Message("user", body["input"]))
    else:
        for item in read_items(body, "input"):
            _add_item(messages, item)
    if not messages:
        raise BadRequestError("input must have at least one item")
    return ModelRequest(
        model=str(body.get("model", "")),
        messages=tuple(messages),
        tools=tuple(map(_read_tool, read_items(body, "tools"))) if has_tools(body) else (),
        max_tokens=read_limit(body, "max_output_tokens"),
        is_streamed=body.get("stream") is True,
        ignored=find_ignored(body, _FIELDS),
    )


def _read_tool(item: Body) -> GivenTool:
    if item.get("type", "function") != "function":
        raise BadRequestError(f"the hosted tool {item.get('type')!r} is not supported")
    return read_tool(item.get("name"), item.get("description"), item.get("parameters"))


def _add_item(messages: list[Message], item: Body) -> None:
    """Append an item of the input; calls belong to the message of the assistant before them."""
    match item.get("type", "message"):
        case "message":
            role = read_role(item.get("role"), "an item of the input")
            messages.append(Message(role, read_text(item.get("content"), "a message")))
        case "function_call":
            arguments = read_arguments(item.get("arguments"), "a call")
            name, identity = str(item.get("name")), str(item.get("call_id"))
            call = ToolCall(name=name, arguments=arguments, id=identity)
            text = ""
            calls: tuple[ToolCall, ...] = (call,)
            if messages and messages[-1].role == "assistant":
                last = messages.pop()
                text, calls = last.content, (*last.calls, call)
            messages.append(Message("assistant", text, calls=calls))
        case "function_call_output":
            text = read_text(item.get("output"), "an output")
            messages.append(Message("tool", text, call_id=str(item.get("call_id"))))
        case "reasoning":
            pass
        case kind:
            raise BadRequestError(f"an item of the input has the unknown type {kind!r}")


def _write(request: ModelRequest, answer: ModelAnswer) -> Reply:
    if request.is_streamed:
        is_live = answer.feed is not None
        return event_reply(_number(_events(request, answer)), is_named=True, is_live=is_live)
    return json_reply(_response(request, answer, _items(answer)))


def _number(events: Generator[Body, None, None]) -> Generator[Body, None, None]:
    with closing(events):
        for number, event in enumerate(events):
            yield {**event, "sequence_number": number}


def _events(request: ModelRequest, answer: ModelAnswer) -> Generator[Body, None, None]:
    begun = {**_response(request, answer, []), "status": "in_progress", "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    yield from _text_events(answer)
    items = _items(answer)
    for index, item in enumerate(items):
        if item["type"] == "function_call":
            yield from _call_events(index, item)
    end = "response.incomplete" if answer.is_cut else "response.completed"
    yield {"type": end, "response": _response(request, answer, items)}


def _text_events(answer: ModelAnswer) -> Generator[Body, None, None]:
    """The message, which begins with its first piece; none for an answer of calls alone."""
    item = {**_message(answer, ""), "content": [], "status": "in_progress"}
    where = {"output_index": 0, "item_id": item["id"], "content_index": 0}
    texts: list[str] = []
    for piece in answer.pieces():
        if not texts:
            yield {"type": "response.output_item.added", "output_index": 0, "item": item}
            yield {"type": "response.content_part.added", **where, "part": _part("")}
        texts.append(piece)
        yield {"type": "response.output_text.delta", **where, "logprobs": [], "delta": piece}
    if texts:
        text = "".join(texts)
        yield {"type": "response.output_text.done", **where, "logprobs": [], "text": text}
        yield {"type": "response.content_part.done", **where, "part": _part(text)}
        done = {"output_index": 0, "item": _message(answer, text)}
        yield {"type": "response.output_item.done", **done}


def _call_events(index: int, item: dict[str, Any]) -> Generator[Body, None, None]:
    where = {"output_index": index, "item_id": item["id"]}
    begun, text = {**item, "arguments": "", "status": "in_progress"}, item["arguments"]
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    yield {"type": "response.function_call_arguments.delta", **where, "delta": text}
    done = {"arguments": text, "name": item["name"]}
    yield {"type": "response.function_call_arguments.done", **where, **done}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _part(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(answer: ModelAnswer, text: str) -> dict[str, Any]:
    about = {"type": "message", "id": f"msg_{answer.number}", "role": "assistant"}
    return {**about, "status": "completed", "content": [_part(text)]}


def _items(answer: ModelAnswer) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.text or not answer.calls:
        items.append(_message(answer, answer.text))
    for index, call in enumerate(answer.calls):
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{answer.number}_{index}",
                "call_id": answer.call_id(index),
                "name": call.name,
                "arguments": answer.arguments(index),
                "status": "completed",
            }
        )
    return items


def _response(request: ModelRequest, answer: ModelAnswer, items: list[dict[str, Any]]) -> Body:
    total = answer.prompt_tokens + answer.tokens
    return {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": answer.at_s,
        "status": "incomplete" if answer.is_cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if answer.is_cut else None,
        "instructions": None,
        "metadata": {},
        "model": request.model,
        "output": items,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": {
            "input_tokens": answer.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total,
        },
    }


responses = Dialect(read=_read, write=_write)
