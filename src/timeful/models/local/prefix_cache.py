"""Prompts as tokens: a continued conversation keeps the tokens it has.

The tokens of a later prompt are those of the earlier prompt, those drawn as its answer, and those
of the text added since. If the answer were tokenised again from its text, it could become other
tokens than those drawn, and a template may leave out its reasoning: the model would read what it
never wrote, and a trainer would compute probabilities of a text that was never sampled.

A prompt continues an earlier one if its messages begin with the same messages and the answer to
them; the template's text after that answer is the added text. Any other prompt, such as a
conversation whose beginning was rewritten, is tokenised completely and keeps no tokens.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from timeful.errors import ModelError
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.model import Message
from timeful.tools import BadCallError, ToolCall, ToolSpec, read_call

MEMORY = 32
"""The number of thoughts of one episode that may still be continued."""

_MARK = "\ue000answer\ue001"
"""A placeholder for an answer; no text contains it."""

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)


@dataclass(slots=True)
class CachedAnswer:
    """A thought that may be continued, kept up to date by its source.

    Attributes:
        messages: The messages of its prompt.
        tools: The tools of its prompt.
        prompt_ids: The prompt as tokens.
        ids: The drawn tokens that were pulled.
        texts: The text that each of them added to the answer.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    prompt_ids: tuple[int, ...]
    ids: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def ids_of(self, message: Message) -> tuple[int, ...] | None:
        """The drawn tokens that a message quotes, maybe not all; None if it is another text.

        An answer that was cut is quoted up to its last token.
        """
        text = "".join(self.texts)
        if _quotes(message, text):
            return tuple(self.ids)
        for count in range(len(self.texts) - 1, 0, -1):
            text = text.removesuffix(self.texts[count])
            if self.texts[count] and _quotes(message, text):
                return tuple(self.ids[:count])
        return None


class PrefixCache:
    """The conversations of one episode.

    Args:
        checkpoint: The owner of the tokenizer and the chat template.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._answers: list[CachedAnswer] = []

    def remember(self, answer: CachedAnswer) -> None:
        """Let later prompts continue this thought; the oldest one is dropped."""
        self._answers.append(answer)
        del self._answers[:-MEMORY]

    def write(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> tuple[tuple[int, ...], int]:
        """The tokens of a prompt, and how many of them were kept from an earlier thought.

        Raises:
            ModelError: If the chat template refuses the messages.
        """
        messages, tools = tuple(messages), tuple(tools)
        for earlier in reversed(self._answers):
            if (prefix := self._prefix(earlier, messages, tools)) is not None:
                suffix = self._suffix(earlier, messages, prefix)
                if suffix is not None:
                    return prefix + suffix, len(prefix)
        return self._tokens(self._render(messages, tools)), 0

    def _prefix(
        self, earlier: CachedAnswer, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]
    ) -> tuple[int, ...] | None:
        """The tokens of an earlier thought, if this prompt continues it."""
        count = len(earlier.messages)
        if len(messages) <= count or messages[count].role != "assistant" or earlier.tools != tools:
            return None
        if messages[:count] != earlier.messages:
            return None
        ids = earlier.ids_of(messages[count])
        return None if ids is None else earlier.prompt_ids + ids

    def _suffix(
        self, earlier: CachedAnswer, messages: tuple[Message, ...], prefix: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """The tokens of the template's text after the answer; None if it hides the answer."""
        count = len(earlier.messages)
        marked = (*messages[:count], Message("assistant", _MARK), *messages[count + 1 :])
        try:
            _, mark, after = self._render(marked, earlier.tools).partition(_MARK)
        except ModelError:
            return None
        if not mark or _MARK in after:
            return None
        # The token that ended the answer was drawn; the template would write it again.
        last = prefix[-1]
        if last in self._checkpoint.stop_ids:
            end = self._checkpoint.detokenizer.decode([last], special=True).strip()
            if after.lstrip().startswith(end):
                after = after.lstrip().removeprefix(end)
        return self._tokens(after)

    def _render(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        tokenizer = self._checkpoint.tokenizer
        try:
            text = tokenizer.apply_chat_template(
                [_template_message(item) for item in messages],
                tools=[item.schema() for item in tools] or None,
                add_generation_prompt=True,
                tokenize=False,
            )
        except Exception as error:  # a template is a program, and may raise anything
            raise ModelError(
                f"the chat template of {self._checkpoint.name} refused a conversation: {error}"
            ) from error
        return str(text)

    def _tokens(self, text: str) -> tuple[int, ...]:
        # A template writes the special tokens itself.
        ids = self._checkpoint.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tuple(ids)


def _template_message(message: Message) -> dict[str, Any]:
    """A message as chat templates take it."""
    wired: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        wired["tool_calls"] = [
            {
                "type": "function",
                "id": call.id,
                "function": {"name": call.name, "arguments": dict(call.arguments)},
            }
            for call in message.calls
        ]
    if message.call_id:
        wired["tool_call_id"] = message.call_id
    return wired


def _quotes(message: Message, text: str) -> bool:
    """Whether a message quotes an answer: in full, or as its text and its calls."""
    if not message.calls:
        return message.content == text
    calls = [_outline(call_text) for call_text in _CALL.findall(text)]
    return _CALL.sub("", text).strip() == message.content and calls == [
        (call.name, _canonical(call.arguments)) for call in message.calls
    ]


def _outline(text: str) -> tuple[str, str] | None:
    """A call's name and arguments, without its id, which the world may have given."""
    try:
        call: ToolCall = read_call(text.strip())
    except BadCallError:
        return None
    return call.name, _canonical(call.arguments)


def _canonical(arguments: Any) -> str:
    return json.dumps(dict(arguments), sort_keys=True)
