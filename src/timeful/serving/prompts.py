"""Clients' prompts as tokens: conversations by the chat template, texts unchanged."""

import json
from collections.abc import Mapping
from contextlib import suppress
from inspect import signature
from typing import Any

from timeful.errors import unknown
from timeful.models.local.checkpoint import Checkpoint
from timeful.serving.errors import RequestError
from timeful.serving.requests import ChatBody

_CUT_TOKENS = 64
"""The most tokens that a word may have more of, when it is cut off."""

ROLES = ("system", "developer", "user", "assistant", "tool")


def write_chat(checkpoint: Checkpoint, body: ChatBody) -> tuple[int, ...]:
    """The tokens of a conversation.

    Raises:
        RequestError: If it is none, or the chat template refuses it.
    """
    tokenizer = checkpoint.tokenizer
    options = body.chat_template_kwargs or {}
    parameters = signature(tokenizer.apply_chat_template).parameters
    for name in options:
        if name in parameters:
            raise RequestError(f"{name} is set by the server", param="chat_template_kwargs")
    continues = bool(body.continue_final_message)
    begins = not continues if body.add_generation_prompt is None else body.add_generation_prompt
    messages = [_message(message, f"messages[{i}]") for i, message in enumerate(body.messages)]
    tools = [_tool(tool) for tool in body.tools or []] or None
    try:
        text = tokenizer.apply_chat_template(
            messages,
            tools=tools,
            add_generation_prompt=begins,
            continue_final_message=continues,
            tokenize=False,
            **options,
        )
    except Exception as error:  # noqa: BLE001 - a template is a program, and may raise anything
        raise RequestError(
            f"the chat template of {checkpoint.name} refused the messages: {error}",
            param="messages",
        ) from None
    # A template writes the special tokens itself.
    return _encode(checkpoint, text, special=False)


def write_text(
    checkpoint: Checkpoint, prompt: str | list[int], *, special: bool
) -> tuple[int, ...]:
    """The tokens of a prompt.

    Args:
        checkpoint: The owner of the tokenizer.
        prompt: A text, or tokens.
        special: Whether the tokenizer may add its own tokens around a text.
    """
    if isinstance(prompt, str):
        return _encode(checkpoint, prompt, special=special)
    size = checkpoint.model.get_input_embeddings().num_embeddings
    if prompt and not 0 <= min(prompt) <= max(prompt) < size:
        raise RequestError(f"{checkpoint.name} has the tokens 0 to {size - 1} only", param="prompt")
    return tuple(prompt)


def _encode(checkpoint: Checkpoint, text: str, *, special: bool) -> tuple[int, ...]:
    """The tokens of a text, unless its beginning has too many already: tokenizing takes long."""

    def encode(part: str) -> tuple[int, ...]:
        return tuple(checkpoint.tokenizer(part, add_special_tokens=special)["input_ids"])

    length = 4 * checkpoint.context
    while length < len(text):
        if len(encode(text[:length])) > checkpoint.context + _CUT_TOKENS:
            raise RequestError(
                f"a prompt of {len(text)} characters is beyond the context of {checkpoint.name}, "
                f"which is {checkpoint.context} tokens",
                code="context_length_exceeded",
            )
        length *= 4
    return encode(text)


def _message(message: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A message as chat templates take it."""
    role = message.get("role")
    if not isinstance(role, str):
        raise RequestError(f"{path} has no role", param=f"{path}.role")
    if role not in ROLES:
        raise RequestError(unknown("role", role, ROLES), param=f"{path}.role")
    written = {**message, "content": _content(message.get("content"), f"{path}.content")}
    if role == "developer":
        written["role"] = "system"
    if calls := message.get("tool_calls"):
        calls = calls if isinstance(calls, list) else [calls]
        written["tool_calls"] = [_call(call, f"{path}.tool_calls") for call in calls]
    return written


def _content(content: object, path: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = []
    for item in content if isinstance(content, list) else [content]:
        text = item.get("text") if isinstance(item, dict) else None
        if not isinstance(text, str):
            raise RequestError("a content is a text, or parts of type text", param=path)
        texts.append(text)
    return "".join(texts)


def _call(call: object, path: str) -> dict[str, Any]:
    """A call with its arguments as an object, as templates take it."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise RequestError('a call is {"function": {"name": ..., "arguments": ...}}', param=path)
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments or "{}")
    return {**call, "function": {**function, "arguments": arguments}}


def _tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise RequestError(
            'a tool is {"type": "function", "function": {"name": ...}}', param="tools"
        )
    return tool
