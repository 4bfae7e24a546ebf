"""Prompts as tokens: a conversation that goes on keeps the tokens it has.

A later prompt is the earlier prompt's tokens, the tokens that were drawn, and the tokens of what
was added since. Tokenised again from its text, an answer may come out as other tokens than those
that were drawn (and a template may leave out its thoughts): the model would then read what it has
never written, and a trainer would compute probabilities of a text that was never sampled.

A prompt goes on with an earlier one if its messages begin with the same messages and the answer
that was given. What the template writes after that answer is what was added. Anything else, such
as a conversation whose beginning was rewritten, is tokenised anew, and its thought says so: none
of its tokens were kept.
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
"""How many thoughts of one episode may still be gone on with."""

_MARK = "\ue000answer\ue001"
"""Stands where an answer stood; no text holds it."""

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)


@dataclass(slots=True)
class CachedAnswer:
    """A thought that may be gone on with, kept up to date by its source.

    Attributes:
        messages: What was asked.
        tools: What was offered.
        prompt_ids: The same as tokens.
        ids: The tokens that were drawn and pulled, and `texts` what each added to the answer.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    prompt_ids: tuple[int, ...]
    ids: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def ids_of(self, message: Message) -> tuple[int, ...] | None:
        """The drawn tokens that a message quotes, maybe not all; None if it says otherwise.

        An answer that was cut is quoted up to the token that came last.
        """
        said = "".join(self.texts)
        if _is_said(message, said):
            return tuple(self.ids)
        for count in range(len(self.texts) - 1, 0, -1):
            said = said.removesuffix(self.texts[count])
            if self.texts[count] and _is_said(message, said):
                return tuple(self.ids[:count])
        return None


class PrefixCache:
    """The conversations of one episode.

    Args:
        checkpoint: Whose tokenizer and chat template they are written with.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._answered: list[CachedAnswer] = []

    def remember(self, answered: CachedAnswer) -> None:
        """Let a later prompt go on with this; the oldest is forgotten."""
        self._answered.append(answered)
        del self._answered[:-MEMORY]

    def write(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> tuple[tuple[int, ...], int]:
        """The tokens of a prompt, and how many of them were kept from an earlier thought.

        Raises:
            ModelError: If the chat template refuses the messages.
        """
        asked, offered = tuple(messages), tuple(tools)
        for earlier in reversed(self._answered):
            if (kept := self._kept(earlier, asked, offered)) is not None:
                added = self._added(earlier, asked, kept)
                if added is not None:
                    return kept + added, len(kept)
        text = self._render(asked, offered)
        return self._tokens(text), 0

    def _kept(
        self, earlier: CachedAnswer, asked: tuple[Message, ...], offered: tuple[ToolSpec, ...]
    ) -> tuple[int, ...] | None:
        """The tokens of an earlier thought, if this prompt goes on with it."""
        count = len(earlier.messages)
        if len(asked) <= count or asked[count].role != "assistant" or earlier.tools != offered:
            return None
        if asked[:count] != earlier.messages:
            return None
        ids = earlier.ids_of(asked[count])
        return None if ids is None else earlier.prompt_ids + ids

    def _added(
        self, earlier: CachedAnswer, asked: tuple[Message, ...], kept: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """The tokens of what the template writes after the answer; None if it hides the answer."""
        count = len(earlier.messages)
        marked = (*asked[:count], Message("assistant", _MARK), *asked[count + 1 :])
        try:
            _, mark, after = self._render(marked, earlier.tools).partition(_MARK)
        except ModelError:
            return None
        if not mark or _MARK in after:
            return None
        # What ended the answer is a token that was drawn; the template would write it again.
        last = kept[-1]
        if last in self._checkpoint.stop_ids:
            end = self._checkpoint.detokenizer.decode([last], special=True).strip()
            if after.lstrip().startswith(end):
                after = after.lstrip().removeprefix(end)
        return self._tokens(after)

    def _render(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        tokenizer = self._checkpoint.tokenizer
        try:
            text = tokenizer.apply_chat_template(
                [_told(one) for one in messages],
                tools=[one.schema() for one in tools] or None,
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
        found = self._checkpoint.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tuple(found)


def _told(message: Message) -> dict[str, Any]:
    """A message as chat templates have it."""
    told: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        told["tool_calls"] = [
            {
                "type": "function",
                "id": call.id,
                "function": {"name": call.name, "arguments": dict(call.arguments)},
            }
            for call in message.calls
        ]
    if message.call_id:
        told["tool_call_id"] = message.call_id
    return told


def _is_said(message: Message, said: str) -> bool:
    """Whether a message quotes an answer: in full, or as its words and its calls."""
    if not message.calls:
        return message.content == said
    calls = [_outline(text) for text in _CALL.findall(said)]
    return _CALL.sub("", said).strip() == message.content and calls == [
        (call.name, _plain(call.arguments)) for call in message.calls
    ]


def _outline(text: str) -> tuple[str, str] | None:
    """A call's name and arguments, without its id, which the world may have given."""
    try:
        call: ToolCall = read_call(text.strip())
    except BadCallError:
        return None
    return call.name, _plain(call.arguments)


def _plain(arguments: Any) -> str:
    return json.dumps(dict(arguments), sort_keys=True)
