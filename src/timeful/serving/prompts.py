"""What a client wrote, as tokens: conversations by the chat template, texts as they stand."""

import json
from collections.abc import Mapping
from contextlib import suppress
from inspect import signature
from typing import Any

from timeful.errors import unknown
from timeful.models.local.checkpoint import Checkpoint
from timeful.serving.errors import RequestError
from timeful.serving.requests import ChatBody

ROLES = ("system", "developer", "user", "assistant", "tool")


def write_chat(checkpoint: Checkpoint, body: ChatBody) -> tuple[int, ...]:
    """The tokens of a conversation.

    Raises:
        RequestError: If it is none, or the chat template refuses it.
    """
    tokenizer = checkpoint.tokenizer
    options = body.chat_template_kwargs or {}
    own = signature(tokenizer.apply_chat_template).parameters
    for name in options:
        if name in own:
            raise RequestError(f"{name} is the server's", param="chat_template_kwargs")
    goes_on = bool(body.continue_final_message)
    begins = not goes_on if body.add_generation_prompt is None else body.add_generation_prompt
    messages = [_message(one, f"messages[{i}]") for i, one in enumerate(body.messages)]
    tools = [_tool(one) for one in body.tools or []] or None
    try:
        text = tokenizer.apply_chat_template(
            messages,
            tools=tools,
            add_generation_prompt=begins,
            continue_final_message=goes_on,
            tokenize=False,
            **options,
        )
    except Exception as error:  # noqa: BLE001 - a template is a program, and may raise anything
        raise RequestError(
            f"the chat template of {checkpoint.name} refused the messages: {error}",
            param="messages",
        ) from None
    # A template writes the special tokens itself.
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def write_text(
    checkpoint: Checkpoint, prompt: str | list[int], *, special: bool
) -> tuple[tuple[int, ...], str]:
    """The tokens of a prompt, and its text.

    Args:
        checkpoint: Whose tokenizer it is.
        prompt: A text, or tokens.
        special: Whether the tokenizer may put its own tokens around a text, as it was taught.
    """
    if isinstance(prompt, str):
        return tuple(checkpoint.tokenizer(prompt, add_special_tokens=special)["input_ids"]), prompt
    size = checkpoint.model.get_input_embeddings().num_embeddings
    if prompt and not 0 <= min(prompt) <= max(prompt) < size:
        raise RequestError(f"{checkpoint.name} has the tokens 0 to {size - 1} only", param="prompt")
    return tuple(prompt), checkpoint.texts.decode(prompt, special=True)


def _message(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A message as chat templates have it."""
    role = given.get("role")
    if not isinstance(role, str):
        raise RequestError(f"{place} has no role", param=f"{place}.role")
    if role not in ROLES:
        raise RequestError(unknown("role", role, ROLES), param=f"{place}.role")
    message = {**given, "content": _content(given.get("content"), f"{place}.content")}
    if role == "developer":
        message["role"] = "system"
    if calls := given.get("tool_calls"):
        listed = calls if isinstance(calls, list) else [calls]
        message["tool_calls"] = [_call(one, f"{place}.tool_calls") for one in listed]
    return message


def _content(given: object, place: str) -> str:
    if given is None:
        return ""
    if isinstance(given, str):
        return given
    said = []
    for part in given if isinstance(given, list) else [given]:
        text = part.get("text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            raise RequestError("a content is a text, or parts of type text", param=place)
        said.append(text)
    return "".join(said)


def _call(given: object, place: str) -> dict[str, Any]:
    """A call with its arguments as an object, which is what templates write down."""
    function = given.get("function") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(function, dict):
        raise RequestError('a call is {"function": {"name": ..., "arguments": ...}}', param=place)
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments or "{}")
    return {**given, "function": {**function, "arguments": arguments}}


def _tool(given: Mapping[str, Any]) -> Mapping[str, Any]:
    function = given.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise RequestError(
            'a tool is {"type": "function", "function": {"name": ...}}', param="tools"
        )
    return given
