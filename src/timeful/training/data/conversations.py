"""From the record of an episode to the conversations in it, as chat messages.

A thought whose prompt begins with all earlier messages continues their conversation; any other
prompt begins one. So a tool user's episode is one conversation, and an agent that sees each state
anew has one for each thought. Reasoning before an answer is in `<think>` tags: it took time, and a
timer's replies would make no sense without it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from timeful.errors import RecordError, SettingsError
from timeful.records.events import Entry, ThoughtChunk, ThoughtEnded, ThoughtStarted, Within
from timeful.tools import BadCallError, read_call

ChatMessage = dict[str, str]
"""A message: its `role` and its `content`."""

_Prompt = Sequence[tuple[str, str]]

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


@dataclass(slots=True, kw_only=True)
class Conversation:
    """A conversation of an episode.

    Attributes:
        purpose: The purpose of its thoughts.
        model: The model's name.
        prompt: The messages before its first answer.
        completion: Its answers, and the world's messages between them.
        tokens: The tokens it generated.
        is_whole: Whether no thought was cut.
        thought: The number of its first thought in the episode.
        reward: Its reward; None if unknown.
    """

    purpose: str
    model: str
    prompt: list[ChatMessage]
    completion: list[ChatMessage] = field(default_factory=list)
    tokens: int = 0
    is_whole: bool = True
    thought: int = 0
    reward: float | None = None

    @property
    def messages(self) -> list[ChatMessage]:
        """The prompt and the completion."""
        return [*self.prompt, *self.completion]

    @property
    def has_ended(self) -> bool:
        """Whether there is an answer, and nothing was cut."""
        return self.is_whole and bool(self.completion)


@dataclass(slots=True)
class _Open:
    """A conversation that may continue, the prompt of its latest thought, and its reasoning."""

    conversation: Conversation
    prompt: list[tuple[str, str]]
    thought: str = ""

    def is_continued_by(self, prompt: _Prompt) -> bool:
        before = len(self.prompt)
        if list(prompt[:before]) != self.prompt or len(prompt) <= before:
            return False
        return prompt[before][0] == "assistant" and bool(self.conversation.completion)


def conversations(events: Iterable[Entry]) -> list[Conversation]:
    """The conversations of an episode, in the order in which they began.

    Thoughts that did not end, or failed, are left out.

    Raises:
        SettingsError: If the record has no prompts, as records of short transcripts.
        RecordError: If a thought ends that did not begin.
    """
    open_conversations: list[_Open] = []
    last: dict[tuple[str, str], _Open] = {}
    thoughts: dict[tuple[str, int], _Open] = {}
    for module, event in map(_unwrapped, events):
        match event:
            case ThoughtStarted(messages=None):
                raise SettingsError(
                    "the record has answers without their prompts; play the run again with "
                    "--transcripts full"
                )
            case ThoughtStarted(messages=list(prompt)):
                current = last.get((module, event.purpose))
                if current is None or not current.is_continued_by(prompt):
                    current = _Open(_begin(event, prompt), prompt)
                    open_conversations.append(current)
                else:
                    current.conversation.completion += _to_messages(
                        prompt[len(current.prompt) + 1 :]
                    )
                    current.prompt = prompt
                current.thought = ""
                last[module, event.purpose] = thoughts[module, event.thought] = current
            case ThoughtChunk(channel="reasoning"):
                thoughts[module, event.thought].thought += event.text
            case ThoughtEnded():
                if (module, event.thought) not in thoughts:
                    raise RecordError(f"thought {event.thought} ends and did not begin")
                _end(thoughts.pop((module, event.thought)), event)
    return [entry.conversation for entry in open_conversations if entry.conversation.completion]


def _unwrapped(event: Entry) -> tuple[str, Entry]:
    return (event.module, event.what) if isinstance(event, Within) else ("", event)


def _begin(event: ThoughtStarted, prompt: _Prompt) -> Conversation:
    return Conversation(
        purpose=event.purpose, model=event.model, prompt=_to_messages(prompt), thought=event.thought
    )


def _end(open_conversation: _Open, event: ThoughtEnded) -> None:
    conversation = open_conversation.conversation
    conversation.tokens += event.tokens
    conversation.is_whole &= event.state == "completed" and event.finish == "stop"
    if event.state == "failed":
        return
    thought = (
        f"<think>\n{open_conversation.thought.strip()}\n</think>\n\n"
        if open_conversation.thought.strip()
        else ""
    )
    text = _CALL.sub(_without_id, event.answer)
    conversation.completion.append(_message("assistant", thought + text or "..."))


def _without_id(call: re.Match[str]) -> str:
    """A call without the id that an endpoint gave it, which no model should learn."""
    try:
        tool_call = read_call(call[1])
    except BadCallError:
        return call[0]
    return f"<tool_call>{replace(tool_call, id='')}</tool_call>" if tool_call.id else call[0]


def _to_messages(prompt: _Prompt) -> list[ChatMessage]:
    """Messages as any chat template takes them.

    A tool's reply becomes a message of the user, as where tools are described in the prompt: in a
    record, the assistant's calls are part of its text.
    """
    messages: list[ChatMessage] = []
    is_reply = False
    for role, content in prompt:
        was_reply, is_reply = is_reply, role == "tool"
        if is_reply:
            bare = re.fullmatch(
                r'<tool_response id="[^"]*">(.*)</tool_response>', content, re.DOTALL
            )
            content = f"<tool_response>\n{bare[1] if bare else content}\n</tool_response>"
            if was_reply:
                messages[-1]["content"] += f"\n{content}"
                continue
        messages.append(_message("user" if is_reply else role, content))
    return messages


def _message(role: str, content: str) -> ChatMessage:
    return {"role": role, "content": content}
