"""The tool user: it thinks, calls tools, reads what they say, and ends with an answer.

One thought a round; its calls are made one after the other. A thought without a call is the last
one: its text is the answer. At the deadline the task is over, in the middle of a thought or of a
tool, and of several calls in one message those that are left are not made. What goes wrong is
told to the model, which can do better in the next round, and noted for whoever counts:

* `malformed-call`: a call without a name, or no JSON. It is replied to with what is wrong.
* `refused-call`: there is no such tool, or its arguments are others. It is replied to likewise.
* `cut-thought`: a thought met its limit of tokens or of time. Its calls are made; without any, its
  text is the answer.
* `silence`: a message without a call says nothing, as a thought does that was cut before its
  answer. The model is asked again, but the third time in a row ends the task.
* `gave-up`: it was silent too often, or out of rounds. The answer is empty.

(Timely Machine, appendix A.)
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from timeful.agents.prompts.timely import Briefing, Calls, general
from timeful.agents.session import Session
from timeful.core.units import Duration
from timeful.environments.timed.view import TimedView
from timeful.environments.timed.world import ANSWER
from timeful.models.model import Message, Model, Prompt
from timeful.tools import BadCallError, ToolCall, read_call

MOST_ROUNDS = 2000
MOST_SILENCE = 3

_NOTHING_SAID = "You said nothing. Call a tool, or give your final answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A call, and what came of it; `call` is None if it could not be read.

    `id` is the one by which the call and its reply are matched; in the text form often empty.
    """

    call: ToolCall | None
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A thought, its answer in full, and the replies to its calls; none after a silence."""

    message: str
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
    """The conversation so far, as a stand-in reads it and as messages, made once each."""

    session: Session
    calls: Calls
    opening: Sequence[Message]
    rounds: list[Round] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def prompt(self) -> Prompt:
        view, so_far = task_view(self.session), len(self.messages)
        return Prompt(
            label="work",
            render=lambda: (*self.opening, *self.messages[:so_far]),
            view=Transcript(view=view, rounds=tuple(self.rounds)),
            tools=view.tools if self.calls == "native" else (),
        )

    async def make(self, answer: str, call_texts: Sequence[str], *, is_cut: bool) -> None:
        """Make the calls of a message, as long as the task goes on."""
        exchanges: list[tuple[ToolCall, Reply]] = []
        for text in call_texts:
            if self.session.over:
                return
            exchanges.append(await self._make(text, is_cut=is_cut and text is call_texts[-1]))
        self.rounds.append(Round(message=answer, replies=tuple(reply for _, reply in exchanges)))
        self.messages += (
            _native(answer, exchanges) if self.calls == "native" else _text(answer, exchanges)
        )

    def silence(self, answer: str) -> None:
        self.rounds.append(Round(message=answer, replies=()))
        self.messages += [Message("assistant", "..."), Message("user", _NOTHING_SAID)]

    async def _make(self, text: str, *, is_cut: bool) -> tuple[ToolCall, Reply]:
        """Make one call, and wait for its reply or for the end of the task.

        Returns:
            The call as it is shown to the model from now on, and its reply.
        """
        session = self.session
        try:
            call, topic = self._numbered(read_call(text)), "refused-call"
            action: ToolCall | str = call
        except BadCallError:
            # Asked for all the same: the world says what is wrong, and the time.
            call, topic = self._numbered(_outline(text)), "malformed-call"
            action = _plain(text)
        # A task ends with a message without a call: that there is a word for it is no tool.
        refusal = f"there is no tool {ANSWER!r}" if call.name == ANSWER else ""
        if not refusal:
            refusal = (await session.act(action)).refusal or ""
        if refusal:
            session.note(topic, refusal.partition("\n")[0])
            notice = "Your message was cut off at its limit.\n" if is_cut else ""
            return call, Reply(
                call=None if topic == "malformed-call" else call,
                text=f"{notice}Error: {refusal}",
                id=call.id,
            )
        texts = [
            observation.data["text"]
            for observation in session.observe()
            if observation.event == "reply"
        ]
        return call, Reply(call=call, text="\n".join(texts), id=call.id)

    def _numbered(self, call: ToolCall) -> ToolCall:
        """A call with an id of its own where the API matches by it, whatever the server sent."""
        if self.calls == "text":
            return call
        identity = call.id
        if not identity or identity in self.ids:
            # Nine letters and digits, since some take nothing else.
            fresh = (f"call{number:05d}" for number in count(len(self.ids)))
            identity = next(name for name in fresh if name not in self.ids)
        self.ids.add(identity)
        return replace(call, id=identity)


async def tool_user(
    session: Session,
    *,
    model: Model,
    briefing: Briefing = general,
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
        calls: How it is offered the tools, and shown its own calls. Calls in either form are
            understood, whichever was asked for.
        most_tokens: The most tokens of a thought.
        thought_limit: The longest span of a thought.
        most_rounds: The most thoughts that are no answer; it gives up after them.
    """
    talk = _Talk(session, calls, tuple(briefing(task_view(session), calls)))
    silent = 0
    for _ in range(most_rounds):
        if session.over:
            return
        thought = session.think(model, talk.prompt(), limit=thought_limit, max_tokens=most_tokens)
        answer = await thought
        if session.over:
            return
        if not thought.complete:
            session.note("cut-thought", f"after {thought.tokens} tokens")
        if call_texts := find_calls(answer):
            await talk.make(answer, call_texts, is_cut=not thought.complete)
            silent = 0
        elif strip_calls(answer):
            await _answer(session, answer)
            return
        elif silent + 1 == MOST_SILENCE:
            break
        else:
            silent += 1
            session.note("silence", f"after {thought.tokens} tokens")
            talk.silence(answer)
    session.note("gave-up", f"after {len(talk.rounds)} rounds, {silent} of them silent")
    await _answer(session, "")


