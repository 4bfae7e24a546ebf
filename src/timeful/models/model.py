"""Prompts and models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from timeful.core.source import Source
from timeful.models.pace import Pace
from timeful.tools import ToolCall, ToolSpec

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat prompt.

    Attributes:
        calls: The tool calls of an assistant's message, in addition to its content.
        call_id: The call that a tool's message replies to.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""

    @property
    def shown(self) -> str:
        """The message as one text, for records: its content, its calls, the call it replies to."""
        if self.call_id:
            return f'<tool_response id="{self.call_id}">{self.content}</tool_response>'
        return self.content + "".join(f"<tool_call>{call!s}</tool_call>" for call in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """The words of a planning thread so far, as shown to a reactive one.

    `turn` is the turn of the state that the planner saw.
    """

    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """Says that the tokens of an answer are priced, and do not count when they arrive.

    Attributes:
        room: The most tokens that can be known before the thought is cut, if that is fewer than
            `max_tokens`; an endpoint is asked for no more. Else None.
    """

    room: int | None = None


Content = str | Sequence[Message]
"""What a prompt says: one message of the user, or a list of messages."""


@dataclass(slots=True, kw_only=True)
class Prompt:
    """A request to a model: its messages, rendered on first use, and the state that they show.

    A language model reads the messages. The search reasoner reads `view` and `guidance`, which
    saves it from parsing prose.

    Attributes:
        render: Makes the messages.
        label: The kind of thought, for records and errors: "plan", "react", "triage".
        view: The structured state that the messages show in words.
        guidance: The planner's words that the messages quote, latest last.
        tools: Offered to the endpoint as its own API has it. A call is returned as a part of the
            answer, `<tool_call>{"name": ..., "arguments": {...}, "id": ...}</tool_call>`, which
            is the form of models without such an API.
        most_tokens: The most tokens of an answer of an endpoint to a thought without `max_tokens`.
            It is no part of the request's name on a cassette.
        pricing: How its tokens become time; None if they count when they arrive.
    """

    render: Callable[[], Content]
    label: str = ""
    view: object = None
    guidance: tuple[Guidance, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    most_tokens: int | None = None
    pricing: Pricing | None = field(default=None, compare=False)
    _messages: tuple[Message, ...] | None = field(default=None, init=False, repr=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in order, rendered once.

        Raises:
            TypeError: If `render` returned neither a text nor messages.
        """
        if self._messages is None:
            content = self.render()
            self._messages = (
                (Message("user", content),) if isinstance(content, str) else tuple(content)
            )
            for message in self._messages:
                if not isinstance(message, Message):
                    raise _wrong_prompt(message)
        return self._messages


def price_prompt(prompt: Prompt, pricing: Pricing) -> Prompt:
    """The same prompt, whose answer is priced."""
    priced = replace(prompt, pricing=pricing)
    priced._messages = prompt._messages
    return priced


def limit_tokens(prompt: Prompt, max_tokens: int | None) -> int | None:
    """The most tokens that an endpoint is asked for; None if neither agent nor time sets any.

    Args:
        prompt: The prompt; a priced one may have room for fewer tokens, or a default.
        max_tokens: The tokens that the agent allows; None for no limit.
    """
    room = None if prompt.pricing is None else prompt.pricing.room
    limits = [limit for limit in (room, max_tokens) if limit is not None]
    return min(limits) if limits else prompt.most_tokens


def make_prompt(prompt: Prompt | Content | Callable[[], Content], *, label: str = "") -> Prompt:
    """Make a prompt from a text, from messages, or from a function that returns one of these.

    Args:
        prompt: The content; a function is called when the messages are needed first.
        label: The kind of thought; a prompt that has a label keeps it if this is empty.

    Raises:
        TypeError: If it is none of these.
    """
    if isinstance(prompt, Prompt):
        return replace(prompt, label=label) if label else prompt
    if callable(prompt):
        return Prompt(render=prompt, label=label)
    if not isinstance(prompt, Sequence):
        raise _wrong_prompt(prompt)
    content = prompt
    return Prompt(render=lambda: content, label=label)


def _wrong_prompt(value: object) -> TypeError:
    kind = type(value).__name__
    return TypeError(
        f"a prompt is a text, a list of Messages, or a function of these, got a {kind}"
    )


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
            prompt: The request.
            max_tokens: The most tokens to generate, reasoning included; None for no limit.
            seed: The sampling seed; the same prompt and seed may give the same answer.
        """
        ...
