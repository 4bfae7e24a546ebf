"""What an agent asks, and whom: prompts and models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from timeful.core.source import Source
from timeful.models.pace import Pace
from timeful.tools import ToolCall, ToolSpec

Role = Literal["system", "user", "assistant", "tool"]
Purpose = Literal[
    "react",
    "plan",
    "code",
    "force",
    "main",
    "triage",
    "control",
    "tutor",
    "work",
    "annotate",
    "judge",
]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat prompt.

    Attributes:
        calls: The calls of tools that an assistant's message made, beside its content.
        call_id: Which call a tool's message replies to.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""

    @property
    def shown(self) -> str:
        """All of it in one text, for records: its content, its calls, and what it replies to."""
        if self.call_id:
            return f'<tool_response id="{self.call_id}">{self.content}</tool_response>'
        return self.content + "".join(f"<tool_call>{one.text()}</tool_call>" for one in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What a planning thread has said so far, as shown to a reactive one.

    `turn` is the turn of the state that the planner saw.
    """

    turn: int
    text: str


@dataclass(slots=True, kw_only=True)
class Prompt:
    """A request to a model: its messages, made on first use, and what they show.

    `view` is the structured state that the messages show in words, and `guidance` the planner's
    words that they quote, latest last: nothing that the text does not say. A language model
    reads the messages; the search reasoner reads these, which saves it from parsing prose.

    `tools` are offered to the endpoint as its own API has it. What it calls comes as part of the
    answer, `<tool_call>{"name": ..., "arguments": {...}, "id": ...}</tool_call>` each, as models
    without such an API write it themselves.
    """

    purpose: Purpose
    render: Callable[[], Sequence[Message]]
    view: object = None
    guidance: tuple[Guidance, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    _messages: tuple[Message, ...] | None = field(default=None, init=False, repr=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in order, rendered once."""
        if self._messages is None:
            self._messages = tuple(self.render())
        return self._messages


class Model(Protocol):
    """A source of chunks with a pace."""

    @property
    def name(self) -> str:
        """A short name for records and tables."""
        ...

    @property
    def pace(self) -> Pace | None:
        """What its tokens cost; None if only a wall clock can tell."""
        ...

    @property
    def live(self) -> bool:
        """Whether its tokens come in real time; a wall clock then takes them as they come."""
        ...

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Source:
        """Start answering.

        Args:
            prompt: What is asked.
            max_tokens: The most tokens to generate, reasoning included; None for no limit.
            seed: The sampling seed; the same prompt and seed may give the same answer.
        """
        ...