async def _answer(session: Session, text: str) -> None:
    await session.act(ToolCall(name=ANSWER, arguments={"text": text}))


def task_view(session: Session) -> TimedView:
    """What can be seen, in this world's terms."""
    view = session.view
    assert isinstance(view, TimedView), "the tool user works on a task with tools"
    return view


# --- calls as text -------------------------------------------------------------------------------

_SPOKEN = re.compile(
    r"<think>.*?(?:</think>|\Z)|</think>"
    r"|<tool_call>(?P<call>.*?)(?:</tool_call>|(?=<tool_call>)|\Z)",
    re.DOTALL,
)
"""Thoughts and calls, whichever begins first: neither holds the other."""


def find_calls(answer: str) -> list[str]:
    """The text of each call in an answer, in order; the last one may lack its closing tag.

    What stands in `<think>` tags was only thought, not said; also what stands before a closing
    tag whose opening one was part of the prompt.
    """
    texts: list[str] = []
    for match in _SPOKEN.finditer(answer):
        if match["call"] is not None:
            texts.append(match["call"].strip())
        elif match[0] == "</think>":
            texts.clear()
    return texts


def strip_calls(answer: str) -> str:
    """An answer without its calls and thoughts."""
    return _SPOKEN.sub("", answer).strip()


def _outline(text: str) -> ToolCall:
    """What can be told of a call that cannot be read, with its text as its only argument."""
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        call = None
    fields = call if isinstance(call, dict) else {}
    name, identity = (_plain(str(fields.get(key) or "")) for key in ("name", "id"))
    arguments = fields.get("arguments")
    argument = _plain(arguments) if isinstance(arguments, str) else text
    return ToolCall(name=name or "unreadable", arguments={"unreadable": argument}, id=identity)


def _plain(text: str) -> str:
    """A text that UTF-8 can say: JSON may hold half of a character."""
    return text.encode(errors="replace").decode()


def _text(answer: str, exchanges: Sequence[tuple[ToolCall, Reply]]) -> list[Message]:
    replies = "\n".join(
        f"<tool_response>\n{reply.text}\n</tool_response>" for _, reply in exchanges
    )
    return [Message("assistant", answer), Message("user", replies)]


def _native(answer: str, exchanges: Sequence[tuple[ToolCall, Reply]]) -> list[Message]:
    """As the API has it, also what was called in words."""
    text = strip_calls(answer)
    calls = tuple(call for call, _ in exchanges)
    replies = [Message("tool", reply.text, call_id=reply.id) for _, reply in exchanges]
    return [Message("assistant", text, calls), *replies]
