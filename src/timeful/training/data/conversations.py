"""From the record of an episode to the conversations in it, as chat messages.

A thought whose prompt begins with all that was said before goes on with that conversation; any
other prompt begins one. So a tool user's episode is one conversation, and that of an agent that is
shown each state afresh has one for each thought. What was thought before the answer stands in
`<think>` tags: it took time, and a timer's replies would make no sense without it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from timeful.errors import RecordError, SettingsError
from timeful.records.events import Entry, ThoughtChunk, ThoughtEnded, ThoughtStarted, Within
from timeful.tools import BadCallError, read_call

Said = dict[str, str]
"""A message: its `role` and its `content`."""

_Shown = Sequence[tuple[str, str]]

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


@dataclass(slots=True, kw_only=True)
class Conversation:
    """What was asked and said.

    Attributes:
        purpose: What for.
        model: Who spoke.
        prompt: What came before its first word.
        completion: Its words, and what the world said between them.
        tokens: How many it generated.
        is_whole: Whether each thought came to its own end: none was cut.
        thought: The number of its first thought in the episode.
        reward: What it is worth; None if nobody can tell.
    """

    purpose: str
    model: str
    prompt: list[Said]
    completion: list[Said] = field(default_factory=list)
    tokens: int = 0
    is_whole: bool = True
    thought: int = 0
    reward: float | None = None

    @property
    def messages(self) -> list[Said]:
        """All of it."""
        return [*self.prompt, *self.completion]

    @property
    def has_ended(self) -> bool:
        """Whether somebody spoke, and nothing was cut."""
        return self.is_whole and bool(self.completion)


@dataclass(slots=True)
class _Open:
    """A conversation under way, what its latest thought was shown, and that thought."""

    conversation: Conversation
    shown: list[tuple[str, str]]
    thought: str = ""

    def is_continued_by(self, shown: _Shown) -> bool:
        before = len(self.shown)
        if list(shown[:before]) != self.shown or len(shown) <= before:
            return False
        return shown[before][0] == "assistant" and bool(self.conversation.completion)


def conversations(events: Iterable[Entry]) -> list[Conversation]:
    """The conversations of an episode, in the order in which they began.

    Thoughts that never ended are left out, as are those that failed.

    Raises:
        SettingsError: If the record has no prompts, as those of short transcripts.
        RecordError: If a thought ends that never began.
    """
    found: list[_Open] = []
    last: dict[tuple[str, str], _Open] = {}
    thoughts: dict[tuple[str, int], _Open] = {}
    for module, event in map(_unwrapped, events):
        match event:
            case ThoughtStarted(messages=None):
                raise SettingsError(
                    "the record keeps answers without what was asked; play the run again with "
                    "--transcripts full"
                )
            case ThoughtStarted(messages=list(shown)):
                here = last.get((module, event.purpose))
                if here is None or not here.is_continued_by(shown):
                    here = _Open(_begun(event, shown), shown)
                    found.append(here)
                else:
                    here.conversation.completion += _plain(shown[len(here.shown) + 1 :])
                    here.shown = shown
                here.thought = ""
                last[module, event.purpose] = thoughts[module, event.thought] = here
            case ThoughtChunk(channel="reasoning"):
                thoughts[module, event.thought].thought += event.text
            case ThoughtEnded():
                if (module, event.thought) not in thoughts:
                    raise RecordError(f"thought {event.thought} ends and never began")
                _end(thoughts.pop((module, event.thought)), event)
    return [one.conversation for one in found if one.conversation.completion]


def _unwrapped(event: Entry) -> tuple[str, Entry]:
    return (event.module, event.what) if isinstance(event, Within) else ("", event)


def _begun(event: ThoughtStarted, shown: _Shown) -> Conversation:
    return Conversation(
        purpose=event.purpose, model=event.model, prompt=_plain(shown), thought=event.thought
    )


def _end(here: _Open, event: ThoughtEnded) -> None:
    conversation = here.conversation
    conversation.tokens += event.tokens
    conversation.is_whole &= event.state == "completed" and event.finish == "stop"
    if event.state == "failed":
        return
    thought = f"<think>\n{here.thought.strip()}\n</think>\n\n" if here.thought.strip() else ""
    said = _CALL.sub(_nameless, event.answer)
    conversation.completion.append(_message("assistant", thought + said or "..."))


def _nameless(call: re.Match[str]) -> str:
    """A call without the id that an endpoint gave it: nobody should learn to make some up."""
    try:
        read = read_call(call[1])
    except BadCallError:
        return call[0]
    return f"<tool_call>{replace(read, id='').text()}</tool_call>" if read.id else call[0]


def _plain(shown: _Shown) -> list[Said]:
    """Messages as any chat template takes them.

    What a tool replied becomes a message of the user, as where tools are offered in words: in a
    record, the assistant's calls are part of its words.
    """
    messages: list[Said] = []
    is_reply = False
    for role, content in shown:
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


def _message(role: str, content: str) -> Said:
    return {"role": role, "content": content}
