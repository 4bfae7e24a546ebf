"""The tool user: it thinks, calls tools, reads what they say, and ends with an answer.

One thought a round; its calls are made one after the other. What cannot be read or made is
answered like any call, with what is wrong, so that the model can do better in the next round. A
thought without a call is the last one: its text is the answer. At the deadline the task is over,
in the middle of a thought or of a tool. (Timely Machine, appendix A.)
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from timeful.agents.session import Session
from timeful.agents.thought import Thought
from timeful.core.units import Duration
from timeful.environments.timed.view import TimedView
from timeful.environments.timed.world import ANSWER
from timeful.models.model import Message, Model, Prompt
from timeful.tools import BadCallError, ToolCall, ToolSpec, read_call

Calls = Literal["native", "text"]
"""How tools are offered: by the endpoint's own API, or in words, with calls between tags."""

Briefing = Callable[[TimedView, Calls], Sequence[Message]]
"""The first messages of a conversation: what to do, with which tools, in which time."""

MOST_ROUNDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A call, and what came of it; `call` is None if it could not be read."""

    call: ToolCall | None
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A thought, its answer in full, and the replies to its calls."""

    said: str
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """All that was said, as a prompt shows it: what stand-ins for a language model read.

    `view` is the latest that was seen; its `elapsed` is that of the latest event.
    """

    view: TimedView
    rounds: tuple[Round, ...] = ()


@dataclass(slots=True)
class _Talk:
    """The conversation so far."""

    session: Session
    briefing: Briefing
    calls: Calls
    opening: TimedView
    rounds: list[Round] = field(default_factory=list)

    def prompt(self) -> Prompt:
        rounds = tuple(self.rounds)
        tools: tuple[ToolSpec, ...] = self.opening.tools if self.calls == "native" else ()
        return Prompt(
            purpose="work",
            render=lambda: self._messages(rounds),
            view=Transcript(view=seen(self.session), rounds=rounds),
            tools=tools,
        )

    def _messages(self, rounds: Sequence[Round]) -> list[Message]:
        messages = list(self.briefing(self.opening, self.calls))
        for one in rounds:
            messages += _native(one) if self.calls == "native" else _text(one)
        return messages


async def tool_user(
    session: Session,
    *,
    model: Model,
    briefing: Briefing,
    calls: Calls = "text",
    most_tokens: int | None = None,
    thought_limit: Duration | None = None,
    most_rounds: int = MOST_ROUNDS,
) -> None:
    """Work on a task until it is over.

    Args:
        session: The session, in a world of a task with tools.
        model: Who works.
        briefing: What it is told at the start.
        calls: How it is offered the tools, and shown its own calls.
        most_tokens: The most tokens of a thought.
        thought_limit: The longest span of a thought.
        most_rounds: How many thoughts with calls there may be; it gives up after them.
    """
    talk = _Talk(session, briefing, calls, seen(session))
    for _ in range(most_rounds):
        if session.over:
            return
        thought = session.think(model, talk.prompt(), limit=thought_limit, max_tokens=most_tokens)
        said = await thought
        if session.over:
            return
        wanted = find_calls(said)
        if not wanted:
            await _answer(session, thought)
            return
        replies = [await _call(session, text) for text in wanted]
        talk.rounds.append(Round(said=said, replies=tuple(replies)))
    session.note("tools", f"gave up after {most_rounds} rounds")
    await session.do(ToolCall(name=ANSWER, arguments={"text": ""}).text())


async def _answer(session: Session, thought: Thought) -> None:
    if not thought.complete:
        session.note("answer", "the thought was cut; its text is taken as the answer")
    await session.do(ToolCall(name=ANSWER, arguments={"text": thought.answer}).text())


async def _call(session: Session, text: str) -> Reply:
    """Make one call and wait for its reply, or for the end of the task."""
    try:
        call = read_call(text)
    except BadCallError as error:
        session.note("call", str(error))
        return Reply(call=None, text=f"Error: {error}", id=_id(text))
    if call.name == ANSWER:  # the way to end a task is to say so
        return Reply(call=call, text=f"Error: there is no tool {ANSWER!r}", id=call.id)
    if not await session.do(call.text()):
        return Reply(call=call, text=f"Error: {session.refusal}", id=call.id)
    said = [one.data["text"] for one in session.observe() if one.event == "reply"]
    return Reply(call=call, text="\n".join(said), id=call.id)


def seen(session: Session) -> TimedView:
    """What can be seen, in this world's terms."""
    view = session.view
    assert isinstance(view, TimedView), "the tool user works on a task with tools"
    return view


# --- calls as text -------------------------------------------------------------------------------

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_ID = re.compile(r'"id"\s*:\s*"([^"]*)"')


def find_calls(said: str) -> list[str]:
    """The text of each call in an answer, in order; the last one may lack its closing tag.

    What stands before a `</think>` was only thought, not said.
    """
    spoken = said.rpartition("</think>")[2]
    return [match.group(1).strip() for match in _CALL.finditer(spoken)]


def _id(text: str) -> str:
    found = _ID.search(text)
    return found.group(1) if found else ""


def _text(one: Round) -> list[Message]:
    replies = "\n".join(f"<tool_response>\n{r.text}\n</tool_response>" for r in one.replies)
    return [Message("assistant", one.said), Message("user", replies)]


def _native(one: Round) -> list[Message]:
    """As the API has it; a call that it did not number, or that cannot be read, stays text."""
    numbered = [r for r in one.replies if r.call is not None and r.call.id]
    others = [r for r in one.replies if r not in numbered]
    content = _CALL.sub("", one.said).strip() if not others else one.said
    messages = [Message("assistant", content, tuple(r.call for r in numbered if r.call))]
    messages += [Message("tool", r.text, call_id=r.id) for r in numbered]
    if others:
        replies = "\n".join(f"<tool_response>\n{r.text}\n</tool_response>" for r in others)
        messages.append(Message("user", replies))
    return messages
